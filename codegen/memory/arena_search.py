"""Searches offsets for buffers: greedily, by branch and bound, and by swaps in the order of placement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from math import gcd
from operator import add
from random import Random

# Branch and bound ends in good time up to about a dozen buffers, or where the bound is tight.
_EXACT_BUFFERS = 32


@dataclass(frozen=True)
class ArenaProblem:
    """Buffers as numbers; every list has one entry per buffer, except `together`."""

    members: Sequence[int]  # the number that the caller gave it
    sizes: Sequence[int]
    aligns: Sequence[int]
    spans: Sequence[int]  # steps at which it is live
    near: Sequence[Sequence[int]]  # the others that are live at one of its steps
    together: Sequence[Mapping[int, int]]  # what is live at one step, and how many bytes of it are in use
    # (lower, upper): distance, where it may be less than the lower's size
    closer: Mapping[tuple[int, int], int]
    overlaps: Set[tuple[int, int]]  # those of them that may share bytes at a step
    bound: int  # bytes that they need at least

    @cached_property
    def distances(self) -> Sequence[Mapping[int, tuple[int, int]]]:
        """Of each buffer, those with which it makes a pair of `closer`: what it takes below such a one, and
        what that one takes below it."""
        found: list[dict[int, tuple[int, int]]] = [{} for _ in self.sizes]
        for i, j in {*self.closer, *((j, i) for i, j in self.closer)}:
            found[i][j] = self.closer.get((i, j), self.sizes[i]), self.closer.get((j, i), self.sizes[j])
        return found


@dataclass(frozen=True)
class ArenaLayout:
    offsets: list[int]
    size: int
    proven: int  # bytes that no layout can do without
    unspent: float


@dataclass
class _SearchBudget:
    """Comparisons of two buffers that a search may still make."""

    left: float


def solve(problem: ArenaProblem, enough: int, budget: float) -> ArenaLayout:
    """The smallest layout that the budget finds; below `enough` bytes, smaller is no better."""
    meter = _SearchBudget(budget)
    best = min(_greedy(problem, enough, meter), key=lambda offsets: _size(problem, offsets))
    proven = problem.bound
    if _size(problem, best) > enough and len(best) <= _EXACT_BUFFERS:
        exact = _Exact(problem, best, enough, meter)
        ended = exact.descend(0, -1, spare=meter.left / 2)
        best = exact.best
        if ended and exact.size > enough:
            proven = exact.size
    orders = (
        sorted(range(len(best)), key=best.__getitem__),
        sorted(range(len(best)), key=lambda i: -problem.sizes[i]),
    )
    for spare, order in zip((meter.left / 2, 0), orders, strict=True):
        if _size(problem, best) > max(enough, proven):
            swapped = _Swaps(problem, order, meter).climb(enough, spare)
            best = min(best, swapped, key=lambda offsets: _size(problem, offsets))
    return ArenaLayout(best, _size(problem, best), proven, meter.left)


def _size(problem: ArenaProblem, offsets: Sequence[int]) -> int:
    size: int = max(map(add, offsets, problem.sizes))
    return size


def _positions(numbers: list[int], number: int) -> list[int]:
    found: list[int] = []
    for _ in range(numbers.count(number)):
        found.append(numbers.index(number, found[-1] + 1 if found else 0))
    return found


def _greedy(problem: ArenaProblem, enough: int, meter: _SearchBudget) -> Iterator[list[int]]:
    """Layouts by first fit and best fit, for orders of which now this, now that is the best."""
    sizes, spans = problem.sizes, problem.spans
    crowd = [0] * len(sizes)
    for members in problem.together:
        total = sum(members.values())
        for i in members:
            crowd[i] = max(crowd[i], total)
    keys: list[Callable[[int], tuple[int, ...]]] = [
        lambda i: (i,),
        lambda i: (-i,),  # each over the input from which it starts so far before
        lambda i: (-sizes[i],),
        lambda i: (-sizes[i] * spans[i],),
        lambda i: (-crowd[i], -sizes[i]),
        lambda i: (-spans[i], -sizes[i]),
        lambda i: (-len(problem.near[i]),),
    ]
    for number, key in enumerate(keys):
        order = sorted(range(len(sizes)), key=key)
        for tightest in (False, True):
            offsets = _place(problem, order, meter, tightest)
            yield offsets
            if _size(problem, offsets) <= enough or (number > 0 and meter.left <= 0):
                return


def _place(
    problem: ArenaProblem, order: Sequence[int], meter: _SearchBudget, tightest: bool = False
) -> list[int]:
    offsets = [-1] * len(order)
    for i in order:
        meter.left -= len(problem.near[i]) + 5
        placed = [j for j in problem.near[i] if offsets[j] >= 0]
        offsets[i] = _fit(problem, i, placed, offsets, tightest)
    return offsets


def _fit(problem: ArenaProblem, i: int, placed: list[int], offsets: list[int], tightest: bool = False) -> int:
    """The offset of the lowest gap that holds buffer i, or of the tightest."""
    sizes, closer, align = problem.sizes, problem.distances[i], problem.aligns[i]
    size = sizes[i]
    # All offsets strictly between two such numbers are taken.
    if closer:
        taken = [
            (offsets[j] - closer[j][0], offsets[j] + closer[j][1])
            if j in closer
            else (offsets[j] - size, offsets[j] + sizes[j])
            for j in placed
        ]
    else:
        taken = [(offsets[j] - size, offsets[j] + sizes[j]) for j in placed]
    taken.sort()
    at = 0
    best, best_slack = -1, 0
    for low, high in taken:
        if at <= low:
            if not tightest:
                return at
            if best < 0 or low - at < best_slack:
                best, best_slack = at, low - at
        if high > at:
            at = -(-high // align) * align
    return at if best < 0 else best


class _Swaps:
    """Local search over the order in which first fit places the buffers."""

    def __init__(self, problem: ArenaProblem, order: list[int], meter: _SearchBudget) -> None:
        self.problem = problem
        self.meter = meter
        self.order = order
        self.rank = [0] * len(order)
        for rank, i in enumerate(order):
            self.rank[i] = rank
        self.offsets = _place(problem, order, meter)
        self.ends = list(map(add, self.offsets, problem.sizes))

    def climb(self, enough: int, spare: float) -> list[int]:
        """Swap buffers around the topmost one, again and again, and go on from every layout that is not
        larger than the one before."""
        near = self.problem.near
        random = Random(0)

        def pick(choices: Sequence[int]) -> int:
            return choices[int(random.random() * len(choices))]

        best = list(self.offsets)
        size = best_size = _size(self.problem, best)
        while self.meter.left > spare and best_size > enough:
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
            offset = _fit(self.problem, i, [j for j in near[i] if rank[j] < turn], offsets)
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


class _Exact:
    """Branch and bound.

    In the smallest layout with the lowest sum of offsets, no buffer fits lower down while all others stay.
    Sorted by offset, each therefore lies on one before it, or on the ground. So buffers are placed in the
    order of their offsets, each as low as those placed before allow.
    """

    def __init__(self, problem: ArenaProblem, best: list[int], enough: int, meter: _SearchBudget) -> None:
        self.problem = problem
        self.best = best
        self.size = _size(problem, best)
        self.enough = enough
        self.meter = meter
        count = len(best)
        self.offsets = [0] * count
        self.floor = [0] * count  # how low each buffer can go, on top of those placed before
        self.left = set(range(count))
        self.crowds = [_apart(problem, members) for members in problem.together]
        self.crowds_of = [[c for c, crowd in enumerate(self.crowds) if i in crowd] for i in range(count)]
        # All offsets are multiples of the grain, so that between two buffers the end of a grain stays empty.
        grain = gcd(*problem.aligns)
        self.padded = [{i: -(-size // grain) * grain for i, size in crowd.items()} for crowd in self.crowds]
        self.rooms = [
            sum(padded.values()) - max(padded[i] - size for i, size in crowd.items())
            for padded, crowd in zip(self.padded, self.crowds, strict=True)
        ]
        # Where several buffers can go to the same offset, those of the largest crowd are tried first.
        weight = [max((self.rooms[crowd] for crowd in crowds), default=0) for crowds in self.crowds_of]
        self.urgency = sorted(range(count), key=lambda i: (-weight[i], -problem.sizes[i] * problem.spans[i]))

    def descend(self, ground: int, last: int, spare: float) -> bool:
        """Place the buffers that are left at `ground` or above. False if the meter went down to `spare`
        before everything was seen that could be smaller."""
        if not self.left:
            self.best = list(self.offsets)
            self.size = _size(self.problem, self.best)
            return True
        sizes, floor = self.problem.sizes, self.floor
        self.meter.left -= 3 * len(self.left)
        # Above this, a buffer would leave a gap below that holds another one.
        ceiling = min(floor[i] + sizes[i] for i in self.left)
        choices = [i for i in self.urgency if i in self.left and ground <= floor[i] < ceiling]
        for i in sorted(choices, key=floor.__getitem__):
            if self.size <= self.enough:
                return True
            if self.meter.left <= spare:
                return False
            # Two buffers of the same offset that do not meet come in the order of their numbers.
            if floor[i] == ground and i < last and i not in self.problem.near[last]:
                continue
            if floor[i] + sizes[i] >= self.size:
                continue
            undo = self.put(i)
            ended = not self.fits(floor[i]) or self.descend(floor[i], i, spare)
            self.take_back(i, undo)
            if not ended:
                return False
        return True

    def put(self, i: int) -> list[tuple[int, int]]:
        problem, floor = self.problem, self.floor
        self.meter.left -= len(problem.near[i])
        self.offsets[i] = floor[i]
        self.left.remove(i)
        for crowd in self.crowds_of[i]:
            self.rooms[crowd] -= self.padded[crowd][i]
        undo = []
        for j in problem.near[i]:
            if j in self.left:
                low = floor[i] + problem.closer.get((i, j), problem.sizes[i])
                if low > floor[j]:
                    undo.append((j, floor[j]))
                    floor[j] = -(-low // problem.aligns[j]) * problem.aligns[j]
        return undo

    def take_back(self, i: int, undo: list[tuple[int, int]]) -> None:
        for j, low in undo:
            self.floor[j] = low
        for crowd in self.crowds_of[i]:
            self.rooms[crowd] += self.padded[crowd][i]
        self.left.add(i)

    def fits(self, ground: int) -> bool:
        """Whether those left could still make a layout smaller than the best."""
        problem, floor, sizes = self.problem, self.floor, self.problem.sizes
        least = {}
        for i in self.left:
            least[i] = floor[i]
            if floor[i] < ground:
                # It is too late to put it there: one of those left must come first, and carry it.
                self.meter.left -= len(problem.near[i])
                carriers = [j for j in problem.near[i] if j in self.left]
                if not carriers:
                    return False
                least[i] = min(max(floor[j], ground) + problem.closer.get((j, i), sizes[j]) for j in carriers)
            if least[i] + sizes[i] >= self.size:
                return False
        for crowd, room in zip(self.crowds, self.rooms, strict=True):
            self.meter.left -= len(crowd)
            lows = [least[i] for i in crowd if i in least]
            if lows and min(lows) + room >= self.size:
                return False
        return True


def _apart(problem: ArenaProblem, members: Mapping[int, int]) -> dict[int, int]:
    """Those of a crowd that share no byte in any case: without one side of the pairs that may overlap."""
    sides = []
    for side in (0, 1):
        drop = {pair[side] for pair in problem.overlaps if pair[0] in members and pair[1] in members}
        sides.append({i: size for i, size in members.items() if i not in drop})
    return max(sides, key=lambda rest: sum(rest.values()))
