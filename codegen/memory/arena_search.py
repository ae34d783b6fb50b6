"""Searches offsets for buffers: greedily, by branch and bound, and by swaps in the order of placement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from operator import add
from random import Random

from edgekit.codegen.memory.arena_disjunctions import bisected
from edgekit.codegen.memory.arena_fit import fit, greedy, place
from edgekit.codegen.memory.arena_problem import ArenaProblem, SearchBudget, size_of
from edgekit.codegen.memory.arena_stacks import bound_of_stacks

# Comparisons that branch and bound makes, and at most half of a budget: most of what it finds takes few.
_BISECTED = 400_000
# Pairs of buffers that are live at once, at most: with more it decides too few of them.
_MOST_PAIRS = 2_000
# Comparisons after which swaps are given up that lead to nothing smaller: at least, and for each such pair.
_STALLED, _STALLED_OF_PAIR = 100_000, 500


@dataclass(frozen=True)
class ArenaLayout:
    offsets: list[int]
    size: int
    proven: int  # bytes that no layout can do without
    unspent: float


def solve(problem: ArenaProblem, enough: int, budget: float, limit: float = inf) -> ArenaLayout:
    """The smallest layout that the budget finds. Below `enough` bytes smaller is no better, and any will do
    where more than `limit` are needed."""
    meter, least = SearchBudget(budget), enough
    best = min(greedy(problem, enough, meter), key=lambda offsets: size_of(problem, offsets))
    if size_of(problem, best) > enough:
        least = bound_of_stacks(problem, enough, meter)
    if problem.pairs <= _MOST_PAIRS:
        spare = max(meter.left / 2, meter.left - _BISECTED)
        best, least = bisected(problem, best, least, limit, meter, spare)
    if least <= limit:
        best = _swapped(problem, best, least, meter)
    proven = least if least > enough else problem.bound
    return ArenaLayout(best, size_of(problem, best), proven, meter.left)


def _swapped(problem: ArenaProblem, best: list[int], enough: int, meter: SearchBudget) -> list[int]:
    """The best layout that swaps lead to, from the order of its offsets and from that of sizes."""
    orders = (
        sorted(range(len(best)), key=best.__getitem__),
        sorted(range(len(best)), key=lambda i: -problem.sizes[i]),
    )
    for seed, (order, spare) in enumerate(zip(orders, (meter.left / 2, 0), strict=True)):
        if len(best) > 1 and size_of(problem, best) > enough:
            swapped = _Swaps(problem, order, meter).climb(enough, spare, Random(seed))
            best = min(best, swapped, key=lambda offsets: size_of(problem, offsets))
    return best


def _positions(numbers: list[int], number: int) -> list[int]:
    found: list[int] = []
    for _ in range(numbers.count(number)):
        found.append(numbers.index(number, found[-1] + 1 if found else 0))
    return found


class _Swaps:
    """Local search over the order in which first fit places the buffers."""

    def __init__(self, problem: ArenaProblem, order: list[int], meter: SearchBudget) -> None:
        self.problem = problem
        self.meter = meter
        self.order = order
        self.rank = [0] * len(order)
        for rank, i in enumerate(order):
            self.rank[i] = rank
        self.offsets = place(problem, order, meter)
        self.ends = list(map(add, self.offsets, problem.sizes))

    def climb(self, enough: int, spare: float, random: Random) -> list[int]:
        """Swap buffers around the topmost one, until that has led to nothing smaller for long. From every
        layout that is not larger than the one before, swaps continue."""
        near = self.problem.near

        def pick(choices: Sequence[int]) -> int:
            return choices[int(random.random() * len(choices))]

        best = list(self.offsets)
        size = best_size = size_of(self.problem, best)
        patience = max(_STALLED, _STALLED_OF_PAIR * self.problem.pairs)
        stop = self.meter.left - patience
        while self.meter.left > max(spare, stop) and best_size > enough:
            self.meter.left -= len(best) / 16 + 5
            top = pick(_positions(self.ends, size))
            if random.random() < 0.5:
                one = pick(near[top])
                other = pick(near[one])
            else:
                column = [top, *near[top]]
                one, other = pick(column), pick(column)
            if one != other and self.swap(one, other, limit=size):
                size = max(self.ends)
                if size < best_size:
                    best, best_size = list(self.offsets), size
                    stop = self.meter.left - patience
        return best

    def swap(self, one: int, other: int, limit: int) -> bool:
        """Exchange two buffers in the order, unless that would take more than `limit` bytes. Only buffers
        that come later and touch a change are placed anew."""
        near, sizes, rank = self.problem.near, self.problem.sizes, self.rank
        offsets, ends = self.offsets, self.ends
        start, end = sorted((rank[one], rank[other]))
        self.exchange(one, other)
        queued = {start, end}
        queued.update(rank[j] for i in (one, other) for j in near[i] if start < rank[j] < end)
        queue = sorted(queued)
        before: list[tuple[int, int]] = []
        while queue:
            turn = heappop(queue)
            i = self.order[turn]
            self.meter.left -= len(near[i]) + 8
            offset = fit(self.problem, i, [j for j in near[i] if rank[j] < turn], offsets)
            if offset + sizes[i] > limit:
                for j, old in before:
                    offsets[j], ends[j] = old, old + sizes[j]
                self.exchange(one, other)
                return False
            if offset != offsets[i]:
                before.append((i, offsets[i]))
                offsets[i], ends[i] = offset, offset + sizes[i]
                for j in near[i]:
                    if rank[j] > turn and rank[j] not in queued:
                        queued.add(rank[j])
                        heappush(queue, rank[j])
        return True

    def exchange(self, one: int, other: int) -> None:
        rank = self.rank
        rank[one], rank[other] = rank[other], rank[one]
        self.order[rank[one]], self.order[rank[other]] = one, other
