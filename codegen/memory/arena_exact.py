"""Branch and bound over offsets for buffers, and the bounds that it proves with a few buffers at a time."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, inf

from edgekit.codegen.memory.arena_fit import greedy
from edgekit.codegen.memory.arena_problem import ArenaBound, ArenaProblem, SearchBudget, size_of

# Branch and bound ends in good time up to about a dozen buffers, or where the bound is tight.
EXACT_BUFFERS = 32
# Steps of a window at most, comparisons for each, and the share of a budget that all of them may take.
_MAX_WINDOW = 4
_WINDOW_BUDGET = 20_000
_WINDOWS_SHARE = 0.25


def proven_by_windows(
    problem: ArenaProblem, size: int, enough: int, meter: SearchBudget
) -> ArenaBound | None:
    """Bytes that no layout can do without, where those are more than `enough`: what the buffers need that are
    live at a few steps in a row. One such window often has all that keeps a layout from being smaller."""
    found, least, stop = None, enough, meter.left * (1 - _WINDOWS_SHARE)
    for width in range(2, min(_MAX_WINDOW, len(problem.together)) + 1):
        for start in range(len(problem.together) - width + 1):
            if least >= size or meter.left <= stop:
                return found
            end = start + width
            buffers = sorted(set().union(*problem.together[start:end]))
            meter.left -= len(buffers)
            if len(buffers) > EXACT_BUFFERS:
                continue
            window = problem.window(start, end, buffers)
            first = min(greedy(window, least, meter), key=lambda offsets: size_of(window, offsets))
            exact = ExactSearch(window, first, least, meter)
            ended = exact.size > least and exact.descend(0, -1, max(meter.left - _WINDOW_BUDGET, stop))
            if ended and exact.size > least:
                least = exact.size
                found = ArenaBound(least, window.steps[0], window.steps[-1])
    return found


class ExactSearch:
    """Branch and bound.

    In the smallest layout with the lowest sum of offsets, no buffer fits lower down while all others stay.
    Sorted by offset, each therefore lies on one before it, or on the ground. So buffers are placed in the
    order of their offsets, each as low as those placed before allow.
    """

    def __init__(self, problem: ArenaProblem, best: list[int], enough: int, meter: SearchBudget) -> None:
        self.problem = problem
        self.best = best
        self.size = size_of(problem, best)
        self.enough = enough
        self.meter = meter
        count = len(best)
        self.offsets = [0] * count
        self.floor = [0] * count  # how low each buffer can go, on top of those placed before
        self.left = set(range(count))
        self.least: list[float] = [inf] * count  # how low each can go that is left, as `fits` found it
        near, sizes, aligns, closer = problem.near, problem.sizes, problem.aligns, problem.closer
        # How far each comes to lie above another one, and the other one's alignment; and below.
        self.above = [[(j, closer.get((i, j), sizes[i]), aligns[j]) for j in near[i]] for i in range(count)]
        self.below = [[(j, closer.get((j, i), sizes[j])) for j in near[i]] for i in range(count)]
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
            self.size = size_of(self.problem, self.best)
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
        floor, left = self.floor, self.left
        self.meter.left -= len(self.problem.near[i])
        self.offsets[i] = ground = floor[i]
        left.remove(i)
        self.least[i] = inf
        for crowd in self.crowds_of[i]:
            self.rooms[crowd] -= self.padded[crowd][i]
        undo = []
        for j, distance, align in self.above[i]:
            if j in left:
                low = ground + distance
                if low > floor[j]:
                    undo.append((j, floor[j]))
                    floor[j] = -(-low // align) * align
        return undo

    def take_back(self, i: int, undo: list[tuple[int, int]]) -> None:
        for j, low in undo:
            self.floor[j] = low
        for crowd in self.crowds_of[i]:
            self.rooms[crowd] += self.padded[crowd][i]
        self.left.add(i)

    def fits(self, ground: int) -> bool:
        """Whether those left could still make a layout smaller than the best."""
        near, sizes = self.problem.near, self.problem.sizes
        floor, left, least = self.floor, self.left, self.least
        for i in left:
            low = floor[i]
            if low < ground:
                # It is too late to put it there: one of those left must come first, and carry it.
                self.meter.left -= len(near[i])
                carried = [max(floor[j], ground) + distance for j, distance in self.below[i] if j in left]
                if not carried:
                    return False
                low = min(carried)
            if low + sizes[i] >= self.size:
                return False
            least[i] = low
        lowest = least.__getitem__
        for crowd, room in zip(self.crowds, self.rooms, strict=True):
            self.meter.left -= len(crowd)
            # None of the crowd is left where this is infinite.
            if crowd and self.size <= min(map(lowest, crowd)) + room < inf:
                return False
        return True


def _apart(problem: ArenaProblem, members: Mapping[int, int]) -> dict[int, int]:
    """Those of a crowd that share no byte in any case: without one side of the pairs that may overlap."""
    sides = []
    for side in (0, 1):
        drop = {pair[side] for pair in problem.overlaps if pair[0] in members and pair[1] in members}
        sides.append({i: size for i, size in members.items() if i not in drop})
    return max(sides, key=lambda rest: sum(rest.values()))
