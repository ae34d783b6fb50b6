"""The loop that a chain of layers makes, and its memory, by what it depends on of each of its layers.

Positions are counted from the layer. So a model that is planned again, with a change to one layer, has most
loops as before: they are remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from edgekit.codegen.lowering.row_calls import (
    BlockCalls,
    RowAxis,
    block_calls,
    loop_overhead,
    move_instructions,
)
from edgekit.codegen.lowering.row_inputs import RowInput
from edgekit.codegen.lowering.row_loops import RingMove, RowLoop, RowSource
from edgekit.codegen.lowering.row_memory import NewestRows, PassingBytes, passing_bytes
from edgekit.codegen.lowering.row_schedule import RowRead, RowSchedule, overlap_distance, schedule


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

    def seen_from(self, i: int) -> Lifetime:
        """Counted from a layer."""
        return replace(self, first=self.first - i, last=self.last - i)


@dataclass(frozen=True, eq=False)
class ChainLayer:
    """A layer, and what a loop depends on of the layers around it; the same object for the same of all."""

    axis: RowAxis
    needed: float  # the last layer for which all of the result must be there
    end: int | None  # bytes of the result, where nothing but these last ones is read
    lifetimes: Mapping[str, Lifetime]  # of operands that lie in the arena, by name
    whole: frozenset[str]  # in whose memory operands lie that must be there before the loop

    @cached_property
    def result(self) -> str:
        return self.axis.layer.result

    @cached_property
    def is_by_rows(self) -> bool:
        """Does it read all of its operands row by row, and have one result?"""
        return not self.axis.whole_tensors and self.axis.whole.results == 1

    @cached_property
    def own(self) -> Lifetime | None:
        """Of the result."""
        return self.lifetimes.get(self.result)

    @cached_property
    def row(self) -> int:
        """Bytes of a row of the result."""
        return self.axis.row_bytes(self.axis.own)

    @cached_property
    def inputs(self) -> Sequence[tuple[str, Lifetime, RowRead, int]]:
        """What lies in the arena and is read row by row, with the bytes of a row."""
        operands = ((i, self.axis.whole.args[i].name) for i in self.axis.dims if i != self.axis.own)
        return [
            (name, self.lifetimes[name], self.axis.read(i), self.axis.row_bytes(i))
            for i, name in operands
            if name in self.lifetimes and name not in self.axis.whole_tensors
        ]


@lru_cache(maxsize=1024)
def chain_layer(
    axis: RowAxis,
    needed: float,
    end: int | None,
    lifetimes: tuple[tuple[str, Lifetime], ...],
    whole: frozenset[str],
) -> ChainLayer:
    return ChainLayer(axis, needed, end, dict(lifetimes), whole)


@dataclass(frozen=True)
class ChainLoop:
    """Some layers as a loop over rows, wherever in a model they are."""

    layers: tuple[ChainLayer, ...]
    calls: tuple[BlockCalls, ...]
    plan: RowSchedule
    loop: RowLoop
    more_bytes: int  # at its peak, beside all that lives before it or comes to be in it
    extra: float  # instructions beside those of the same layers one after the other


@lru_cache(maxsize=1 << 14)
def chain_loop(
    layers: tuple[ChainLayer, ...], period: int, arrives: RowInput | None = None
) -> ChainLoop | None:
    """The layers as a loop, by blocks of so many rows of the tallest result, or of an input that arrives."""
    if not _advance_together(layers):
        return None
    exits = frozenset(layer.result for layer, left in _with_left(layers) if layer.needed >= left)
    if not (plan := _schedule(layers, exits, period, arrives)):
        return None
    if early := {layer.result for layer in layers if layer.end is not None and not _has_its_end(layer, plan)}:
        exits |= early
        plan = _schedule(layers, exits, period, arrives)
        assert plan  # for exits decide over rings alone
    calls, extra, source = [], loop_overhead(plan.iterations) * len(layers), None
    if arrives:
        if (source := arrives.source(plan)) is None:
            return None
        extra += move_instructions(source.kept) * source.blocks.count
    for layer, blocks in zip(layers, plan.blocks[-len(layers) :], strict=True):
        if (found := block_calls(layer.axis, blocks.rows, blocks.start)) is None:
            return None
        calls.append(found)
        extra += found.instructions - layer.axis.instructions
        if ring := plan.rings.get(layer.result):
            extra += move_instructions((ring.rows - blocks.rows) * layer.row) * ring.blocks
    overlaps = tuple(_overlaps(layers, plan, exits))
    transient = plan.transient.difference(layer.result for layer in layers if layer.end is not None)
    moves = tuple(_moves(layers, plan, source))
    loop = RowLoop(
        tuple(layer.result for layer in layers), plan.iterations, transient, overlaps, source, moves
    )
    return ChainLoop(layers, tuple(calls), plan, loop, _more_bytes(layers, calls, plan, loop), extra)


def _moves(layers: Sequence[ChainLayer], plan: RowSchedule, source: RowSource | None) -> Iterator[RingMove]:
    """Of rings whose rows move as soon as all have read them, and which nothing reads after the loop."""
    rows = {layer.result: layer.row for layer in layers if layer.end is None}
    if source:
        rows[source.name] = source.row
    for name, row in rows.items():
        own, ring = plan[name], plan.rings.get(name)
        if ring and ring.reader and ring.rows > own.rows:
            yield RingMove(
                ring=name,
                reader=ring.reader,
                kept=(ring.rows - own.rows) * row,
                dropped=own.rows * row,
                blocks=own,
                count=ring.blocks - 1,
            )


def _with_left(layers: Sequence[ChainLayer]) -> Iterator[tuple[ChainLayer, int]]:
    """Each layer, with how many there are from it on."""
    return ((layer, len(layers) - k) for k, layer in enumerate(layers))


def _schedule(
    layers: Sequence[ChainLayer], exits: frozenset[str], period: int, arrives: RowInput | None
) -> RowSchedule | None:
    first = [arrives.layer] if arrives else []
    return schedule([*first, *(layer.axis.layer for layer in layers)], exits, period)


def _advance_together(layers: Sequence[ChainLayer]) -> bool:
    """Do layers read nothing of what the loop makes but rows that are there by then? Results beside the
    first one, such as the state behind the last step, are there when the loop has run."""
    if all(layer.is_by_rows for layer in layers):
        return True
    axes = [layer.axis for layer in layers]
    beside = {arg.name for axis in axes for arg in axis.whole.args[axis.own + 1 :]}
    made = beside.union(axis.layer.result for axis in axes)
    by_rows = {read.tensor for axis in axes for read in axis.layer.reads}
    return by_rows.isdisjoint(beside) and all(layer.whole.isdisjoint(made) for layer in layers)


def _has_its_end(layer: ChainLayer, plan: RowSchedule) -> bool:
    """Are the rows that are read behind the loop those of the last block?"""
    assert layer.end is not None
    blocks = plan[layer.result]
    return layer.end <= (blocks.layer.height - blocks.start - (blocks.count - 1) * blocks.rows) * layer.row


def _overlaps(
    layers: Sequence[ChainLayer], plan: RowSchedule, exits: frozenset[str]
) -> Iterator[tuple[str, str, int]]:
    """Which results may lie over which inputs that nothing reads afterwards, and how far."""
    results = [
        (k, layer)
        for k, layer in enumerate(layers)
        if layer.own and layer.result in exits and not layer.axis.is_sum
    ]
    if not results:
        return
    blocks = plan.blocks[-len(layers) :]
    inputs: dict[str, list[tuple[int, RowRead, int]]] = {}
    whole = frozenset[str]().union(*(layer.axis.whole_tensors for layer in layers))
    for k, (layer, left) in enumerate(_with_left(layers)):
        for name, life, read, row in layer.inputs:
            if life.first < -k and life.last < left and name not in whole:
                inputs.setdefault(name, []).append((k, read, row))
    for k, layer in results:
        for name, found in inputs.items():
            readers = [(blocks[reader], read, reader < k) for reader, read, _ in found]
            distance = overlap_distance(blocks[k], readers, layer.row, found[0][2])
            yield layer.result, name, distance


def _more_bytes(
    layers: Sequence[ChainLayer], calls: Sequence[BlockCalls], plan: RowSchedule, loop: RowLoop
) -> int:
    always, align = 0, layers[0].axis.target.align
    if source := loop.source:
        always += _aligned(source.ring, align) - source.blocks.layer.height * source.row
    last = len(layers) - 1
    newest = {rows.ring: rows for rows in _newest_rows(layers, loop)}
    passing: dict[str, PassingBytes] = {}
    for k, layer in enumerate(layers):
        life, call = layer.own, calls[k].call
        if not life or (k + life.last > last and layer.end is None):
            continue
        always -= life.at(max(life.first, -k))
        ring = plan.rings.get(layer.result)
        bytes = _aligned(layer.row * (ring.rows if ring else layer.axis.height), align)
        x = call.args[0].name
        if x in passing and layer.result in newest and call.overlap is not None and passing[x].last == k:
            passing[x] = replace(passing[x], ring=layer.result, distance=call.overlap)
        if layer.result not in loop.transient:
            always += bytes
            continue
        own = PassingBytes(bytes, k, min(k + life.last, last))
        inputs = (call.args[i].name for i in call.inplace)
        dying = next((name for name in inputs if name in passing and passing[name].last == k), None)
        if dying:  # both are in the same place
            before = passing.pop(dying)
            own = replace(own, bytes=max(bytes, before.bytes), first=before.first)
        passing[layer.result] = own
    scratch = [PassingBytes(calls[k].call.scratch, k, k) for k in range(len(layers)) if calls[k].call.scratch]
    items = [*passing.values(), *scratch]
    return always + passing_bytes(items, [*newest.values()], len(layers)) - _saved(layers, loop.overlaps)


def _newest_rows(layers: Sequence[ChainLayer], loop: RowLoop) -> Iterator[NewestRows]:
    at = {layer.result: k for k, layer in enumerate(layers)}
    for move in loop.moves:
        yield NewestRows(move.ring, move.dropped, at.get(move.ring, 0), at[move.reader])


def _saved(layers: Sequence[ChainLayer], overlaps: Sequence[tuple[str, str, int]]) -> int:
    """The most bytes that a result shares with an input."""
    if not overlaps:
        return 0
    lives = {name: life.bytes for layer in layers for name, life in layer.lifetimes.items()}
    pairs = ((lives[result], lives[name], distance) for result, name, distance in overlaps)
    return max(0, *(own + other - max(own, other + distance) for own, other, distance in pairs))


def _aligned(bytes: int, align: int) -> int:
    return bytes + -bytes % align
