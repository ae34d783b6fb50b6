"""Chains: consecutive layers that run in one loop over rows, and what they take of memory and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from math import inf

from edgekit.codegen.lowering.regions import reads
from edgekit.codegen.lowering.row_calls import (
    BlockCalls,
    RowAxis,
    block_calls,
    loop_overhead,
    move_instructions,
    row_axis,
)
from edgekit.codegen.lowering.row_loops import LoopedLayer, RowLoop, RowOperand, RowWindow
from edgekit.codegen.lowering.row_schedule import (
    RowRead,
    RowSchedule,
    overlap_distance,
    rows_before_end,
    schedule,
)
from edgekit.codegen.lowering.row_views import last_rows
from edgekit.codegen.memory.sharing import LoweredLayer, Ports, Sharing, operands
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call
from edgekit.core.target import Target

# A tensor that lives before the first layer, or after the last one.
_BEFORE, _AFTER = -1, 1 << 30


@dataclass(frozen=True)
class Lifetime:
    """Of all that shares the memory of one tensor: the first and last layer that touches it."""

    bytes: int
    first: int
    last: int
    left: int  # bytes that are still read behind the first layer

    def at(self, i: int) -> int:
        """Bytes that a layer needs of it."""
        return (self.bytes if i == self.first else self.left) if self.first <= i <= self.last else 0


@dataclass(frozen=True)
class Chain:
    """Some layers as a loop over rows."""

    start: int  # the first of its layers
    axes: tuple[RowAxis, ...]
    calls: tuple[BlockCalls, ...]
    plan: RowSchedule
    loop: RowLoop
    bytes: int  # at its peak, with all that lives meanwhile
    extra: float  # instructions beside those of the same layers one after the other


@dataclass
class ChainFinder:
    """Makes chains of the layers of a graph, in their order."""

    graph: Graph
    layers: Sequence[LoweredLayer]
    target: Target
    ports: Ports
    axes: list[RowAxis | None] = field(init=False)
    lifetimes: dict[str, Lifetime] = field(init=False)  # by root, of what lies in the arena
    ends: Mapping[str, int] = field(init=False)  # results of which only so many last bytes are read
    _sharing: Sharing = field(init=False)
    _readers: dict[str, list[int]] = field(init=False)  # by tensor
    _needed: list[float] = field(init=False)  # the last layer that reads the whole result of each one
    _begun: list[int] = field(init=False)  # bytes of what comes to be before each layer
    _left: list[int] = field(init=False)  # bytes that layers find there

    def __post_init__(self) -> None:
        self._sharing = Sharing(self.graph, self.layers, self.ports)
        self._readers = {}
        for i, layer in enumerate(self.layers):
            for name in reads(layer):
                self._readers.setdefault(name, []).append(i)
        self.ends = last_rows(self.graph, self.layers)
        self.lifetimes = self._lifetimes()
        self.axes = [row_axis(layer, self.target) for layer in self.layers]
        self._needed = [self._last_reader(i) for i in range(len(self.layers))]
        numbers, lives = range(len(self.layers)), self.lifetimes.values()
        begun = (sum(life.bytes for life in lives if life.first == i) for i in numbers)
        self._begun = [*accumulate(begun, initial=0)]
        self._left = [sum(life.at(i) for life in lives if life.first < i) for i in numbers]

    def _lifetimes(self) -> dict[str, Lifetime]:
        touched: dict[str, list[int]] = {}
        for i, layer in enumerate(self.layers):
            for step in layer.steps:
                for arg in (*operands(step)[0], *operands(step)[1]):
                    touched.setdefault(self._sharing.root(arg.name)[0], []).append(i)
        if self.ports == "arena":
            for name in self.graph.inputs:
                touched.setdefault(self._sharing.root(name)[0], []).append(_BEFORE)
        for name in self.graph.exits:
            if not self._sharing.is_output(name):
                touched.setdefault(self._sharing.root(name)[0], []).append(_AFTER)
        return {
            root: Lifetime(size := self._sharing.size[root], min(at), max(at), self.ends.get(root, size))
            for root, at in touched.items()
            if self._sharing.is_free(root)
        }

    def apart(self, i: int) -> int:
        """Bytes that are live while one layer runs on whole tensors."""
        live = sum(each.at(i) for each in self.lifetimes.values())
        saved = scratch = 0
        for step in self.layers[i].steps:
            if not isinstance(step, Call):
                continue
            scratch = max(scratch, step.scratch)
            own = self.lifetimes.get(self._sharing.root(step.args[-1].name)[0])
            taken = [(0, step.overlap)] if step.overlap is not None else [(k, 0) for k in step.inplace]
            for k, distance in taken:
                other = self.lifetimes.get(self._sharing.root(step.args[k].name)[0])
                if own and other and own.first == i == other.last:
                    saved = max(saved, own.bytes + other.bytes - max(own.bytes, other.bytes + distance))
        return live - saved + scratch

    def chain(self, start: int, end: int, period: int) -> Chain | None:
        """The layers from start to end as a loop, by blocks of so many rows of the tallest result."""
        axes = tuple(axis for axis in self.axes[start:end] if axis)
        if len(axes) < end - start or len(axes) < 2:
            return None
        if not self._advance_together(axes):
            return None
        needed = zip(axes, self._needed[start:end], strict=True)
        exits = frozenset(axis.layer.result for axis, last in needed if last >= end)
        if (found := _in_blocks(axes, exits, period)) is None:
            return None
        if early := {axis.layer.result for axis in axes if not self._has_its_end(axis, found.plan)}:
            exits |= early
            found = _in_blocks(axes, exits, period)
            assert found  # for exits decide over rings alone
        plan, calls = found.plan, found.calls
        overlaps = tuple(self._overlaps(axes, plan, exits, start, end))
        transient = plan.transient.difference(self.ends)
        loop = RowLoop(tuple(axis.layer.result for axis in axes), plan.iterations, transient, overlaps)
        bytes = self._bytes(axes, calls, plan, loop, start, end)
        return Chain(start, axes, calls, plan, loop, bytes, found.extra)

    def lowered(self, chain: Chain) -> list[LoweredLayer]:
        """The layers of a chain."""
        found = []
        for i, (axis, calls) in enumerate(zip(chain.axes, chain.calls, strict=True), chain.start):
            rows = _looped(axis, chain.plan, chain.loop, calls.call)
            call = _planned(axis, calls.call, chain.plan, chain.loop.transient)
            found.append(replace(self.layers[i], steps=(call,), rows=rows))
        return found

    def _last_reader(self, i: int) -> float:
        """The last layer for which all of the result of a layer must be there: a loop that ends before cannot
        keep some rows alone, and none can where that is infinity."""
        name = self.layers[i].node.outputs[0]
        life, readers = self.lifetimes.get(name), self._readers.get(name, ())
        if name in self.ends and life and life.first == i:
            return -1
        if life is None or life.first < i or not all(self.axes[at] for at in readers):
            return inf
        return float(max([life.last, *readers]))

    def _advance_together(self, axes: Sequence[RowAxis]) -> bool:
        """Do layers read nothing of what the loop makes but rows that are there by then? Results beside the
        first one, such as the state behind the last step, are there when the loop has run."""
        if not any(axis.whole_tensors or axis.whole.results > 1 for axis in axes):
            return True
        beside = {arg.name for axis in axes for arg in axis.whole.args[axis.own + 1 :]}
        made = beside.union(axis.layer.result for axis in axes)
        by_rows = {read.tensor for axis in axes for read in axis.layer.reads}
        whole = {self._sharing.root(name)[0] for axis in axes for name in axis.whole_tensors}
        return by_rows.isdisjoint(beside) and whole.isdisjoint(made)

    def _has_its_end(self, axis: RowAxis, plan: RowSchedule) -> bool:
        """Are the rows that are read behind the loop those of the last block?"""
        if axis.layer.result not in self.ends:
            return True
        blocks = plan[axis.layer.result]
        count = blocks.layer.height - blocks.start - (blocks.count - 1) * blocks.rows
        return self.ends[axis.layer.result] <= count * axis.row_bytes(axis.own)

    def _overlaps(
        self, axes: Sequence[RowAxis], plan: RowSchedule, exits: frozenset[str], start: int, end: int
    ) -> Iterator[tuple[str, str, int]]:
        """Which results may lie over which inputs that nothing reads afterwards, and how far."""
        own = exits & self.lifetimes.keys()
        results = [(k, axis) for k, axis in enumerate(axes) if axis.layer.result in own]
        if not results:
            return
        inputs: dict[str, list[tuple[int, RowRead, int]]] = {}
        whole = {name for axis in axes for name in axis.whole_tensors}
        for k, axis in enumerate(axes):
            for i in axis.dims:
                name = axis.whole.args[i].name
                life = self.lifetimes.get(name)
                if name not in whole and life and life.first < start and life.last < end and i != axis.own:
                    inputs.setdefault(name, []).append((k, axis.read(i), axis.rows[i]))
        for k, axis in results:
            result, row = axis.layer.result, axis.row_bytes(axis.own)
            for name, found in inputs.items():
                readers = [(plan.blocks[reader], read, reader < k) for reader, read, _ in found]
                bytes = found[0][2] * self.graph.values[name].type.dtype.bytes
                yield result, name, overlap_distance(plan.blocks[k], readers, row, bytes)

    def _bytes(
        self,
        axes: Sequence[RowAxis],
        calls: Sequence[BlockCalls],
        plan: RowSchedule,
        loop: RowLoop,
        start: int,
        end: int,
    ) -> int:
        """At the peak of the loop."""
        always = self._begun[end] - self._begun[start] + self._left[start]
        passing = [block.call.scratch for block in calls]
        rings: dict[str, int] = {}  # of transient results
        for i, axis in enumerate(axes):
            name = axis.layer.result
            life = self.lifetimes.get(name)
            if not life or (life.last >= end and name not in self.ends):
                continue
            always -= life.at(max(life.first, start))
            ring = plan.rings.get(name)
            bytes = axis.row_bytes(axis.own) * (ring.rows if ring else axis.height)
            bytes += -bytes % self.target.align
            if name in loop.transient:
                for k in range(i, min(life.last - start + 1, len(passing))):
                    passing[k] += bytes
                inputs = (calls[i].call.args[k].name for k in calls[i].call.inplace)
                dying = (rings[at] for at in inputs if at in rings and self.lifetimes[at].last == start + i)
                passing[i] -= min(bytes, max(dying, default=0))
                rings[name] = bytes
            else:
                always += bytes
        saved = 0
        for result, name, distance in loop.overlaps:
            own, other = self.lifetimes[result].bytes, self.lifetimes[name].bytes
            saved = max(saved, own + other - max(own, other + distance))
        return always + max(passing) - saved


@dataclass(frozen=True)
class _InBlocks:
    """Layers as a loop over rows, wherever tensors are."""

    plan: RowSchedule
    calls: tuple[BlockCalls, ...]
    extra: float


# A model that is planned again, with a change to one layer, has most of its chains as before.
@lru_cache(maxsize=4096)
def _in_blocks(axes: tuple[RowAxis, ...], exits: frozenset[str], period: int) -> _InBlocks | None:
    if not (plan := schedule([axis.layer for axis in axes], exits, period)):
        return None
    found, extra = [], loop_overhead(plan.iterations) * len(axes)
    for axis, blocks in zip(axes, plan.blocks, strict=True):
        if (calls := block_calls(axis, blocks.rows, blocks.start)) is None:
            return None
        found.append(calls)
        extra += calls.instructions - axis.instructions
        if ring := plan.rings.get(axis.layer.result):
            extra += move_instructions((ring.rows - blocks.rows) * axis.row_bytes(axis.own)) * ring.blocks
    return _InBlocks(plan, tuple(found), extra)


def _looped(axis: RowAxis, plan: RowSchedule, loop: RowLoop, block: Call) -> LoopedLayer:
    own = plan[axis.layer.result]
    ring = plan.rings.get(axis.layer.result)
    row = axis.row_bytes(axis.own)
    kept = ring.rows - own.rows if ring else 0
    window = None
    if axis.window is not None:
        read = axis.read(axis.window)
        window = RowWindow(read.stride, read.rows, read.pad, axis.whole.args[axis.window].type.shape[1])
    return LoopedLayer(
        loop=loop,
        whole=axis.whole,
        block=block,
        blocks=own,
        moves=ring.blocks if ring and kept else own.count,
        kept=kept * row,
        dropped=own.rows * row if kept else 0,
        size=(axis.size, axis.at, axis.unit),
        operands=tuple(_operand(axis, plan, i) for i in range(len(axis.whole.args))),
        window=window,
        calls=tuple((axis.block(shape), n) for shape, n in axis.shapes(own.rows, own.start).items()),
        carried=tuple(axis.carried.items()),
    )


def _operand(axis: RowAxis, plan: RowSchedule, i: int) -> RowOperand | None:
    """Where the blocks of a layer are in one of its operands."""
    if i not in axis.rows:
        return None
    name, own = axis.whole.args[i].name, plan[axis.layer.result]
    ring, row = plan.rings.get(name), axis.rows[i]
    if ring is None:
        return RowOperand(row, None, i == axis.window)
    before = own.rows if name == axis.layer.result else rows_before_end(plan[name], own, axis.read(i))
    return RowOperand(row, (ring.rows - before) * row, i == axis.window)


def _planned(axis: RowAxis, block: Call, plan: RowSchedule, transient: frozenset[str]) -> Call:
    """The call of a block, with operands as they lie in memory: rings, or whole."""
    args: list[Arg] = []
    for i, arg in enumerate(block.args):
        if i not in axis.rows:
            args.append(arg)
            continue
        whole = axis.whole.args[i]
        ring = plan.rings.get(whole.name)
        args.append(axis.with_rows(whole, i, ring.rows) if ring else whole)
    passes = {i for i, arg in enumerate(args) if arg.name in transient}
    in_place = tuple(i for i in block.inplace if {i, axis.own} <= passes)
    overlap = block.overlap if {0, axis.own} <= passes else None
    return replace(block, args=tuple(args), inplace=in_place, overlap=overlap)
