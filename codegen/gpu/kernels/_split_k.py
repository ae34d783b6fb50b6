"""Split-K: items of a work-group share a sum of many products, so that fewer loads wait for one another.

Each item adds up a part, in memory of the group; then each makes some of the results. Integers are the same
in any order. Sums of floats are rounded in another order: as many shorter sums as there are items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from edgekit.codegen.gpu.ast import Expr, GpuBuffer, Shared, function, number, select, splat
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.device import shortest
from edgekit.codegen.gpu.elements import for_each, per_item, word_of
from edgekit.codegen.gpu.use import GpuCall, groups_for
from edgekit.core.types import DType


@dataclass(frozen=True)
class Split:
    """How many items share a sum: of the cells of its window, and of the channels of a cell."""

    taps: int = 1
    channels: int = 1

    @property
    def lanes(self) -> int:
        return self.taps * self.channels

    @property
    def tiles(self) -> int:
        """Sums, or tiles of sums, of a work-group."""
        return GROUP // self.lanes

    @property
    def label(self) -> str:
        return f"_k{self.taps}x{self.channels}" if self.lanes > 1 else ""

    def groups(self, tiles: int) -> int:
        return groups_for(tiles, self.tiles)


_FEWEST = 4  # iterations of an item, beside which what it shares is little work


def shortest_split(taps: int, channels: int, use: Callable[[Split], GpuCall]) -> GpuCall:
    """The use of the split that takes the shortest time, where a sum has so many cells and, of each, so many
    iterations over channels."""
    return shortest([use(split) for split in _splits(taps, channels)])


def _splits(taps: int, channels: int) -> Iterator[Split]:
    """For a few numbers of items, so that devices compile few kernels, the one with the fewest iterations."""
    yield Split()
    lanes = 4
    while lanes <= min(GROUP, taps * channels // _FEWEST):
        ways = [Split(1 << t, lanes >> t) for t in range(lanes.bit_length())]
        yield min(ways, key=lambda s: (-(-taps // s.taps) * -(-channels // s.channels), s.taps))
        lanes *= 4


@dataclass(frozen=True)
class Part:
    """What an item has of a sum: of which tile, from which cell and iteration over channels on."""

    k: KernelBuilder
    split: Split
    tile: Expr
    lane: Expr  # its number among those that share the sum

    @staticmethod
    def of_item(k: KernelBuilder, split: Split) -> Part:
        """Neighbouring items have other tiles, and so load what lies side by side."""
        if split.lanes == 1:
            return Part(k, split, k.item, number(0, k.item.kind))
        tile = k.let("tile", k.group_number * split.tiles + k.within % split.tiles)
        return Part(k, split, tile, k.let("part", k.within // split.tiles))

    @property
    def tap(self) -> Expr:
        return self.lane % self.split.taps if self.split.taps > 1 else number(0, self.lane.kind)

    @property
    def channel(self) -> Expr:
        return self.lane // self.split.taps if self.split.channels > 1 else number(0, self.lane.kind)

    def start(self, first: Expr) -> Expr:
        """What a part begins with: one of them with the bias."""
        if self.split.lanes == 1:
            return first
        zero, is_first = number(0, first.kind), self.lane.eq(0)
        return select(splat(is_first) if first.kind.lanes == 4 else is_first, first, zero)

    def totals(self, sums: list[Expr]) -> Iterator[tuple[Expr | int, Expr]]:
        """(number, total) of those sums of the tile that this item makes results of. All items come here."""
        k, split = self.k, self.split
        if split.lanes == 1:
            yield from enumerate(sums)
            return
        held = self.hold(sums)
        is_more = split.lanes > len(sums)
        with k.when(self.lane < len(sums)) if is_more else nullcontext():
            for first in range(0, 1 if is_more else len(sums), split.lanes):
                n = k.let("number", self.lane + first)
                yield n, self.total(held, n)

    def hold(self, sums: list[Expr]) -> Shared:
        """Bring the sums of all items to memory of the group."""
        k = self.k
        held = k.shared("held", sums[0].kind, GROUP * len(sums))
        for n, total in enumerate(sums):
            k.store(held, k.within + n * GROUP, total)
        k.barrier()
        return held

    def total(self, held: Shared, n: Expr | int) -> Expr:
        """Sum n of the tile."""
        k, tiles = self.k, self.split.tiles
        first = k.let("first_part", k.within % tiles + n * GROUP)
        total = k.var("total", held[first])
        with k.loop("other", 1, self.split.lanes) as other:
            k.set(total, total + held[first + other * tiles])
        return total


def for_each_sum(
    k: KernelBuilder,
    split: Split,
    y: GpuBuffer,
    dtype: DType,
    n: Expr,
    partial: Callable[[Part, Expr], Expr],
    result: Callable[[Expr, Expr], Expr],
) -> None:
    """y[i] = result(i, sum) for all i < n, where items that share a sum have partial(part, i) each."""
    part = Part.of_item(k, split)
    if split.lanes == 1:
        for_each(k, y, dtype, n, lambda i: result(i, partial(part, i)))
        return
    per = per_item(dtype)
    places = [k.let("i", function("min", part.tile * per + e, n - 1)) for e in range(per)]
    held = part.hold([partial(part, i) for i in places])
    with k.when(part.lane.eq(0) & (part.tile * per < n)):
        values = [result(i, part.total(held, e)) for e, i in enumerate(places)]
        k.store(y, part.tile, word_of(k, dtype, y.kind, values))
