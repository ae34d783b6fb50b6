"""Chooses the order in which tasks run, for the lowest peak of live bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from edgekit.codegen.memory.schedule_problem import ScheduleProblem, problem
from edgekit.codegen.memory.schedule_problem import Task as Task
from edgekit.codegen.memory.schedule_search import (
    SearchBlock,
    SearchBudget,
    TaskGraph,
    improve,
    most_saved,
    set_bits,
)
from edgekit.codegen.memory.schedule_windows import improve_windows

# Task runs that one call of `order` may try: about a second of Python, and the same on every machine.
_BUDGET = 400_000
# With more tasks than this between two cuts, the quadratic bound costs more than the search can gain by it.
_FLOOR_TASKS = 800
# With more tasks than this between two cuts, only windows of them are searched: sets of tasks are the bits of
# an int, which each task run of a search copies.
_SEARCH_TASKS = 4096
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class ScheduleResult:
    """An order of tasks."""

    sequence: list[int]
    runs: int  # of tasks that the search tried
    stopped: bool  # by its budget: another order may have a lower peak


def order(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str] = frozenset(),
    *,
    within: Mapping[str, str] = _NOTHING,
    budget: int | None = None,
) -> list[int]:
    """Indices of `tasks`, which are in topological order, in the order with the lowest peak that was found.

    A name that `sizes` lacks takes no memory. Names in `keep` stay to the end; names that no task makes are
    there from the start. `within` says which names lie inside another's memory, as views do, and the parts of
    something that is joined: that memory is there from the first of these names on until the last has gone.
    Small and narrow graphs get an optimal order, and no graph a worse one than it had. Parts of the given
    order that do not decide the peak stay as they are.
    """
    return search(tasks, sizes, keep, within=within, budget=budget).sequence


def search(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str] = frozenset(),
    *,
    within: Mapping[str, str] = _NOTHING,
    budget: int | None = None,
) -> ScheduleResult:
    """What `order` returns, and how it was found."""
    budget = _BUDGET if budget is None else budget
    given = problem(tasks, sizes, keep, within)
    sequence = list(range(len(tasks)))
    lives, peaks = given.simulate(sequence)
    parts = given.cut()
    peak_of = [max(lives[part.start], *peaks[part.start : part.stop]) for part in parts]
    # No part needs a lower peak than another part has in any case.
    floors = (_floor(given, part, bytes) for part, bytes in zip(parts, given.passing(parts), strict=True))
    target = max(floors, default=0)
    meter = SearchBudget(budget)
    better: dict[int, tuple[int, list[int], bool]] = {}
    hard = [i for i, peak in enumerate(peak_of) if peak > target]
    for past, i in enumerate(hard):
        if peak_of[i] > target:
            with meter.share(meter.left // (len(hard) - past)) as share:
                best = _improved(given, parts[i], lives[parts[i].start], target, share)
                better[i] = (*best, share.stopped)
            target = max(target, better[i][0])
    stopped = False
    for i, (reached, found, ended) in better.items():
        stopped |= ended and reached >= target
        if peak_of[i] > target:
            sequence[parts[i].start : parts[i].stop] = found
    return ScheduleResult(sequence, budget - meter.left, stopped)


def _improved(
    given: ScheduleProblem, part: range, live: int, target: int, meter: SearchBudget
) -> tuple[int, list[int]]:
    """The best peak and order found for a part. Peaks up to `target` are equally good."""
    if len(part) > _SEARCH_TASKS:
        return improve_windows(given, part, target, meter)
    graph = given.graph(range(part.stop), part.start, part.stop)
    end = improve(graph, graph.start(live, target), range(len(part)), meter)
    return end.peak, [part.start + task for task in end.sequence()]


def peak(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str] = frozenset(),
    sequence: Sequence[int] | None = None,
    *,
    within: Mapping[str, str] = _NOTHING,
) -> int:
    """The most bytes that are live at once when the tasks run in this sequence, else in the given one."""
    given = problem(tasks, sizes, keep, within)
    sequence = range(len(tasks)) if sequence is None else sequence
    ran: set[int] = set()
    for task in sequence:
        ready = task not in ran and ran.issuperset(given.needs[task])
        assert ready, f"task {task} runs twice, or before its inputs are there"
        ran.add(task)
    lives, peaks = given.simulate(sequence)
    return max(lives[0], *peaks) if peaks else lives[0]


def _floor(given: ScheduleProblem, part: range, passing: int) -> int:
    """Bytes that no order of this part can avoid. Each task needs room for what it makes, and for all that is
    made before it in every order and wanted by itself or by a task that is after it in every order."""
    if len(part) > _FLOOR_TASKS:
        return 0
    graph = given.graph(range(part.stop), part.start, part.stop)
    return passing + _bound(graph)


def _bound(graph: TaskGraph) -> int:
    """The same of a graph of its own."""
    count = len(graph.needs)
    before: list[int] = []
    for needs in graph.needs:
        before.append(needs)
        for j in set_bits(needs):
            before[-1] |= before[j]
    after = [-1 << count | 1 << i for i in range(count)]
    for i in reversed(range(count)):
        for j in graph.followers[i]:
            after[i] |= after[j]

    def there(name: SearchBlock, i: int) -> bool:
        """Is it there when task i runs, whatever the order? What is made by task i alone is not counted."""
        sure = not name.maker or name.maker & (before[i] | (1 << i if name.shared else 0)) != 0
        return sure and (name.kept or name.users & after[i] != 0)

    return max(
        sum(name.size for name in graph.names if there(name, i)) + graph.new[i] - most_saved(graph.reuses[i])
        for i in range(count)
    )
