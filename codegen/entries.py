"""Entries of a library: graphs beside the main one, over the same constants, states and arena.

A decoder that takes one token in a run may have an entry `prefill` that takes sixteen. Each entry has a run
function of its own, <model>_<entry>_run. Constants are shared where their bytes in flash are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from edgekit.codegen.lowering.row_inputs import refusal
from edgekit.codegen.program import Program
from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import c_identifier
from edgekit.core.ir import Graph
from edgekit.core.text.decoder import DecoderForm

# What other files and functions of a library are called behind its prefix.
TAKEN = {"classes", "gpu", "processor", "reset", "run", "sample", "sampler", "selftest", "state"}
TAKEN |= {"tokenizer", "weights"}
_OF_GPUS = re.compile(r"cpu\d+|gpu_.*|.*_gpu")  # CPU segments, weights and functions of the path for GPUs
_LONGEST = 32


def with_entries(program: Program, entries: Mapping[str, Graph]) -> Program:
    """The program as the main entry of a library that has these, too."""
    if not entries:
        return program
    if program.row_port:
        raise refusal(program.graph, "its library has several entries")
    for name, graph in entries.items():
        check_name(name)
        if program.target.gpu and _OF_GPUS.fullmatch(name):
            raise _taken(name)
        _check_states(program.graph, name, graph)
    named = (replace(g, name=f"{program.name}_{n}", tokenizer=None) for n, g in entries.items())
    return replace(program, entry_graphs=tuple(named))


def check_name(name: str) -> None:
    """Refuse what cannot be the name of an entry."""
    if not name or c_identifier(name) != name or name[0].isdigit() or len(name) > _LONGEST:
        hint = (
            f"lower-case letters, digits and _, no digit first, {_LONGEST} at most: --entry prefill:tokens=16"
        )
        raise EdgeKitError(
            "E0103", f"{name!r:.80} is no name for an entry: it is part of names in C", hint=hint
        )
    if name.lower() in TAKEN:
        raise _taken(name)


def _taken(name: str) -> EdgeKitError:
    message = f"an entry cannot be called {name}: libraries have that name already"
    return EdgeKitError("E0103", message, hint=f"choose another one, such as {name}_entry")


def _check_states(main: Graph, name: str, graph: Graph) -> None:
    """An entry has the states of the main one, or none."""
    if not graph.states:
        return
    own, other = ({s.input: s for s in g.states} for g in (main, graph))
    for state in [*own, *(s for s in other if s not in own)]:
        kinds = [f"{s.initial.type}" if s else "missing" for s in (own.get(state), other.get(state))]
        if kinds[0] != kinds[1]:
            what = f"state {state} is {kinds[0]} in {main.name} and {kinds[1]} in entry {name}"
            raise EdgeKitError("E0103", f"entries share states, and {what}", hint=_hint(main, graph, kinds))
        if own[state].start.tobytes() != other[state].start.tobytes():
            message = f"entries share states, and state {state} starts from other numbers in entry {name}"
            raise EdgeKitError("E0103", message, hint="make all entries of one model")


def _hint(main: Graph, entry: Graph, kinds: Iterable[str]) -> str:
    if not main.states:
        return "build the model with the states, and name the other one as its entry"
    if "missing" in kinds:
        return "make all entries of one model; an entry may also have no states at all"
    forms = [form for graph in (main, entry) if (form := DecoderForm.of(graph))]
    example = ""
    if len(forms) == 2 and forms[0].positions != forms[1].positions:
        example = f", such as --dim positions={forms[0].positions}"
    elif forms:
        example = f", such as --dim chunk={max(form.chunk for form in forms)}"
    return f"bind the same dimensions for both{example}"
