"""Integers as inputs and outputs of models that are quantized already, and what floats there cost."""

from __future__ import annotations

import shlex
from pathlib import Path

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.quantize.integers.integer_io import KINDS, bring_integers_out

_MIN_SHARE = 0.25  # of the RAM, from which on it is worth a note


def with_integer_ports(graph: Graph, io: str) -> Graph:
    """The graph, whose inputs and outputs are integers of a kind where these only become floats and back."""
    made = bring_integers_out(graph, next(kind for kind in KINDS if kind == io))
    if made is graph:
        raise EdgeKitError(
            "E0103",
            f"no input or output of {graph.name} is converted from or to integers",
            hint="quantize takes float models and has the same option: edgekit quantize --io int8",
        )
    return made


def float_ports_note(graph: Graph, ram_bytes: int, model: str) -> str:
    """What inputs and outputs take as floats and as int8, where that is much of the RAM; else empty."""
    before, after = (_port_bytes(one) for one in (graph, bring_integers_out(graph, "int8")))
    if before - after < _MIN_SHARE * ram_bytes:
        return ""
    output = f"{Path(model).stem}_io.ek"
    command = f"edgekit convert {shlex.quote(model)} --io int8 -o {shlex.quote(output)}"
    return f"inputs and outputs take {before:,} B of RAM, and as int8 {after:,} B: {command}"


def _port_bytes(graph: Graph) -> int:
    return sum(graph.type(name).bytes for name in (*graph.inputs, *graph.outputs))
