"""Bytes of code where no compiler is at hand: estimated from libraries that were compiled elsewhere.

The tables in targets/costs (benchmarks/code_sizes.py) say what each function of a kernel took, where it is
specialised for one layer, and where it is not. The functions of a library are found in its text, from its run
function on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgekit.codegen.cost.cost_files import OFTEN, ONCE, content
from edgekit.codegen.kernels import contracts
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.printing.kernel_forms import specialised
from edgekit.codegen.program import Program
from edgekit.core.target import Optimize

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FUNCTION = re.compile(
    r"^(?![#/*}]|typedef|extern)[A-Za-z_][^\n;{}=]*?\b(\w+)\([^;{}]*?\)\s*\{\n(.*?)^\}", re.M | re.S
)
_MACRO = re.compile(r"^#define (\w+)((?:.*\\\n)*.*)$", re.MULTILINE)
_EXPANDED = re.compile(r"^EK_\w+\(.*\)$", re.MULTILINE)  # a macro that defines functions
_WORD = re.compile(r"\w+")
_VERSION = re.compile(r"_[0-9a-f]{8}$")


@dataclass(frozen=True)
class CodeSize:
    """What the code of a library takes, and the parameters of its layers."""

    code: int
    parameters: int
    error: float  # of both together, as a share: nine of ten networks held out were within it
    unknown: tuple[str, ...]  # kernels of which nothing is known: they are not in it

    @property
    def bytes(self) -> int:
        return self.code + self.parameters


@dataclass(frozen=True)
class Uses:
    """What a library is made of: its layers' kernels, and the functions that those call."""

    layers: tuple[str, ...]  # the kernel's function, of each layer
    often: tuple[str, ...]  # those of several layers, for whose shapes compilers do not specialise all of it
    shared: Mapping[str, str]  # by the name of a function: who calls it, as keys of tables have it
    parts: Mapping[str, str]  # by the name of a function: the kernel whose size includes it

    def kind(self, kernel: str) -> str:
        return OFTEN if kernel in self.often else ONCE


def estimated(program: Program, texts: Mapping[str, bytes], optimize: Optimize) -> CodeSize | None:
    """From the files of a library; None for a processor without a table, and for kernels that it lacks."""
    known = table(program.target.name, program.target.core, optimize)
    found = sum_of(uses(program, texts, optimize), known) if known else None
    return found if found and not found.unknown else None


def sum_of(found: Uses, known: Mapping[str, Any]) -> CodeSize:
    """What a table says of the parts of a library."""
    code = float(known["run"][0] + known["run"][1] * len(found.layers))
    parameters = 0.0
    unknown = []
    for kernel in found.layers:
        if kernel in known["layers"]:
            own, constants = _of(known["layers"][kernel], found.kind(kernel))
            code, parameters = code + own, parameters + constants
        else:
            unknown.append(kernel)
    for name, kind in found.shared.items():
        if name in known["functions"]:
            own, constants = _of(known["functions"][name], kind)
            code, parameters = code + own, parameters + constants
    return CodeSize(round(code), round(parameters), known.get("error", 0.0), tuple(dict.fromkeys(unknown)))


def _of(sizes: Mapping[str, list[float]], kind: str) -> list[float]:
    """Those of this kind; where it was not seen, those of the same kernel, of several kernels, or of any."""
    kernel, _, count = kind.rpartition(" ")
    other = OFTEN if count == ONCE else ONCE
    near = (kind, f"{kernel} {other}".lstrip(), OFTEN)
    return next((sizes[key] for key in near if key in sizes), next(iter(sizes.values())))


def table(name: str, core: str, optimize: Optimize) -> Mapping[str, Any]:
    """Of a target or of its processor, or of the one whose code is like its own; empty without one."""
    found: dict[str, Any] = (content(name) or content(core)).get("code", {}).get(optimize, {})
    return found


def uses(program: Program, texts: Mapping[str, bytes], optimize: Optimize) -> Uses:
    """What is in the files of a library. Equal layers, which share code, count once. In code for speed the
    layers of a kernel share some of its helpers; in code for size all of it, or nothing."""
    calls = _calls(text.decode() for name, text in texts.items() if name.endswith((".c", ".h")))
    functions = layer_functions(program)
    lines = [line for line in program.lines if functions[line.c].c == line.c]
    layers = tuple(line.kernel.function for line in lines)
    if optimize == "speed":
        several = {kernel for kernel in layers if layers.count(kernel) > 1}
    else:
        own = specialised(program, optimize)
        several = {line.kernel.function for line in lines if line.kernel.name not in own}
    often = tuple(sorted(several))
    users: dict[str, list[str]] = {}
    for line in lines:
        for name in _reached(calls, f"{program.name}_{line.c}", line.kernel.symbol):
            users.setdefault(name, []).append(line.kernel.function)
    parts = {
        name: kernels[0] for name, kernels in users.items() if optimize == "size" and _is_part(name, kernels)
    }
    shared = {name: _kind(kernels, often) for name, kernels in users.items() if name not in parts}
    return Uses(layers, often, shared, parts)


def _is_part(name: str, kernels: list[str]) -> bool:
    """Is a function named as the only kernel that calls it, and something more?"""
    own, _, isa = kernels[0].rpartition("__")
    return len(set(kernels)) == 1 and name.startswith(f"{own}_") and not name.endswith(f"__{isa}")


def _kind(kernels: list[str], often: Sequence[str]) -> str:
    """Who calls a function: `KERNEL once`, `KERNEL often`, or `often` where layers of several kernels do."""
    if len(set(kernels)) > 1:
        return OFTEN
    return f"{kernels[0]} {OFTEN if kernels[0] in often else ONCE}"


def _calls(texts: Iterable[str]) -> Mapping[str, set[str]]:
    """By the name of a function or of a macro: the words in it."""
    found: dict[str, set[str]] = {}
    for text in texts:
        plain = _COMMENT.sub(" ", text)
        for name, body in _MACRO.findall(plain):
            found.setdefault(name, set()).update(_WORD.findall(body))
        for part in (_EXPANDED.sub("", plain), contracts.made(plain)):
            for name, body in _FUNCTION.findall(part):
                found.setdefault(name, set()).update(_WORD.findall(body))
    return found


def _reached(calls: Mapping[str, set[str]], *starts: str) -> set[str]:
    """The functions of kernels that these call, through others."""
    seen: set[str] = set()
    left = [start for start in starts if start]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += calls.get(name, calls.get(plain(name), set()))  # for size, a macro gives the version
    return {plain(name) for name in seen if name.startswith("ek_")}


def plain(name: str) -> str:
    """Without what tells versions of a function apart."""
    return _VERSION.sub("", name)
