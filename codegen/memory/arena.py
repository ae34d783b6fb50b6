"""Places buffers in one arena, as tightly as can be found, beside a proven bound for how tight it can get."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from math import gcd, inf

from edgekit.codegen.memory.arena_problem import ArenaProblem
from edgekit.codegen.memory.arena_search import ArenaLayout, solve
from edgekit.codegen.memory.arena_sweep import sweep
from edgekit.codegen.planned_once import planned

# Comparisons of two buffers that one call of `plan` may make: about a second of Python, but the same on
# every machine.
BUDGET = 4_000_000
# With more pairs of buffers that are live at once, they are placed in one sweep, without comparing pairs.
MAX_PAIRS = 500_000


@dataclass(frozen=True)
class ArenaBuffer:
    """One allocation; views and in-place aliases of it were merged before."""

    name: str
    size: int  # bytes, the most that it has
    first: int  # the first step at which it is live
    last: int  # the last step at which it is live
    align: int = 16
    # Steps from which on its first so many bytes are in use, and the others free: where a smaller result has
    # taken over a larger input, or not all parts of something that is joined are there yet.
    uses: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        assert self.size > 0, f"{self.name} has {self.size} bytes"
        assert 0 <= self.first <= self.last, f"{self.name} is live from step {self.first} to step {self.last}"
        assert self.align > 0, f"{self.name} is aligned to {self.align}"
        steps = [self.first - 1, *(step for step, _ in self.uses), self.last + 1]
        assert all(a < b for a, b in pairwise(steps)), f"{self.name} is used from steps {steps[1:-1]} on"
        assert all(0 < used <= self.size for _, used in self.uses), f"{self.name}: {self.uses} of {self.size}"

    def used(self, first: int, last: int) -> int:
        """The most bytes in use at a step from `first` to `last`, at all of which it is live."""
        if not self.uses:
            return self.size
        start, end = bisect_right(self.steps, first), bisect_right(self.steps, last)
        most = max((used for _, used in self.uses[max(start - 1, 0) : end]), default=0)
        return max(most, self.size) if start == 0 else most

    @cached_property
    def steps(self) -> list[int]:
        """The steps of `uses`."""
        return [step for step, _ in self.uses]


@dataclass(frozen=True)
class InplaceShift:
    """A kernel may write `output` over `input` in the step that both share, or a loop in all of its steps,
    when the output starts at least `distance` bytes before the input."""

    output: str
    input: str
    distance: int = 0
    is_loop: bool = False


@dataclass(frozen=True)
class ArenaPlan:
    offsets: dict[str, int]
    size: int  # bytes of the arena
    lower_bound: int  # bytes that no placement can do without
    compared: int = field(default=0, compare=False)  # pairs of buffers that the search looked at

    @property
    def optimal(self) -> bool:
        return self.size == self.lower_bound


def plan(
    buffers: Sequence[ArenaBuffer],
    *,
    shifts: Sequence[InplaceShift] = (),
    budget: float | None = None,
    limit: float = inf,
) -> ArenaPlan:
    """An offset for every buffer. Buffers share no byte that both use at the same step, but for `shifts`. Any
    plan will do where they need more than `limit` bytes."""
    budget = BUDGET if budget is None else budget
    problems = _problems(buffers, shifts)
    # No group needs less than another group takes in any case: the most demanding ones come first.
    problems.sort(key=lambda problem: -problem.bound)
    proven = size = problems[0].bound if problems else 0
    offsets = [0] * len(buffers)
    left = budget
    for past, problem in enumerate(problems):
        share = left / (len(problems) - past)
        if isinstance(problem, ArenaProblem):
            layout = _solved(_Search(_content(problem), size, share, limit, problem))
        else:
            layout = sweep([buffers[i] for i in problem.members], problem.bound, share)
        left += min(layout.unspent, share) - share
        size = max(size, layout.size)
        proven = max(proven, layout.proven)
        for member, offset in zip(problem.members, layout.offsets, strict=True):
            offsets[member] = offset
    found = {buffer.name: offsets[i] for i, buffer in enumerate(buffers)}
    planned().spend(budget - left)
    return ArenaPlan(found, size, proven, int(budget - left))


@dataclass(frozen=True)
class _Search:
    """What a search depends on. One model is planned again and again: with small weights or not, for another
    target, for each package."""

    content: tuple[object, ...]
    enough: int
    budget: float
    limit: float
    problem: ArenaProblem = field(compare=False)


def _content(problem: ArenaProblem) -> tuple[object, ...]:
    """All of a problem but the numbers that the caller gave the buffers."""
    return (
        *(tuple(entries) for entries in (problem.sizes, problem.aligns, problem.spans)),
        tuple(tuple(others) for others in problem.near),
        tuple(tuple(crowd.items()) for crowd in problem.together),
        tuple(problem.closer.items()),
        problem.bound,
    )


@lru_cache(maxsize=256)
def _solved(search: _Search) -> ArenaLayout:
    return solve(search.problem, search.enough, search.budget, search.limit)


def crowded(buffers: Sequence[ArenaBuffer], shifts: Sequence[InplaceShift] = ()) -> int:
    """Bytes that what is in use at one step needs at least: no plan needs less, and some need more."""
    return max((problem.bound for problem in _problems(buffers, shifts)), default=0)


@dataclass(frozen=True)
class _CrowdedBuffers:
    """Buffers of which too many are live at once to compare each with each."""

    members: list[int]
    bound: int


def _problems(
    buffers: Sequence[ArenaBuffer], shifts: Sequence[InplaceShift]
) -> list[ArenaProblem | _CrowdedBuffers]:
    """Parts that can be solved one by one, for they share no step."""
    index = {buffer.name: i for i, buffer in enumerate(buffers)}
    assert len(index) == len(buffers), "two buffers have the same name"
    assert len({(shift.output, shift.input) for shift in shifts}) == len(shifts), (
        "two shifts for the same pair"
    )
    outputs = {shift.output for shift in shifts}
    over: dict[int, dict[tuple[int, int], int]] = {}
    for shift in shifts:
        output, source, name = index[shift.output], index[shift.input], shift.input
        assert shift.distance >= 0, f"{name}: negative distance"
        first, last = buffers[output].first, buffers[source].last
        assert first <= last if shift.is_loop else first == last, f"{name}: not its last use"
        made_before = name not in outputs or buffers[source].first < last
        assert made_before, f"{name}: input and output of one step"
        over.setdefault(output, {})[output, source] = shift.distance
    found: list[ArenaProblem | _CrowdedBuffers] = []
    for members in _groups(buffers):
        own = {pair: distance for i in members if i in over for pair, distance in over[i].items()}
        if _pairs([buffers[i] for i in members]) > MAX_PAIRS:
            number = {member: i for i, member in enumerate(members)}
            named = {(number[o], number[i]): distance for (o, i), distance in own.items()}
            crowd = [buffers[i] for i in members]
            found.append(_CrowdedBuffers(members, _bound_of_sums(crowd, named)))
        else:
            found.append(_problem(buffers, members, own))
    return found


def _pairs(buffers: Sequence[ArenaBuffer]) -> int:
    """How many entries the lists of a problem would have: for each buffer those that are live at its first
    step, and for each step at which something changes those that are live then."""
    steps = sorted({step for buffer in buffers for step in (buffer.first, *buffer.steps)})
    firsts = sorted(buffer.first for buffer in buffers)
    lasts = sorted(buffer.last for buffer in buffers)
    return sum(bisect_right(firsts, step) - bisect_left(lasts, step) for step in (*steps, *firsts))


def _groups(buffers: Sequence[ArenaBuffer]) -> list[list[int]]:
    """Buffers in the order of their first step, parted where all those before have ended."""
    groups: list[list[int]] = []
    end = -1
    for i in sorted(range(len(buffers)), key=lambda i: buffers[i].first):
        if buffers[i].first > end:
            groups.append([])
        groups[-1].append(i)
        end = max(end, buffers[i].last)
    return groups


def _problem(
    buffers: Sequence[ArenaBuffer], members: list[int], distances: Mapping[tuple[int, int], int]
) -> ArenaProblem:
    own = [buffers[i] for i in members]
    number = {member: i for i, member in enumerate(members)}
    shifts = {(number[o], number[i]): d for (o, i), d in distances.items()}
    over: dict[int, list[tuple[int, int]]] = {}
    for pair in shifts:
        over.setdefault(pair[0], []).append(pair)
    near: list[list[int]] = [[] for _ in own]
    closer: dict[tuple[int, int], int] = {}
    live: list[int] = []
    for i, buffer in enumerate(own):
        live = [j for j in live if own[j].last >= buffer.first]
        for j in live:
            near[j].append(i)
            for lower, upper in ((i, j), (j, i)):
                if own[lower].uses:
                    closer[lower, upper] = own[lower].used(buffer.first, min(buffer.last, own[j].last))
        near[i] += live
        live.append(i)
    for pair, distance in shifts.items():
        closer[pair] = min(distance, closer.get(pair, distance))
    crowds = _crowds(own)

    def bound(live: Mapping[int, int]) -> int:
        pairs = {pair: shifts[pair] for i in live for pair in over.get(i, ()) if pair[1] in live}
        return _bound(own, live, pairs)

    return ArenaProblem(
        members=members,
        sizes=[buffer.size for buffer in own],
        aligns=[buffer.align for buffer in own],
        spans=[buffer.last - buffer.first + 1 for buffer in own],
        near=near,
        together=crowds,
        closer={pair: distance for pair, distance in closer.items() if distance < own[pair[0]].size},
        bound=max(map(bound, crowds)),
    )


def _crowds(buffers: Sequence[ArenaBuffer]) -> list[dict[int, int]]:
    """What is in use at each step, in bytes of each buffer, but where that is part of what is in use at the
    step before or behind."""
    steps = {step for buffer in buffers for step in (buffer.first, *(step for step, _ in buffer.uses))}
    crowds: list[dict[int, int]] = []
    before: dict[int, int] = {}
    live: list[int] = []
    coming = 0
    for step in sorted(steps):
        live = [i for i in live if buffers[i].last >= step]
        while coming < len(buffers) and buffers[coming].first <= step:
            live.append(coming)
            coming += 1
        crowd = {i: buffers[i].used(step, step) for i in live}
        if _covers(before, crowd):
            continue
        if crowds and _covers(crowd, before):
            crowds.pop()
        crowds.append(before := crowd)
    return crowds


def _covers(crowd: Mapping[int, int], other: Mapping[int, int]) -> bool:
    """Does each of the other crowd have at least as many bytes in this one?"""
    return crowd.keys() >= other.keys() and all(size <= crowd[i] for i, size in other.items())


def _bound(
    buffers: Sequence[ArenaBuffer], live: Mapping[int, int], shifts: Mapping[tuple[int, int], int]
) -> int:
    """Bytes that buffers need at least at a step at which so many of each are in use.

    Buffers whose alignments are multiples of some grain fill whole grains, all but the topmost one. This is
    true of every grain.
    """
    grains = {buffers[i].align for i in live}
    need = 0
    for grain in {*grains, gcd(*grains)}:
        fitting = [i for i in live if buffers[i].align % grain == 0]
        grown = {i: -(-live[i] // grain) for i in fitting}
        padding = max(grown[i] * grain - live[i] for i in fitting)
        pairs = {pair: -(-d // grain) for pair, d in shifts.items() if pair[0] in grown and pair[1] in grown}
        need = max(need, _grains(grown, pairs) * grain - padding)
    return need


def _bound_of_sums(buffers: Sequence[ArenaBuffer], shifts: Mapping[tuple[int, int], int]) -> int:
    """Bytes that buffers need at least, from what is in use at each step alone."""
    grain = gcd(*(buffer.align for buffer in buffers))
    changes: dict[int, int] = {}
    padding = 0
    for buffer in buffers:
        level = 0
        for step, used in ((buffer.first, buffer.size), *buffer.uses, (buffer.last + 1, 0)):
            grains = -(-used // grain)
            padding = max(padding, grains * grain - used)
            changes[step] = changes.get(step, 0) + grains - level
            level = grains
    overlapping: dict[int, dict[tuple[int, int], int]] = {}
    for pair, distance in shifts.items():
        overlapping.setdefault(buffers[pair[0]].first, {})[pair] = -(-distance // grain)
    need = live = 0
    for step in sorted(changes):
        live += changes[step]
        pairs = overlapping.get(step, {})
        sizes = {i: -(-buffers[i].used(step, step) // grain) for pair in pairs for i in pair}
        need = max(need, live + _grains(sizes, pairs) - sum(sizes.values()))
    return need * grain - padding


def _grains(sizes: Mapping[int, int], shifts: Mapping[tuple[int, int], int]) -> int:
    """Grains that the buffers cover at least, where some outputs may lie over some inputs.

    Outputs do not meet, nor do inputs. An output that lies over inputs begins at least the distance before
    the lowest of them, and there it meets no input.
    """
    total = sum(sizes.values())
    for pairs in _connected(shifts):
        outputs = sum(sizes[i] for i in {output for output, _ in pairs})
        inputs = sum(sizes[i] for i in {source for _, source in pairs})
        ahead = min(min(distance, sizes[output]) for (output, _), distance in pairs.items())
        total += max(outputs, inputs + ahead) - outputs - inputs
    return total


def _connected(shifts: Mapping[tuple[int, int], int]) -> list[dict[tuple[int, int], int]]:
    """The pairs parted into sets that have no buffer in common."""
    parts: list[dict[tuple[int, int], int]] = []
    for pair, distance in shifts.items():
        touching = [part for part in parts if any({*pair} & {*other} for other in part)]
        parts = [part for part in parts if part not in touching]
        parts.append({pair: distance} | {k: v for part in touching for k, v in part.items()})
    return parts
