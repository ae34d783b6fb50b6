"""When each layer of a chain computes its blocks of rows, and how many rows wait in each ring buffer.

Layers of a chain run interleaved: in each iteration of a loop, those whose iteration it is compute their next
block of rows, in the order of the layers. A layer computes block j, the rows from a + j b to a + (j + 1) b as
far as its result has them, in iteration o + j q. The period q is b times the pace of its rows: a row of a
layer with stride 2 takes as long as two rows of its input. So a block finds what it reads at the same place
in every iteration, and a ring buffer is a plain array that ends with the newest row: before new ones come,
those that are read again move to its start. See docs/adr/0186 and 0217.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd, prod


@dataclass(frozen=True)
class RowRead:
    """The rows of a tensor that a row of a result needs: from i * stride - pad on, so many."""

    tensor: str
    stride: int = 1
    rows: int = 1
    pad: int = 0


@dataclass(frozen=True)
class RowLayer:
    """A layer as far as its rows go."""

    result: str
    height: int
    reads: tuple[RowRead, ...]

    @cached_property
    def _hash(self) -> int:
        return hash((self.result, self.height, self.reads))

    def __hash__(self) -> int:
        return self._hash  # computed once: schedules of all ranges of layers are looked up


@dataclass(frozen=True)
class Blocks:
    """When a layer computes which rows: block j has `rows` from start + j * rows on, as far as the result has
    them, and is computed in iteration first + j * every."""

    layer: RowLayer
    rows: int
    start: int  # 0, or less: then the first block is shorter
    first: int
    every: int

    @property
    def count(self) -> int:
        """Blocks until the result has all of its rows."""
        return -(-(self.layer.height - self.start) // self.rows)

    @property
    def last(self) -> int:
        """The iteration of the last block."""
        return self.first + (self.count - 1) * self.every

    def start_of(self, read: RowRead, block: int = 0) -> int:
        """The first row that a block reads; less than 0 in the border."""
        return (self.start + block * self.rows) * read.stride - read.pad

    def end_of(self, read: RowRead, block: int = 0) -> int:
        """The row behind the last one that a block reads."""
        return self.start_of(read, block) + (self.rows - 1) * read.stride + read.rows

    def is_due(self, iteration: int) -> bool:
        """Is a block computed in this iteration?"""
        block, after = divmod(iteration - self.first, self.every)
        return after == 0 and 0 <= block < self.count

    def done(self, iteration: int) -> int:
        """Blocks at the end of an iteration, those behind the last row of the result included."""
        return (iteration - self.first) // self.every + 1


@dataclass(frozen=True)
class Ring:
    """The rows of a result that are kept, and for how many blocks they move on."""

    rows: int
    blocks: int
    is_transient: bool  # all is read in the iteration in which it is computed
    # The last layer that reads it, if all do so in iterations of its blocks: what is read again can move to
    # the start as soon as this layer has run. None: it moves before the next block.
    reader: str | None = None


@dataclass(frozen=True)
class RowSchedule:
    """A chain: its layers in their order, and the ring of each result that only the chain reads. A result
    without one exists whole."""

    blocks: tuple[Blocks, ...]
    rings: Mapping[str, Ring]

    @cached_property
    def iterations(self) -> int:
        return max(each.last for each in self.blocks) + 1

    @cached_property
    def transient(self) -> frozenset[str]:
        """The results of which all is read in the iteration in which it is computed."""
        return frozenset(name for name, ring in self.rings.items() if ring.is_transient)

    def __getitem__(self, result: str) -> Blocks:
        return next(each for each in self.blocks if each.layer.result == result)


def schedule(layers: Sequence[RowLayer], exits: frozenset[str], period: int) -> RowSchedule | None:
    """The schedule in which a block takes as long as `period` rows of the layer with the most rows, or as one
    row where that takes longer. None where rows of the layers do not advance together."""
    return _schedule(tuple(layers), exits, period)


@lru_cache(maxsize=1 << 13)
def _schedule(layers: tuple[RowLayer, ...], exits: frozenset[str], period: int) -> RowSchedule | None:
    paces = _paces(layers)
    if not paces:
        return None
    blocks: dict[str, Blocks] = {}
    readers = _readers(layers)
    for layer in reversed(layers):
        pace = paces[layer.result]
        if pace < period and period % pace:
            return None
        rows = max(period // pace, 1)
        start = 0
        if found := readers[layer.result]:
            # Blocks end with what the reader with the largest window needs.
            reader, read = max(found, key=lambda each: each[1].rows)
            start = -(-blocks[reader.result].end_of(read) % rows)
        blocks[layer.result] = Blocks(layer, rows, start, 0, rows * pace)
    if not _is_steady(layers, readers, blocks):
        return None
    return _finished(layers, readers, blocks, exits)


def _readers(layers: Sequence[RowLayer]) -> Mapping[str, Sequence[tuple[RowLayer, RowRead]]]:
    """Of each result."""
    found: dict[str, list[tuple[RowLayer, RowRead]]] = {layer.result: [] for layer in layers}
    for layer in layers:
        for read in layer.reads:
            if read.tensor in found:
                found[read.tensor].append((layer, read))
    return found


def _paces(layers: Sequence[RowLayer]) -> dict[str, int]:
    """How long a row of each result takes, in iterations; nothing where layers are apart, or disagree."""
    own = {layer.result for layer in layers}
    edges: dict[str, list[tuple[str, int, int]]] = {name: [] for name in own}  # with factor and divisor
    for layer in layers:
        for read in layer.reads:
            if read.tensor in own:
                edges[layer.result].append((read.tensor, 1, read.stride))
                edges[read.tensor].append((layer.result, read.stride, 1))
    # The way to a layer takes each read once, so that this can be divided by all of their strides.
    found = {layers[-1].result: prod(read.stride for layer in layers for read in layer.reads)}
    queue = [layers[-1].result]
    while queue:
        name = queue.pop()
        for other, factor, divisor in edges[name]:
            pace = found[name] * factor // divisor
            if other not in found:
                found[other] = pace
                queue.append(other)
            elif found[other] != pace:
                return {}
    if len(found) < len(own):
        return {}
    common = gcd(*found.values())
    return {name: pace // common for name, pace in found.items()}


def _is_steady(
    layers: Sequence[RowLayer],
    readers: Mapping[str, Sequence[tuple[RowLayer, RowRead]]],
    blocks: Mapping[str, Blocks],
) -> bool:
    """Is the same part of a ring read by all blocks of a layer, and something of it by the first one?"""
    return all(
        blocks[reader.result].every % blocks[layer.result].every == 0
        and blocks[reader.result].end_of(read) > blocks[layer.result].start
        for layer in layers
        for reader, read in readers[layer.result]
    )


def _wait(reader: Blocks, read: RowRead, maker: Blocks) -> int:
    """Iterations from the first block of a layer to that whose last row the first block of a reader needs."""
    return (-(-(reader.end_of(read) - maker.start) // maker.rows) - 1) * maker.every


def _starts(
    layers: Sequence[RowLayer],
    readers: Mapping[str, Sequence[tuple[RowLayer, RowRead]]],
    blocks: Mapping[str, Blocks],
) -> Mapping[str, int]:
    """The iteration in which each layer starts: as soon as what it reads is there (ASAP), but layers whose
    results would wait start later, as for a sum with other results (ALAP)."""
    found: dict[str, int] = {}
    for layer in layers:
        own = blocks[layer.result]
        makers = [(read, blocks[read.tensor]) for read in layer.reads if read.tensor in blocks]
        starts = (found[read.tensor] + _wait(own, read, maker) for read, maker in makers)
        found[layer.result] = max(starts, default=0)
    for layer in reversed(layers):
        own = blocks[layer.result]
        starts = (
            found[reader.result] - _wait(blocks[reader.result], read, own)
            for reader, read in readers[layer.result]
        )
        found[layer.result] = min(starts, default=found[layer.result])
    return found


def _finished(
    layers: Sequence[RowLayer],
    readers: Mapping[str, Sequence[tuple[RowLayer, RowRead]]],
    blocks: Mapping[str, Blocks],
    exits: frozenset[str],
) -> RowSchedule:
    starts = _starts(layers, readers, blocks)
    begin = min(starts.values())
    unit = gcd(*(each.every for each in blocks.values()), *(start - begin for start in starts.values()))
    found = {
        name: Blocks(each.layer, each.rows, each.start, (starts[name] - begin) // unit, each.every // unit)
        for name, each in blocks.items()
    }
    rings: dict[str, Ring] = {}
    for layer in layers:
        if layer.result in exits:
            continue
        own = found[layer.result]
        reads = [(found[reader.result], read) for reader, read in readers[layer.result]]
        # Windows that leave rows out begin behind the first row of a block.
        rows = max([own.rows, *(rows_before_end(own, reader, read) for reader, read in reads)])
        if rows >= layer.height:
            continue
        together = all((reader.first, reader.every) == (own.first, own.every) for reader, _ in reads)
        count = max([own.count, *(own.done(reader.last) for reader, _ in reads)])
        aligned = reads and all((reader.first - own.first) % own.every == 0 for reader, _ in reads)
        last = reads[-1][0].layer.result if aligned else None
        rings[layer.result] = Ring(rows, count, together and rows == own.rows, last)
    return RowSchedule(tuple(found[layer.result] for layer in layers), rings)


def rows_before_end(maker: Blocks, reader: Blocks, read: RowRead) -> int:
    """How many rows before the end of a ring a block of its reader starts, in every iteration."""
    return maker.start + maker.rows * maker.done(reader.first) - reader.start_of(read)


def overlap_distance(
    maker: Blocks, readers: Sequence[tuple[Blocks, RowRead, bool]], row: int, input_row: int
) -> int:
    """How many bytes before an input a result of the chain must start, at least, to lie over what is not read
    any more. Readers of the input come with whether they have read their block when this layer computes."""
    distance = 0
    for block in range(maker.count):
        iteration = maker.first + block * maker.every
        end = min(maker.layer.height, maker.start + (block + 1) * maker.rows) * row
        needed = [*_still_read(iteration, readers)]
        if needed:
            distance = max(distance, end - min(needed) * input_row)
    return distance


def _still_read(iteration: int, readers: Sequence[tuple[Blocks, RowRead, bool]]) -> Iterator[int]:
    """The first row that each reader of an input still reads, if any."""
    for reader, read, has_read in readers:
        following = max(reader.done(iteration if has_read else iteration - 1), 0)
        if following < reader.count:
            yield max(reader.start_of(read, following), 0)
