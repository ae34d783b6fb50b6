"""Graph -> plan: which kernels run on which memory, in order; all that the hosts of a plan need to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.elements import is_half
from edgekit.codegen.gpu.segments import CPU, FOR_PROCESSORS, costly, place, with_segments
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, UnsupportedError, integer, use_of
from edgekit.codegen.lowering.lower import drop_dead, in_best_order, layer_of
from edgekit.codegen.memory.arena import ArenaPlan as Arena
from edgekit.codegen.memory.lifetimes import Scheduled
from edgekit.codegen.memory.planner import MemoryPlan, Place, assign
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.codegen.printing.literal import stored
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call, Join, Step, View
from edgekit.core.ops._copy import copy
from edgekit.core.types import Array, DType

ALIGN = 256  # bytes: what every device can bind a part of a buffer at
_ELEMENT = 16  # the widest that kernels load
_MAX_NAMES = 3  # of layers in a comment
Region = Literal["input", "output", "arena", "weights"]


@dataclass(frozen=True)
class Span:
    """The memory of a kernel's buffer: an input or output of the model by its number, or so many bytes of the
    arena or of the weights. Tensors that are written start at multiples of ALIGN, those that are read at
    multiples of 16."""

    where: Region
    number: int
    offset: int
    size: int  # bytes, of whole words


@dataclass(frozen=True)
class Dispatch:
    """One kernel in the order of execution. The next one starts when it is done."""

    kernel: GpuKernel
    values: Mapping[str, float]  # of the kernel's constants
    spans: tuple[Span, ...]  # of the kernel's buffers
    groups: int
    origin: str  # the layer of the source model
    operator: str
    macs: int


@dataclass(frozen=True)
class CpuSegment:
    """Layers that the CPU computes between two dispatches."""

    graph: Graph  # these layers; its inputs and outputs are what crosses
    before: int  # the dispatch that comes next
    spans: tuple[Span, ...]  # of its inputs, then of its outputs

    @property
    def in_words(self) -> str:
        """The first layers, with their operators."""
        first, more = self.graph.nodes[:_MAX_NAMES], len(self.graph.nodes) - _MAX_NAMES
        named = [f"{node.origin or node.outputs[0]} ({type(node.op).__name__})" for node in first]
        return ", ".join(named) + f" and {more} more" * (more > 0)


@dataclass(frozen=True)
class GpuPlan:
    """A model on a GPU."""

    graph: Graph
    dispatches: tuple[Dispatch, ...]
    arena: Arena
    weights: bytes  # of all dispatches; spans of it start at multiples of ALIGN
    segments: tuple[CpuSegment, ...] = ()  # in the order of execution

    @cached_property
    def kernels(self) -> tuple[GpuKernel, ...]:
        """Each kernel once."""
        return tuple({d.kernel.name: d.kernel for d in self.dispatches}.values())

    @cached_property
    def _used(self) -> frozenset[tuple[Region, int]]:
        return frozenset((span.where, span.number) for d in self.dispatches for span in d.spans)

    def uses(self, span: Span) -> bool:
        """Do kernels use the memory that this is a part of? Else an input or output is on the CPU only."""
        return span.where == "arena" or (span.where, span.number) in self._used

    @property
    def arena_bytes(self) -> int:
        return self.arena.size + -self.arena.size % ALIGN

    @property
    def macs(self) -> int:
        return sum(d.macs for d in self.dispatches)


def plan(graph: Graph) -> GpuPlan:
    """The plan of a graph. Operators without a kernel are in segments for the CPU, if they pay; else
    EdgeKitError E0203 names all of them."""
    if graph.states:
        names = ", ".join(state.input for state in graph.states)
        hint = f"inputs and outputs of the model may hold them instead; or {FOR_PROCESSORS}"
        raise EdgeKitError("E0203", f"states ({names}) do not run on GPUs yet", hint=hint)
    narrow = [name for name in (*graph.inputs, *graph.outputs) if is_half(graph.type(name).dtype)]
    if narrow:
        message = f"inputs and outputs ({', '.join(narrow)}) are not of 16 bits there"
        raise EdgeKitError("E0203", message, hint=f"float32 there, or {FOR_PROCESSORS}")
    layers = drop_dead(graph, [_plain(layer_of(graph, node)) for node in graph.nodes])
    uses = _Uses()
    refused = _lacking(layers, uses)
    parts: list[Graph] = []
    if refused:
        placement = place(graph, layers, refused)
        if not placement.pays:
            raise_all([*refused.values(), costly(placement)])
        layers, parts = with_segments(graph, layers, placement)
    wholes = _wholes(layers)
    layers = tuple(_without_twins(layer, wholes) for layer in layers)
    layers = in_best_order(graph, layers, "caller").layers
    memory = assign(graph, layers, ALIGN)
    pool = _Weights()
    dispatches: list[Dispatch] = []
    found: list[CpuSegment] = []
    for scheduled in memory.calls:
        call = scheduled.call
        if call.kernel == CPU:
            spans = tuple(_operand(graph, memory, arg, pool, ()) for arg in call.args)
            found.append(CpuSegment(parts[integer(call, "segment")], len(dispatches), spans))
        else:
            dispatches.append(_dispatch(graph, memory, scheduled, uses.of(call), pool))
    return GpuPlan(graph, tuple(dispatches), memory.arena, bytes(pool.data), tuple(found))


class _Uses:
    """The kernel of each call, found once."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Call, GpuCall]] = {}  # by identity: the call is kept, so that it lasts

    def of(self, call: Call) -> GpuCall:
        if id(call) not in self._found:
            self._found[id(call)] = call, use_of(call)
        return self._found[id(call)][1]


