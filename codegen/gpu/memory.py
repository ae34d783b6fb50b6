"""Where operands of kernels are on the device: spans of inputs, outputs, arena, weights and states."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from edgekit.codegen.memory.planner import MemoryPlan, Place
from edgekit.codegen.printing.literal import stored
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg
from edgekit.core.types import Array, Type

ALIGN = 256  # bytes: what every device can bind a part of a buffer at
ELEMENT = 16  # the widest that kernels load
Region = Literal["input", "output", "arena", "weights", "states"]


@dataclass(frozen=True)
class Span:
    """The memory of a kernel's buffer: an input or output of the model by its number, or so many bytes of the
    arena, of the weights, or of the states of a stream. Tensors that are written start at multiples of ALIGN,
    those that are read at multiples of 16."""

    where: Region
    number: int
    offset: int
    size: int  # bytes, of whole words


class Weights:
    """Constants behind one another; equal ones are there once, or as often as one call reads them."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._places: dict[tuple[bytes, int], int] = {}

    def place(self, raw: bytes, before: Sequence[Span]) -> Span:
        """Where constants are, for a call with these spans before."""
        raw += b"\0" * (-len(raw) % ELEMENT)
        held = (self.data[s.offset : s.offset + s.size] for s in before if s.where == "weights")
        key = raw, sum(data == raw for data in held)
        if key not in self._places:
            self.data += b"\0" * (-len(self.data) % ALIGN)
            self._places[key] = len(self.data)
            self.data += raw
        return Span("weights", 0, self._places[key], len(raw))


@dataclass(frozen=True)
class OperandMemory:
    """Where operands are."""

    graph: Graph
    plan: MemoryPlan
    states: Mapping[str, int]
    weights: Weights

    def operand(self, arg: Arg, before: Sequence[Span]) -> Span:
        """That of a call with these spans before."""
        place = self.plan.places[arg.name]
        if place.kind == "constant":
            return self.weights.place(_constant(self.graph, arg, place), before)
        size = arg.type.bytes + -arg.type.bytes % 4
        match place.kind:
            case "input":
                return Span("input", self.graph.inputs.index(place.name), place.offset, size)
            case "output":
                return Span("output", self.graph.outputs.index(place.name), place.offset, size)
            case "state":
                return Span("states", 0, self.states[place.name] + place.offset, size)
        return Span("arena", 0, place.offset, size)


def _constant(graph: Graph, arg: Arg, place: Place) -> bytes:
    """The bytes of a constant operand, which may be a part of another constant."""
    whole = graph.values[place.name].data if place.name in graph.values else arg.value.data
    data: Array | None = arg.value.data if arg.value.data is not None else whole
    assert data is not None, f"{arg.name} is constant"
    raw = np.ascontiguousarray(stored(data)).tobytes()
    start = place.offset if arg.value.data is None else 0
    return raw[start : start + arg.type.bytes]


def places_of_states(graph: Graph, kept: Collection[str] = ()) -> dict[str, int]:
    """Where each state starts, one behind the other, but those that are kept on the CPU."""
    found, end = {}, 0
    for state in graph.states:
        if state.input not in kept:
            found[state.input] = end
            end += room_of_state(state.initial.type)
    return found


def room_of_state(type: Type) -> int:
    """The bytes that a state takes there."""
    return -(-max(type.bytes, 1) // ALIGN) * ALIGN
