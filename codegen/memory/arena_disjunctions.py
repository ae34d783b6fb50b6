"""Branch and bound over disjunctive constraints: of two buffers that are live at once, which lies below?

As in job shop scheduling, every such pair gets a direction. Each buffer has a lowest and a highest offset;
what these exclude decides a pair, and what is decided moves them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from edgekit.codegen.memory.arena_fit import place
from edgekit.codegen.memory.arena_problem import ArenaProblem, SearchBudget, size_of

# Of what is left of a budget, the share for one question: are so many bytes enough?
_SHARE = 1 / 4


def bisected(
    problem: ArenaProblem, best: list[int], enough: int, limit: float, meter: SearchBudget, spare: float
) -> tuple[list[int], int]:
    """The smallest layout that is found until the meter is down to `spare`, and bytes that no layout can do
    without, or `enough`. Where these are more than `limit`, any layout will do."""
    search = _Directions(problem, meter)
    proven = least = enough
    while proven <= limit and (size := size_of(problem, best)) > least and meter.left > spare:
        wanted = int(limit) if least <= limit < size else (least + size - 1) // 2
        found, is_answer = search.layout(wanted, meter.left - (meter.left - spare) * _SHARE)
        if found:
            again = place(problem, sorted(range(len(found)), key=found.__getitem__), meter)
            best = min(found, again, key=lambda offsets: size_of(problem, offsets))
            continue
        least = wanted + 1
        if is_answer:
            proven = least
    return best, proven


class _Directions:
    """Pairs of buffers that are live at once, and which of the two lies below."""

    def __init__(self, problem: ArenaProblem, meter: SearchBudget) -> None:
        self.problem = problem
        self.meter = meter
        sizes, closer = problem.sizes, problem.closer
        self.pairs = [(i, j) for i, others in enumerate(problem.near) for j in others if i < j]
        # From the start of the lower one to that of the upper one, either way.
        self.gaps = [(closer.get((i, j), sizes[i]), closer.get((j, i), sizes[j])) for i, j in self.pairs]
        self.pairs_of: list[list[tuple[int, int, int, int, int]]] = [[] for _ in sizes]
        for pair, ((i, j), (gap, other)) in enumerate(zip(self.pairs, self.gaps, strict=True)):
            self.pairs_of[i].append((j, gap, other, pair, 1))
            self.pairs_of[j].append((i, other, gap, pair, -1))
        # How often a pair had no direction left: those are decided first, for all sizes that are asked for.
        self.failures = [1] * len(self.pairs)
        self.low: list[int] = []
        self.high: list[int] = []
        self.below: list[int] = []  # of a pair: 1 where the first one lies below, -1 the second one, 0 open
        self.trail: list[tuple[list[int], int, int]] = []  # what to restore: of which list, where, and what

    def layout(self, size: int, spare: float) -> tuple[list[int] | None, bool]:
        """A layout of at most so many bytes, or none; and whether that is an answer. It is not where the
        meter went down to `spare` before."""
        sizes, aligns = self.problem.sizes, self.problem.aligns
        self.low = [0] * len(sizes)
        self.high = [(size - own) // align * align for own, align in zip(sizes, aligns, strict=True)]
        self.below = [0] * len(self.pairs)
        self.trail = []
        if min(self.high) < 0 or not self._propagated(range(len(sizes))):
            return None, True
        others: list[tuple[int, int, int]] = []  # pairs to decide the other way, and where the trail was
        while (pair := self._open_pair()) is not None:
            if self.meter.left <= spare:
                return None, False
            up, down = self._slacks(pair)
            direction = 1 if up >= down else -1
            others.append((len(self.trail), pair, -direction))
            fits = self._directed(pair, direction)
            while not fits:
                if not others:
                    return None, True
                mark, pair, direction = others.pop()
                while len(self.trail) > mark:
                    values, i, old = self.trail.pop()
                    values[i] = old
                fits = self._directed(pair, direction)
        return list(self.low), True

    def _open_pair(self) -> int | None:
        """The pair with the least room that overlaps where every buffer is as low as it can be."""
        low, high, found, least = self.low, self.high, None, inf
        self.meter.left -= len(self.pairs) / 4
        for pair, direction in enumerate(self.below):
            if not direction:
                (i, j), (gap, other) = self.pairs[pair], self.gaps[pair]
                if low[i] + gap > low[j] and low[j] + other > low[i]:
                    room = (high[i] + high[j] - low[i] - low[j] - gap - other + 1) / self.failures[pair]
                    if room < least:
                        found, least = pair, room
        return found

    def _slacks(self, pair: int) -> tuple[int, int]:
        """The room that is left where the first one lies below, and where the second one does."""
        (i, j), (gap, other) = self.pairs[pair], self.gaps[pair]
        return self.high[j] - self.low[i] - gap, self.high[i] - self.low[j] - other

    def _directed(self, pair: int, direction: int) -> bool:
        self._set(self.below, pair, direction)
        return self._propagated(self.pairs[pair])

    def _set(self, values: list[int], i: int, value: int) -> None:
        self.trail.append((values, i, values[i]))
        values[i] = value

    def _propagated(self, changed: Sequence[int]) -> bool:
        """False where a buffer has no offset left."""
        low, high, aligns = self.low, self.high, self.problem.aligns
        queue, queued = list(changed), set(changed)
        while queue:
            i = queue.pop()
            queued.discard(i)
            self.meter.left -= len(self.pairs_of[i])
            for j, gap, other, pair, sign in self.pairs_of[i]:
                direction = self.below[pair] * sign
                if not direction:
                    can_be_below, can_be_above = low[i] + gap <= high[j], low[j] + other <= high[i]
                    if can_be_below and can_be_above:
                        continue
                    direction = 1 if can_be_below else -1
                    self._set(self.below, pair, direction * sign)
                lower, upper, distance = (i, j, gap) if direction > 0 else (j, i, other)
                if low[lower] + distance > low[upper]:
                    self._set(low, upper, -(-(low[lower] + distance) // aligns[upper]) * aligns[upper])
                    if upper not in queued:
                        queued.add(upper)
                        queue.append(upper)
                if high[upper] - distance < high[lower]:
                    self._set(high, lower, (high[upper] - distance) // aligns[lower] * aligns[lower])
                    if lower not in queued:
                        queued.add(lower)
                        queue.append(lower)
                if low[upper] > high[upper] or low[lower] > high[lower]:
                    self.failures[pair] += 1
                    return False
        return True