def _lacking(layers: Sequence[LoweredLayer], uses: _Uses) -> dict[int, EdgeKitError]:
    """Why layers have no kernel, by their index."""
    found: dict[int, EdgeKitError] = {}
    for i, layer in enumerate(layers):
        for call in layer.steps:
            if isinstance(call, Call):
                try:
                    uses.of(call)
                except UnsupportedError as lacking:
                    found[i] = _refused(layer.node, call, lacking)
    return found


def _refused(node: Node, call: Call, lacking: UnsupportedError) -> EdgeKitError:
    has_16_bits = any(arg.type.dtype is DType.S16 for arg in call.args)
    return EdgeKitError(
        "E0203",
        f"{type(node.op).__name__} does not run on GPUs: {lacking}",
        node.origin or node.outputs[0],
        "edgekit quantize --strict-int8 gives no layer int16" if has_16_bits else "",
    )


def _plain(layer: LoweredLayer) -> LoweredLayer:
    """The layer with every result in memory of its own, but for what can be bound as it is."""
    return LoweredLayer(layer.node, tuple(step for old in layer.steps for step in _steps(old)))


def _steps(step: Step) -> Iterator[Step]:
    match step:
        case View(result, arg, offset) if offset % _ELEMENT:
            first = offset // arg.type.dtype.bytes
            yield from copy(arg, result, (result.type.size,), (1,), (1,), x_start=first)
        case Join(result, args) if any(arg.type.bytes % ALIGN for arg in args[:-1]):
            first = 0
            for arg in args:
                yield from copy(arg, result, (arg.type.size,), (1,), (1,), y_start=first)
                first += arg.type.size
        case Call():
            yield replace(step, inplace=(), overlap=None)
        case _:
            yield step


def _wholes(layers: Sequence[LoweredLayer]) -> Mapping[str, frozenset[str]]:
    """Of tensors that may lie in one another: with which ones each of them does."""
    found: dict[str, frozenset[str]] = {}
    for step in (step for layer in layers for step in layer.steps):
        if isinstance(step, View | Join):
            args = step.args if isinstance(step, Join) else (step.arg,)
            names = (step.result.name, *(arg.name for arg in args))
            group = frozenset(names).union(*(found.get(name, ()) for name in names))
            found |= dict.fromkeys(group, group)
    return found


def _without_twins(layer: LoweredLayer, wholes: Mapping[str, frozenset[str]]) -> LoweredLayer:
    """Memory that a call reads twice is read from a copy, too: no device binds memory twice."""
    steps: list[Step] = []
    for step in layer.steps:
        if isinstance(step, Call) and step.kernel != CPU:
            args: list[Arg] = []
            for i, arg in enumerate(step.args[: -step.results]):
                others = {other.name for other in args}
                if arg.value.data is None and others & wholes.get(arg.name, {arg.name}):
                    twin = Arg(f"{arg.name}#twin{i}", arg.value)
                    steps += copy(arg, twin, (arg.type.size,), (1,), (1,))
                    arg = twin
                args.append(arg)
            if any(arg is not old for arg, old in zip(args, step.args, strict=False)):
                step = replace(step, args=(*args, *step.args[-step.results :]))
        steps.append(step)
    return LoweredLayer(layer.node, tuple(steps))


class _Weights:
    """Constants behind one another; equal ones are there once, or as often as one call reads them."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._places: dict[tuple[bytes, int], int] = {}

    def place(self, raw: bytes, before: Sequence[Span]) -> Span:
        """Where constants are, for a call with these spans before."""
        raw += b"\0" * (-len(raw) % _ELEMENT)
        held = (self.data[s.offset : s.offset + s.size] for s in before if s.where == "weights")
        key = raw, sum(data == raw for data in held)
        if key not in self._places:
            self.data += b"\0" * (-len(self.data) % ALIGN)
            self._places[key] = len(self.data)
            self.data += raw
        return Span("weights", 0, self._places[key], len(raw))


def _dispatch(
    graph: Graph, memory: MemoryPlan, scheduled: Scheduled, use: GpuCall, pool: _Weights
) -> Dispatch:
    spans: list[Span] = []
    for i in use.operands:
        if i == CONSTANTS:
            spans.append(pool.place(use.data, spans))
        else:
            spans.append(_operand(graph, memory, scheduled.call.args[i], pool, spans))
    node = scheduled.node
    return Dispatch(
        use.kernel,
        use.values,
        tuple(spans),
        use.groups,
        node.origin or node.outputs[0],
        type(node.op).__name__,
        scheduled.call.macs,
    )


def _operand(graph: Graph, memory: MemoryPlan, arg: Arg, pool: _Weights, before: Sequence[Span]) -> Span:
    place = memory.places[arg.name]
    if place.kind == "constant":
        return pool.place(_constant(graph, arg, place), before)
    return _span(graph, arg, place)


def _span(graph: Graph, arg: Arg, place: Place) -> Span:
    size = arg.type.bytes + -arg.type.bytes % 4
    match place.kind:
        case "input":
            return Span("input", graph.inputs.index(place.name), place.offset, size)
        case "output":
            return Span("output", graph.outputs.index(place.name), place.offset, size)
    assert place.kind == "arena", "states are refused"
    return Span("arena", 0, place.offset, size)


def _constant(graph: Graph, arg: Arg, place: Place) -> bytes:
    """The bytes of a constant operand, which may be a part of another constant."""
    whole = graph.values[place.name].data if place.name in graph.values else arg.value.data
    data: Array | None = arg.value.data if arg.value.data is not None else whole
    assert data is not None, f"{arg.name} is constant"
    raw = np.ascontiguousarray(stored(data)).tobytes()
    start = place.offset if arg.value.data is None else 0
    return raw[start : start + arg.type.bytes]
