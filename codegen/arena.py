"""Places buffers in one arena, as tightly as can be found, beside a proven bound for how tight it can get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from edgekit.codegen.arena_search import Problem, solve

# Comparisons of two buffers that one call of `plan` may make: about a second of Python, but the same on
# every machine.
_BUDGET = 4_000_000


@dataclass(frozen=True)
class Buffer:
    """One allocation; views and in-place aliases of it were merged before."""

    name: str
    size: int  # bytes
    first: int  # the first step at which it is live
    last: int  # the last step at which it is live
    align: int = 16

    def __post_init__(self) -> None:
        assert self.size > 0, f"{self.name} has {self.size} bytes"
        assert 0 <= self.first <= self.last, f"{self.name} is live from step {self.first} to step {self.last}"
        assert self.align > 0, f"{self.name} is aligned to {self.align}"


@dataclass(frozen=True)
class Shift:
    """A kernel may write `output` over `input` in the step that both share, when the output starts at least
    `distance` bytes before the input."""

    output: str
    input: str
    distance: int = 0


@dataclass(frozen=True)
class Plan:
    offsets: dict[str, int]
    size: int  # bytes of the arena
    lower_bound: int  # bytes that no placement can do without

    @property
    def optimal(self) -> bool:
        return self.size == self.lower_bound


def plan(buffers: Sequence[Buffer], *, shifts: Sequence[Shift] = (), budget: float = _BUDGET) -> Plan:
    """An offset for every buffer. Buffers that are live at the same step share no byte, but for `shifts`."""
    index = {buffer.name: i for i, buffer in enumerate(buffers)}
    assert len(index) == len(buffers), "two buffers have the same name"
    distances = {(index[shift.output], index[shift.input]): shift.distance for shift in shifts}
    assert len(distances) == len(shifts), "two shifts for the same pair"
    outputs = {output for output, _ in distances}
    for (output, source), distance in distances.items():
        name = buffers[source].name
        assert distance >= 0, f"{name}: negative distance"
        assert buffers[output].first == buffers[source].last, f"{name}: not its last use"
        made_before = source not in outputs or buffers[source].first < buffers[source].last
        assert made_before, f"{name}: input and output of one step"

    problems = [_problem(buffers, members, distances) for members in _groups(buffers)]
    # No group needs less than another group takes in any case: the most demanding ones come first.
    problems.sort(key=lambda problem: -problem.bound)
    size = proven = problems[0].bound if problems else 0
    offsets = [0] * len(buffers)
    for past, problem in enumerate(problems):
        share = budget / (len(problems) - past)
        layout = solve(problem, enough=size, budget=share)
        budget += layout.unspent - share
        size = max(size, layout.size)
        proven = max(proven, layout.proven)
        for member, offset in zip(problem.members, layout.offsets, strict=True):
            offsets[member] = offset
    return Plan({buffer.name: offsets[i] for i, buffer in enumerate(buffers)}, size, proven)


def _groups(buffers: Sequence[Buffer]) -> list[list[int]]:
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
    buffers: Sequence[Buffer], members: list[int], distances: Mapping[tuple[int, int], int]
) -> Problem:
    own = [buffers[i] for i in members]
    number = {member: i for i, member in enumerate(members)}
    shifts = {(number[o], number[i]): d for (o, i), d in distances.items() if o in number}
    near: list[list[int]] = [[] for _ in own]
    together: list[list[int]] = []
    live: list[int] = []
    for i, buffer in enumerate(own):
        rest = [j for j in live if own[j].last >= buffer.first]
        if len(rest) < len(live):
            together.append(live)
        for j in rest:
            near[j].append(i)
        near[i] += rest
        live = [*rest, i]
    together.append(live)
    return Problem(
        members=members,
        sizes=[buffer.size for buffer in own],
        aligns=[buffer.align for buffer in own],
        spans=[buffer.last - buffer.first + 1 for buffer in own],
        near=near,
        together=together,
        closer={pair: distance for pair, distance in shifts.items() if distance < own[pair[0]].size},
        bound=max(_bound(own, live, shifts) for live in together),
    )


def _bound(buffers: Sequence[Buffer], live: Sequence[int], shifts: Mapping[tuple[int, int], int]) -> int:
    """Bytes that the buffers live at one step need at least.

    Buffers whose alignments are multiples of some grain fill whole grains, all but the topmost one. This is
    true of every grain.
    """
    grains = {buffers[i].align for i in live}
    need = 0
    for grain in {*grains, gcd(*grains)}:
        fitting = [i for i in live if buffers[i].align % grain == 0]
        grown = {i: -(-buffers[i].size // grain) for i in fitting}
        padding = max(grown[i] * grain - buffers[i].size for i in fitting)
        pairs = {pair: -(-distance // grain) for pair, distance in shifts.items() if grown.keys() >= {*pair}}
        need = max(need, _grains(grown, pairs) * grain - padding)
    return need


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
