"""Places more buffers than can be compared with each other: step by step, each in the tightest gap."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush
from math import lcm
from typing import TYPE_CHECKING

from edgekit.codegen.memory.arena_search import ArenaLayout

if TYPE_CHECKING:
    from edgekit.codegen.memory.arena import ArenaBuffer

# A placement costs about as much as so many comparisons of two buffers.
_COMPARISONS = 8


def sweep(buffers: Sequence[ArenaBuffer], bound: int, budget: float) -> ArenaLayout:
    """The smaller layout of two: one made from the first step to the last, one backwards. What is in use of a
    buffer at a step, and what may lie over what, is not looked at: each gets all its bytes for itself."""
    grain = lcm(*(buffer.align for buffer in buffers))
    sizes = [-(-buffer.size // grain) * grain for buffer in buffers]
    spans = [(buffer.first, buffer.last) for buffer in buffers]
    ways = [_placed(sizes, spans), _placed(sizes, [(-last, -first) for first, last in spans])]
    tops = [max(offset + buffer.size for offset, buffer in zip(way, buffers, strict=True)) for way in ways]
    size = min(tops)
    return ArenaLayout(ways[tops.index(size)], size, bound, budget - 2 * _COMPARISONS * len(buffers))


def _placed(sizes: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int]:
    offsets = [0] * len(sizes)
    room = _GrowingArena()
    live: list[tuple[int, int]] = []  # last step and number
    for i in sorted(range(len(sizes)), key=lambda i: (spans[i][0], -sizes[i])):
        while live and live[0][0] < spans[i][0]:
            _, over = heappop(live)
            room.give_back(offsets[over], sizes[over])
        offsets[i] = room.take(sizes[i])
        heappush(live, (spans[i][1], i))
    return offsets


class _GrowingArena:
    """An arena that grows where no gap is large enough."""

    def __init__(self) -> None:
        self.top = 0
        self.gaps: list[tuple[int, int]] = []  # size and start, the smallest first
        self.size_at: dict[int, int] = {}  # of the gap that starts there
        self.start_of: dict[int, int] = {}  # of the gap that ends there

    def take(self, size: int) -> int:
        """The start of the smallest gap that has room, of those the lowest."""
        if (k := bisect_left(self.gaps, (size, -1))) < len(self.gaps):
            found, start = self.gaps[k]
            self._remove(start, found)
            if found > size:
                self._add(start + size, found - size)
            return start
        start = self.start_of.get(self.top, self.top)
        if start < self.top:
            self._remove(start, self.top - start)
        self.top = start + size
        return start

    def give_back(self, start: int, size: int) -> None:
        """Make a gap, one with those that it touches."""
        if start in self.start_of:
            before = self.start_of[start]
            self._remove(before, start - before)
            start, size = before, size + start - before
        if (behind := self.size_at.get(start + size)) is not None:
            self._remove(start + size, behind)
            size += behind
        self._add(start, size)

    def _add(self, start: int, size: int) -> None:
        insort(self.gaps, (size, start))
        self.size_at[start] = size
        self.start_of[start + size] = start

    def _remove(self, start: int, size: int) -> None:
        del self.gaps[bisect_left(self.gaps, (size, start))]
        del self.size_at[start]
        del self.start_of[start + size]
