"""Searches offsets for buffers: greedy orders first, then branch and bound, then swaps in the greedy order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

_EXACT_BUFFERS = 200


@dataclass(frozen=True)
class Problem:
    """Buffers by number, in the order of their first step; `near` and `together` follow from their lifetimes."""

    members: Sequence[int]  # what the caller calls them
    sizes: Sequence[int]
    aligns: Sequence[int]
    spans: Sequence[int]  # steps for which each is live
    near: Sequence[Sequence[int]]  # for each buffer the others that are live at some step of it
    together: Sequence[Sequence[int]]  # all sets live at one step that lie in no other such set
    closer: Mapping[
        tuple[int, int], int
    ]  # (lower, upper): least distance where it is less than the lower one's size
    bound: int  # bytes that they need at least


@dataclass(frozen=True)
class Layout:
    offsets: list[int]
    size: int
    proven: int  # bytes that no layout can do without
    spent: int


@dataclass
class Meter:
    """Comparisons of buffers that a search may still make."""

    left: float


def solve(problem: Problem, enough: int, budget: float) -> Layout:
    """The best layout that the budget finds; one of `enough` bytes is as good as any smaller one."""
    meter = Meter(budget)
    best = min(_greedy(problem, enough, meter), key=lambda offsets: _size(problem, offsets))
    proven = problem.bound
    if _size(problem, best) > enough and len(best) <= _EXACT_BUFFERS:
        exact = _Exact(problem, _size(problem, best), enough, Meter(meter.left / 2))
        ended = exact.search()
        meter.left += exact.meter.left - meter.left / 2
        best = exact.best or best
        if ended:
            proven = max(proven, _size(problem, best))
    if _size(problem, best) > max(enough, proven):
        best = _swap(problem, best, enough, meter)
    return Layout(best, _size(problem, best), proven, int(budget - meter.left))


def _size(problem: Problem, offsets: Sequence[int]) -> int:
    return max(offset + size for offset, size in zip(offsets, problem.sizes, strict=True))


def _greedy(problem: Problem, enough: int, meter: Meter) -> Iterator[list[int]]:
    """Layouts by first fit and best fit, in orders that suit different graphs."""
    sizes, spans = problem.sizes, problem.spans
    pressure = [0] * len(sizes)
    for members in problem.together:
        total = sum(sizes[i] for i in members)
        for i in members:
            pressure[i] = max(pressure[i], total)
    keys = [
        lambda i: 0,
        lambda i: -sizes[i],
        lambda i: -sizes[i] * spans[i],
        lambda i: (-pressure[i], -sizes[i]),
        lambda i: (-spans[i], -sizes[i]),
        lambda i: -len(problem.near[i]),
    ]
    for number, key in enumerate(keys):
        order = sorted(range(len(sizes)), key=key)
        for tightest in (False, True):
            offsets = [-1] * len(sizes)
            _place(problem, order, offsets, meter, tightest)
            yield offsets
            if _size(problem, offsets) <= enough or (number > 1 and meter.left <= 0):
                return


def _place(
    problem: Problem, order: Sequence[int], offsets: list[int], meter: Meter, tightest: bool = False
) -> None:
    """Put buffers one after the other into the lowest gap that holds them, or into the tightest."""
    sizes, closer = problem.sizes, problem.closer
    for i in order:
        near, size, align = problem.near[i], sizes[i], problem.aligns[i]
        meter.left -= len(near) + 5
        # The offsets strictly between two such numbers are taken.
        if closer:
            taken = [
                (offsets[j] - closer.get((i, j), size), offsets[j] + closer.get((j, i), sizes[j]))
                for j in near
                if offsets[j] >= 0
            ]
        else:
            taken = [(offsets[j] - size, offsets[j] + sizes[j]) for j in near if offsets[j] >= 0]
        taken.sort()
        at = 0
        best, best_slack = -1, -1
        for low, high in taken:
            if at <= low:
                if not tightest:
                    break
                if best < 0 or low - at < best_slack:
                    best, best_slack = at, low - at
            if high > at:
                at = -(-high // align) * align
        offsets[i] = best if best >= 0 else at


def _swap(problem: Problem, offsets: list[int], enough: int, meter: Meter) -> list[int]:
    """Swap buffers under the top in the order of placement, and go on from every layout that is not larger."""
    random = Random(0)
    sizes = problem.sizes

    def pick(choices: Sequence[int]) -> int:
        return choices[int(random.random() * len(choices))]

    order = sorted(range(len(offsets)), key=lambda i: offsets[i])
    best = list(offsets)
    size = best_size = _size(problem, best)
    while meter.left > 0 and best_size > enough:
        top = pick([i for i in range(len(offsets)) if offsets[i] + sizes[i] == size])
        column = [top, *problem.near[top]]
        one, other = pick(column), pick(column)
        a, b = order.index(one), order.index(other)
        if a == b:
            continue
        a, b = min(a, b), max(a, b)
        order[a], order[b] = order[b], order[a]
        trial = list(offsets)
        for i in order[a:]:
            trial[i] = -1
        _place(problem, order[a:], trial, meter)
        trial_size = _size(problem, trial)
        if trial_size <= size:
            offsets, size = trial, trial_size
            if size < best_size:
                best, best_size = trial, size
        else:
            order[a], order[b] = order[b], order[a]
    return best


class _Exact:
    """Branch and bound over layouts in which nothing can be moved down.

    Some best layout has no buffer that would fit lower down with all others in place. Sorted by offset, each of its
    buffers lies directly on one before it, or on the ground. So buffers are placed in the order of their offsets, each
    as low as those before it allow.
    """

    def __init__(self, problem: Problem, size: int, enough: int, meter: Meter) -> None:
        self.problem = problem
        self.size = size
        self.enough = enough
        self.meter = meter
        self.best: list[int] | None = None
        count = len(problem.sizes)
        self.offsets = [-1] * count
        self.floor = [0] * count  # how low each buffer may go on top of those placed
        self.left = set(range(count))
        self.sections_of: list[list[int]] = [[] for _ in range(count)]
        self.grain = 1
        self.room = [sum(problem.sizes[i] for i in members) for members in problem.together]
        for section, members in enumerate(problem.together):
            for i in members:
                self.sections_of[i].append(section)
        pressure = [max(self.room[s] for s in sections) for sections in self.sections_of]
        self.urgency = [(-pressure[i], -problem.sizes[i] * problem.spans[i], i) for i in range(count)]
        self.members = [set(members) for members in problem.together]
        self.nearset = [set(n) for n in problem.near]

    def search(self) -> bool:
        """Whether the search has come to its end: then there is no smaller layout than the best one, or it is
        small enough."""
        return self.descend(0, -1)

    def descend(self, ground: int, last: int) -> bool:
        if not self.left:
            self.best = list(self.offsets)
            self.size = _size(self.problem, self.best)
            return True
        problem, floor = self.problem, self.floor
        sizes = problem.sizes
        self.meter.left -= 2 * len(self.left)
        ceiling = min(floor[i] + sizes[i] for i in self.left)
        choices = [i for i in self.left if ground <= floor[i] < ceiling]
        choices.sort(key=lambda i: (floor[i], self.urgency[i]))
        for i in choices:
            at = floor[i]
            if at + sizes[i] >= self.size:
                continue
            if at == ground and last > i and i not in self.nearset[last]:
                continue
            if self.meter.left <= 0:
                return False
            self.offsets[i] = at
            self.left.remove(i)
            undo = []
            for j in problem.near[i]:
                if j in self.left:
                    low = at + problem.closer.get((i, j), sizes[i])
                    if low > floor[j]:
                        undo.append((j, floor[j]))
                        align = problem.aligns[j]
                        floor[j] = -(-low // align) * align
            self.meter.left -= len(problem.near[i])
            for s in self.sections_of[i]:
                self.room[s] -= sizes[i]
                self.members[s].remove(i)
            ok = True
            if self.fits(at):
                ok = self.descend(at, i)
            for s in self.sections_of[i]:
                self.room[s] += sizes[i]
                self.members[s].add(i)
            for j, low in undo:
                floor[j] = low
            self.left.add(i)
            self.offsets[i] = -1
            if not ok:
                return False
            if self.size <= self.enough:
                return True
        return True

    def fits(self, ground: int) -> bool:
        problem, floor, sizes = self.problem, self.floor, self.problem.sizes
        low = {}
        for j in self.left:
            if floor[j] >= ground:
                low[j] = floor[j]
            else:
                least = min(
                    (
                        max(floor[k], ground) + problem.closer.get((k, j), sizes[k])
                        for k in problem.near[j]
                        if k in self.left
                    ),
                    default=None,
                )
                self.meter.left -= len(problem.near[j])
                if least is None:
                    return False
                low[j] = least
            if low[j] + sizes[j] >= self.size:
                return False
        for s, members in enumerate(self.members):
            if members:
                self.meter.left -= len(members)
                if min(low[j] for j in members) + self.room[s] >= self.size:
                    return False
        return True
