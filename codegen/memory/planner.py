"""Where each tensor lives: views and joins share memory, results take over what dies, the rest is planned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import pairwise

from edgekit.codegen.memory.arena import ArenaBuffer, ArenaPlan, crowded, plan
from edgekit.codegen.memory.copies import with_moves
from edgekit.codegen.memory.lifetimes import Scheduled, buffers_of, lifetimes, shifts_of, touched
from edgekit.codegen.memory.sharing import Kind, LoweredLayer, Ports, Sharing, operands
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call, Join
from edgekit.core.ops._copy import copy
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Value

# In the arena: how many rows of the input are there, where they arrive one by one.
ROWS_SO_FAR = "#rows"


@dataclass(frozen=True)
class Place:
    """An address: so many bytes behind the start of an input, output, state, constant or the arena."""

    kind: Kind
    name: str  # of the input, output, state or constant; of the buffer in the arena
    offset: int


def scratch_of(result: str) -> str:
    """The name of the working memory of the call that makes this."""
    return f"{result}#scratch"


@dataclass(frozen=True)
class Peak:
    """What fills the arena: the layer at which most of it is in use, and the tensors that are there."""

    layer: str
    tensors: tuple[tuple[str, int], ...]  # with their bytes, the largest first; some may overlap


@dataclass(frozen=True)
class MemoryPlan:
    """The calls in order, where joins that cost anything are copies by now, and where operands are."""

    calls: tuple[Scheduled, ...]
    places: Mapping[str, Place]
    arena: ArenaPlan
    inputs: Mapping[str, int]  # where they start in the arena, if that is where they are
    outputs: Mapping[str, int]
    peak: Peak | None  # None: nothing is in the arena
    live: Mapping[str, tuple[int, int]]  # the first and last call that needs each tensor; -1: from the start


def assign(graph: Graph, layers: Sequence[LoweredLayer], align: int, ports: Ports = "caller") -> MemoryPlan:
    """Decide the memory of every tensor."""
    calls, sharing = _shared(graph, layers, ports)
    return _place(graph, calls, sharing, align)


def bytes_at_least(graph: Graph, layers: Sequence[LoweredLayer], align: int, ports: Ports = "caller") -> int:
    """Bytes that no such arena can do without, by what is in use at once. A move changes that only before a
    layer that reads a part of what is in use; where there is one, nothing is known."""
    calls, sharing = _shared(graph, layers, ports)
    buffers = {buffer.name: buffer for buffer in buffers_of(calls, sharing, align)}
    for step, scheduled in enumerate(calls, 1):
        if scheduled.call.overlap is not None:
            x = scheduled.call.args[0]
            root, offset = sharing.root(x.name)
            if root in buffers and (offset or buffers[root].used(step, step) != x.type.bytes):
                return 0
    return crowded([*buffers.values()], shifts_of(calls, sharing))


def _shared(graph: Graph, layers: Sequence[LoweredLayer], ports: Ports) -> tuple[list[Scheduled], Sharing]:
    """The calls, and which tensors lie in the same memory."""
    sharing = Sharing(graph, layers, ports)
    copies = _copy_outputs(graph, sharing)
    calls: list[Scheduled] = []
    for layer in layers:
        for step in layer.steps:
            if isinstance(step, Call):
                scratch = scratch_of(step.args[-1].name) if step.scratch else ""
                calls.append(Scheduled(step, layer.node, scratch, layer.guards, layer.rows))
            elif isinstance(step, Join):
                calls += [Scheduled(call, layer.node, "", layer.guards) for call in _join(step, sharing)]
    calls += copies
    _update_states(graph, calls, sharing)
    _take_over(calls, sharing)
    for s in calls:
        if s.scratch:
            sharing.size[s.scratch] = s.call.scratch
    return calls, sharing


def _copy_outputs(graph: Graph, sharing: Sharing) -> list[Scheduled]:
    """At the end, copy those graph outputs to the caller that are part of something else, and those to the
    arena that are not there."""
    copies: list[Scheduled] = []
    for name in graph.outputs:
        in_arena = sharing.ports != "caller" and sharing.is_free(sharing.root(name)[0])
        if in_arena or sharing.is_output(name):
            continue
        type = graph.type(name)
        target = Arg(f"{name}#out", Value(type))
        if sharing.ports != "caller":
            sharing.copy_of[name] = target.name
        else:
            sharing.output_of[target.name] = name
        copies += _copied(graph, Arg(name, graph.values[name]), target, sharing)
    return copies


def _copied(graph: Graph, source: Arg, target: Arg, sharing: Sharing) -> list[Scheduled]:
    """Copy a whole tensor."""
    name, type = source.name, source.type
    sharing.size[target.name] = type.bytes
    node = graph.producer(name) or Node(Reshape(type.shape), (name,), (name,), name)
    return [Scheduled(call, node) for call in copy(source, target, (type.size,), (1,), (1,))]


def _update_states(graph: Graph, calls: list[Scheduled], sharing: Sharing) -> None:
    """Bring the next content of each state into its memory: it is computed there if the old content is
    not read any more by then, and copied there at the end otherwise."""
    following = {state.input: Arg(state.output, graph.values[state.output]) for state in graph.states}
    for state, source in following.items():
        root, offset = sharing.root(source.name)
        if sharing.kind.get(root) == "state" and (root, offset) != (state, 0):
            # What other states hold may be overwritten before it is copied from there.
            following[state] = Arg(f"{state}#aside", Value(source.type))
            calls += _copied(graph, source, following[state], sharing)
    first, last = lifetimes(calls, sharing)
    lasting = sharing.lasting()
    writes = Counter(sharing.root(r.name)[0] for s in calls for r in operands(s.call)[1])
    for state, source in following.items():
        root, offset = sharing.root(source.name)
        whole = offset == 0 and sharing.size.get(root) == source.type.bytes and root not in lasting
        once = writes[root] == 1
        if whole and sharing.is_free(root) and _dies(state, root, first, last, calls, sharing, once):
            sharing.parent[root] = (state, 0)
    for state, source in following.items():
        if sharing.root(source.name) != (state, 0):
            target = Arg(f"{state}#next", Value(source.type))
            sharing.parent[target.name] = (state, 0)
            calls += _copied(graph, source, target, sharing)


def _dies(
    state: str,
    successor: str,
    first: Mapping[str, int],
    last: Mapping[str, int],
    calls: Sequence[Scheduled],
    sharing: Sharing,
    once: bool,
) -> bool:
    """Has everybody read a state when its successor is first written, which is done `once`?"""
    end, start = last.get(state, -1), first.get(successor, len(calls))
    if end != start:
        return end < start
    call = calls[start].call
    taken = sharing.could_take_over(call, state) if call.args[-call.results].name == successor else ()
    return once and any(sharing.root(call.args[i].name) == (state, 0) for i in taken)


def _join(join: Join, sharing: Sharing) -> list[Call]:
    """Copy the parts that are not computed where the whole is."""
    copies: list[Call] = []
    whole, base = sharing.root(join.result.name)
    offset = 0
    for part in join.args:
        if sharing.root(part.name) != (whole, base + offset):
            start = offset // part.type.dtype.bytes
            copies += copy(part, join.result, (part.type.size,), (1,), (1,), y_start=start)
        offset += part.type.bytes
    return copies


def _take_over(calls: Sequence[Scheduled], sharing: Sharing) -> None:
    """Let results take over the memory of operands that die in the same call."""
    _, last = lifetimes(calls, sharing)
    writes = Counter(name for s in calls for name in {sharing.root(r.name)[0] for r in operands(s.call)[1]})
    for step, scheduled in enumerate(calls):
        call = scheduled.call
        own = call.args[-call.results].name
        # What several calls write must not destroy what they still read.
        for i in sharing.could_take_over(call) if writes[own] == 1 else ():
            root, offset = sharing.root(call.args[i].name)
            if last[root] == step:
                sharing.parent[own] = (root, offset)
                last[root] = max(last[root], last[own])
                break


def _place(graph: Graph, calls: Sequence[Scheduled], sharing: Sharing, align: int) -> MemoryPlan:
    calls, planned = with_moves(calls, sharing, align)
    buffers = buffers_of(calls, sharing, align)
    arena = planned or plan(buffers, shifts=shifts_of(calls, sharing))
    places: dict[str, Place] = {}
    live = touched(calls, sharing)
    if sharing.ports == "rows":
        arena = _with_counter(arena)
        places[ROWS_SO_FAR] = Place("arena", ROWS_SO_FAR, arena.offsets[ROWS_SO_FAR])
        live[ROWS_SO_FAR] = -1, len(calls)
    names = {arg.name for s in calls for arg in s.call.args} | {s.scratch for s in calls if s.scratch}
    names |= {guard.condition for s in calls for guard in s.guards}
    for name in sorted(names.union(*sharing.held)):
        root, offset = sharing.root(name)
        if root in sharing.output_of:
            places[name] = Place("output", sharing.output_of[root], offset)
        elif root in sharing.kind:
            places[name] = Place(sharing.kind[root], root, offset)
        else:
            places[name] = Place("arena", root, arena.offsets[root] + offset)
    inputs = {name: places[name].offset for name in graph.inputs if sharing.ports == "arena"}
    holders = {name: sharing.holder(name) for name in graph.outputs if sharing.ports != "caller"}
    outputs = {name: places[holder].offset for name, holder in holders.items()}
    return MemoryPlan(tuple(calls), places, arena, inputs, outputs, _peak(calls, buffers, arena), live)


def _with_counter(arena: ArenaPlan) -> ArenaPlan:
    """The arena, and behind it how many rows of the input there are."""
    at, bytes = arena.size + -arena.size % DType.S32.bytes, DType.S32.bytes
    offsets = {**arena.offsets, ROWS_SO_FAR: at}
    return replace(arena, offsets=offsets, size=at + bytes, lower_bound=arena.lower_bound + bytes)


def _peak(calls: Sequence[Scheduled], buffers: Sequence[ArenaBuffer], arena: ArenaPlan) -> Peak | None:
    """The first call with the widest range of the arena in use; of several that with most in it."""
    # Each of the sizes that a buffer has, and the steps from which to which.
    spans: list[tuple[int, int, int, int]] = []
    for b in buffers:
        starts = [(b.first, b.size), *b.uses, (b.last + 1, 0)]
        spans += [
            (start, end - 1, arena.offsets[b.name], used)
            for (start, used), (end, _) in pairwise(starts)
            if start < end
        ]
    spans.sort()
    lows: list[tuple[int, int]] = []  # with the steps until which they count
    highs: list[tuple[int, int]] = []
    ending: list[tuple[int, int]] = []
    widest, at, total = (0, 0), 0, 0
    for k, (step, last, offset, used) in enumerate(spans):
        heappush(lows, (offset, last))
        heappush(highs, (-offset - used, last))
        heappush(ending, (last, used))
        total += used
        if k + 1 < len(spans) and spans[k + 1][0] == step:
            continue
        while ending[0][0] < step:
            total -= heappop(ending)[1]
        for heap in (lows, highs):
            while heap[0][1] < step:
                heappop(heap)
        extent = -highs[0][0] - lows[0][0]
        if (extent, total) > widest:
            widest, at = (extent, total), step
    if not spans:
        return None
    filling = {b.name: b.used(at, at) for b in buffers if b.first <= at <= b.last}
    layer = calls[at - 1].node.origin if 0 < at <= len(calls) else "before the first layer"
    return Peak(layer, tuple(sorted(filling.items(), key=lambda each: -each[1])))
