"""Graph -> plan: which kernels run on which memory, in order; all that the hosts of a plan need to know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.elements import is_half
from edgekit.codegen.gpu.memory import (
    ALIGN,
    ELEMENT,
    OperandMemory,
    Region,
    Span,
    Weights,
    places_of_states,
    room_of_state,
)
from edgekit.codegen.gpu.segments import CPU, FOR_PROCESSORS, Placement, costly, place, with_segments
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, UnsupportedError, integer, use_of
from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.codegen.lowering.fuse import fuse_sums
from edgekit.codegen.lowering.lower import drop_dead, in_best_order, layer_of
from edgekit.codegen.lowering.rotary_and_swiglu import fuse_idioms
from edgekit.codegen.memory.arena import ArenaPlan as Arena
from edgekit.codegen.memory.lifetimes import Scheduled
from edgekit.codegen.memory.planner import MemoryPlan, assign
from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call, Join, Step, View
from edgekit.core.ops._copy import copy
from edgekit.core.types import DType

_MAX_NAMES = 3  # of layers in a comment
_WINOGRAD_GROWTH = 16 / 9  # 16 points for 9 weights


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

    @property
    def moved(self) -> int:
        """Bytes, each once."""
        return sum(span.size for span in self.spans)


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
    weights: bytes  # of all dispatches, and of other entries; spans of it start at multiples of ALIGN
    segments: tuple[CpuSegment, ...] = ()  # in the order of execution
    states: Mapping[str, int] = field(default_factory=dict)  # where those on the device start

    @cached_property
    def kernels(self) -> tuple[GpuKernel, ...]:
        """Each kernel once."""
        return tuple({d.kernel.name: d.kernel for d in self.dispatches}.values())

    @cached_property
    def _used(self) -> frozenset[tuple[Region, int]]:
        return frozenset((span.where, span.number) for d in self.dispatches for span in d.spans)

    def uses(self, span: Span) -> bool:
        """Do kernels use the memory that this is a part of? Else an input or output is on the CPU only."""
        return span.where in ("arena", "states") or (span.where, span.number) in self._used

    @property
    def arena_bytes(self) -> int:
        return self.arena.size + -self.arena.size % ALIGN

    @property
    def state_bytes(self) -> int:
        """Of the states of a stream that are on the device."""
        return sum(room_of_state(s.initial.type) for s in self.graph.states if s.input in self.states)

    @property
    def macs(self) -> int:
        return sum(d.macs for d in self.dispatches)


def plans(graphs: Sequence[Graph], *, keeps_states: bool = True, growth: float = 0.0) -> tuple[GpuPlan, ...]:
    """Those of the entries of a library, of which the first one has all states. They share weights and
    states. Operators without a kernel are in segments for the CPU, if they pay; else EdgeKitError E0203 names
    all of them. States that segments alone have stay on the CPU if it `keeps_states`. Weights may
    take `growth` times their memory for speed; 0: as much as that takes."""
    placed = [_placed(graph, 0 < growth < _WINOGRAD_GROWTH) for graph in graphs]
    kept = placed[0].kept.intersection(*(each.kept for each in placed if each.graph.states))
    kept = kept if keeps_states else frozenset()
    weights, places = Weights(), places_of_states(graphs[0], kept)
    found = [_plan(each, kept, weights, places) for each in placed]
    return tuple(replace(each, weights=bytes(weights.data)) for each in found)


def plan(graph: Graph) -> GpuPlan:
    """That of a graph alone."""
    return plans([graph])[0]


@dataclass(frozen=True)
class _Placed:
    """The layers of a graph, and where they run if not all of them have a kernel."""

    graph: Graph
    layers: tuple[LoweredLayer, ...]
    uses: _Uses
    placement: Placement | None

    @property
    def kept(self) -> frozenset[str]:
        """States that may stay on the CPU."""
        return self.placement.kept if self.placement else frozenset()


def _placed(graph: Graph, is_compact: bool) -> _Placed:
    narrow = [name for name in (*graph.inputs, *graph.outputs) if is_half(graph.type(name).dtype)]
    if narrow:
        message = f"inputs and outputs ({', '.join(narrow)}) are not of 16 bits there"
        raise EdgeKitError("E0203", message, hint=f"float32 there, or {FOR_PROCESSORS}")
    uses = _Uses(is_compact)
    layers = _lowered(graph, uses)
    refused = _lacking(layers, uses)
    placement = place(graph, layers, refused) if refused else None
    if placement and not placement.pays:
        raise_all([*refused.values(), costly(placement)])
    return _Placed(graph, layers, uses, placement)


def _plan(placed: _Placed, kept: Collection[str], pool: Weights, states: Mapping[str, int]) -> GpuPlan:
    """The plan of a graph, of whose states some are `kept` on the CPU."""
    graph, layers, uses = placed.graph, placed.layers, placed.uses
    parts: list[Graph] = []
    if placed.placement:
        layers, parts = with_segments(graph, layers, placed.placement, kept)
    layers = tuple(_with_updates(layer, uses) for layer in layers)
    wholes = _wholes(layers)
    layers = tuple(_without_twins(layer, wholes) for layer in layers)
    there = replace(graph, states=tuple(s for s in graph.states if s.input not in kept))
    layers = in_best_order(there, layers, "caller").layers
    memory = OperandMemory(graph, assign(there, layers, ALIGN), states, pool)
    dispatches: list[Dispatch] = []
    found: list[CpuSegment] = []
    for scheduled in memory.plan.calls:
        call = scheduled.call
        if call.kernel == CPU:
            spans = tuple(memory.operand(arg, ()) for arg in call.args)
            found.append(CpuSegment(parts[integer(call, "segment")], len(dispatches), spans))
            continue
        use = uses.of(call)
        for each in (*_copies_of_updated(call, use, memory.plan), call):
            dispatches += [_dispatch(memory, replace(scheduled, call=each), uses.of(each))]
    return GpuPlan(graph, tuple(dispatches), memory.plan.arena, b"", tuple(found), states)


class _Uses:
    """The kernel of each call, found once; what sums may be fused into."""

    def __init__(self, is_compact: bool) -> None:
        self._facts = {WEIGHT_LIMIT: 0} if is_compact else {}
        self._found: dict[int, tuple[Call, GpuCall]] = {}  # by identity: the call is kept, so that it lasts

    def of(self, call: Call) -> GpuCall:
        if id(call) not in self._found:
            self._found[id(call)] = call, use_of(replace(call, facts={**call.facts, **self._facts}))
        return self._found[id(call)][1]

    def are_as_good(self, both: Call, alone: Call) -> bool:
        """Not if the sum reads what the convolution reads: devices bind memory once, and that is copied."""
        try:
            self.of(both)
        except UnsupportedError:
            return False
        return both.args[0].name != both.args[-2].name

    def want_products(self, alone: Call) -> bool:
        return True


def _lowered(graph: Graph, uses: _Uses) -> tuple[LoweredLayer, ...]:
    """The layers, with idioms of several operators, or convolutions and sums, as one call. Not where the CPU
    computes some: what they read and write is found among the operators of the graph."""
    plain = [layer_of(graph, node) for node in graph.nodes]
    together = fuse_sums(graph, fuse_idioms(graph, plain), uses)
    fused = drop_dead(graph, [_plain(layer) for layer in together])
    return drop_dead(graph, [_plain(layer) for layer in plain]) if _lacking(fused, uses) else fused


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
        case View(result, arg, offset) if offset % ELEMENT:
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


def _with_updates(layer: LoweredLayer, uses: _Uses) -> LoweredLayer:
    """Results that a kernel writes only parts of may take over the memory of the operand that they update."""
    steps: list[Step] = []
    for step in layer.steps:
        if isinstance(step, Call) and step.kernel != CPU and (updated := uses.of(step).updates) is not None:
            step = replace(step, inplace=(updated,))
        steps.append(step)
    return LoweredLayer(layer.node, tuple(steps))


def _copies_of_updated(call: Call, use: GpuCall, memory: MemoryPlan) -> Sequence[Call]:
    """Brings the operand that is updated to the memory of the result, if it is elsewhere."""
    if use.updates is None:
        return []
    x, y = call.args[use.updates], call.args[-1]
    return [] if memory.places[x.name] == memory.places[y.name] else copy(x, y, (x.type.size,), (1,), (1,))


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
                others = {other.name for k, other in enumerate(args) if k not in step.inplace}
                if (
                    i not in step.inplace
                    and arg.value.data is None
                    and others & wholes.get(arg.name, {arg.name})
                ):
                    twin = Arg(f"{arg.name}#twin{i}", arg.value)
                    steps += copy(arg, twin, (arg.type.size,), (1,), (1,))
                    arg = twin
                args.append(arg)
            if any(arg is not old for arg, old in zip(args, step.args, strict=False)):
                step = replace(step, args=(*args, *step.args[-step.results :]))
        steps.append(step)
    return LoweredLayer(layer.node, tuple(steps))


def _dispatch(memory: OperandMemory, scheduled: Scheduled, use: GpuCall) -> Dispatch:
    spans: list[Span] = []
    for i in use.operands:
        if i == CONSTANTS:
            spans.append(memory.weights.place(use.data, spans))
        else:
            spans.append(memory.operand(scheduled.call.args[i], spans))
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
