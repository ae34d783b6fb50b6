"""A lower bound by an assignment problem: buffers that are live at once lie one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, inf

from edgekit.codegen.memory.arena_problem import ArenaProblem, SearchBudget

# Buffers of a step, at most: an assignment takes the third power of them.
_MOST = 32


def bound_of_stacks(problem: ArenaProblem, enough: int, meter: SearchBudget) -> int:
    """Bytes that no layout can do without, or `enough` where those are fewer.

    From the lowest buffer to the topmost, each has one above it: this takes at least what the cheapest such
    assignment does. It is more than what is in use at a step where buffers shrink and grow at different ones.
    """
    grain = gcd(*problem.aligns)
    least = enough
    for crowd in problem.together:
        sizes = [problem.sizes[i] for i in crowd]
        if len(crowd) <= _MOST and sum(-(-size // grain) * grain for size in sizes) > least:
            meter.left -= len(crowd) ** 3
            gaps = [
                [-(-problem.closer.get((i, j), problem.sizes[i]) // grain) * grain for j in crowd]
                for i in crowd
            ]
            least = max(least, _stacked(gaps, sizes))
    return least


def _stacked(gaps: Sequence[Sequence[int]], sizes: Sequence[int]) -> int:
    """From the foot of a stack, by the distances between buffers, to the end of the topmost one."""
    costs: list[list[float]] = [[*row, size] for row, size in zip(gaps, sizes, strict=True)]
    for i, row in enumerate(costs):
        row[i] = inf
    return int(assigned([*costs, [0.0] * len(sizes) + [inf]]))


def assigned(costs: Sequence[Sequence[float]]) -> float:
    """The least sum of an entry from each row, no two in one column: the Hungarian algorithm by shortest
    augmenting paths, in which rows and columns have prices."""
    count = len(costs)
    row_prices, prices = [0.0] * (count + 1), [0.0] * (count + 1)
    row_of = [0] * (count + 1)  # of each column; in column 0 is the row that looks for one
    for row in range(1, count + 1):
        row_of[0], column = row, 0
        least, before = [inf] * (count + 1), [0] * (count + 1)
        seen, unseen = [0], list(range(1, count + 1))
        while row_of[column]:
            taken = row_of[column]
            for other in unseen:
                cost = costs[taken - 1][other - 1] - row_prices[taken] - prices[other]
                if cost < least[other]:
                    least[other], before[other] = cost, column
            column = min(unseen, key=least.__getitem__)
            step = least[column]
            for other in seen:
                row_prices[row_of[other]] += step
                prices[other] -= step
            for other in unseen:
                least[other] -= step
            unseen.remove(column)
            seen.append(column)
        while column:
            row_of[column], column = row_of[before[column]], before[column]
    return -prices[0]
