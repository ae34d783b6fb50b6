"""Chooses the order in which tasks run, for the lowest peak of live bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from edgekit.codegen.schedule_search import (
    Graph,
    Meter,
    Name,
    Reuse,
    State,
    improve,
    most_saved,
    set_bits,
    walk,
)

# Task runs that one call of `order` may try: about a second of Python, and the same on every machine.
_BUDGET = 400_000
# With more tasks than this between two cuts, the quadratic bound costs more than the search can gain by it.
_FLOOR_TASKS = 800


@dataclass(frozen=True)
class Task:
    """One step of the program. `inplace` holds positions (output, input): where this is the last use of the
    input, the output may take over its memory, from the same address."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scratch: int = 0
    inplace: tuple[tuple[int, int], ...] = ()


def order(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str] = frozenset(),
    *,
    budget: int = _BUDGET,
) -> list[int]:
    """Indices of `tasks`, which are in topological order, in the order with the lowest peak that was found.

    A name that `sizes` lacks takes no memory. Names in `keep` stay to the end; names that no task makes are
    there from the start. Small and narrow graphs get an optimal order, and no graph a worse one than it had.
    Parts of the given order that do not decide the peak stay as they are.
    """
    graph = _graph(tasks, sizes, keep)
    parts = [range(begin, end) for begin, end in pairwise([*_cuts(graph), len(tasks)])]
    starts = []
    given = []
    state = graph.start()
    for part in parts:
        starts.append(state)
        state = walk(graph, state._replace(peak=state.live, path=None), part)[-1]
        given.append(state.peak)
    # No part needs a lower peak than another part has in any case.
    target = max((_floor(graph, part) for part in parts), default=0)
    meter = Meter(budget)
    better: dict[int, State] = {}
    hard = [i for i, peak in enumerate(given) if peak > target]
    for past, i in enumerate(hard):
        if given[i] > target:
            with meter.share(meter.left // (len(hard) - past)) as share:
                start = starts[i]._replace(peak=target, path=None)
                better[i] = improve(graph, start, parts[i], share)
            target = max(target, better[i].peak)
    result: list[int] = []
    for i, part in enumerate(parts):
        result += better[i].sequence() if i in better and given[i] > target else part
    return result


def peak(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str] = frozenset(),
    sequence: Sequence[int] | None = None,
) -> int:
    """The most bytes that are live at once when the tasks run in this sequence, else in the given one."""
    graph = _graph(tasks, sizes, keep)
    state = graph.start()
    for task in range(len(tasks)) if sequence is None else sequence:
        assert state.ready >> task & 1, f"task {task} runs twice, or before its inputs are there"
        state = graph.run(state, task)
    return state.peak


def _graph(tasks: Sequence[Task], sizes: Mapping[str, int], keep: Collection[str]) -> Graph:
    maker: dict[str, int] = {}
    users: dict[str, int] = {}
    for i, task in enumerate(tasks):
        for name in task.inputs:
            users[name] = users.get(name, 0) | 1 << i
        for name in task.outputs:
            assert name not in maker, f"{name} is made twice"
            assert name not in users, f"{name} is read before it is made"
            maker[name] = i
    names = {
        name: Name(size, 1 << maker[name] if name in maker else 0, users.get(name, 0), name in keep)
        for name in dict.fromkeys([*maker, *users])
        if (size := sizes.get(name, 0)) > 0
    }
    graph = Graph(list(names.values()))
    for task in tasks:
        inputs = [names[name] for name in dict.fromkeys(task.inputs) if name in names]
        outputs = [names[name] for name in task.outputs if name in names]
        reuses = []
        for output, position in task.inplace:
            out, source = names.get(task.outputs[output]), names.get(task.inputs[position])
            if out and source and not source.kept:
                reuses.append(Reuse(out, source, min(out.size, source.size)))
        graph.add(
            {maker[name] for name in task.inputs if name in maker}, inputs, outputs, task.scratch, reuses
        )
    return graph


def _cuts(graph: Graph) -> list[int]:
    """Indices k such that tasks 0..k-1 come first in every order: between them lie separate problems."""
    before: list[int] = []
    for needs in graph.needs:
        before.append(needs)
        for i in set_bits(needs):
            before[-1] |= before[i]
    cuts = []
    common = -1  # tasks that everything from k on needs
    for k in reversed(range(len(before))):
        common &= before[k]
        if not ((1 << k) - 1) & ~common:
            cuts.append(k)
    return cuts[::-1]


def _floor(graph: Graph, part: range) -> int:
    """Bytes that no order of this part can avoid. Each task needs room for what it makes, and for all that is
    made before it in every order and wanted by itself or by a task that is after it in every order."""
    if len(part) > _FLOOR_TASKS:
        return 0
    begin, end = part.start, part.stop
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for i in part:
        before[i] = graph.needs[i] | (1 << begin) - 1
        for j in set_bits(graph.needs[i] >> begin):
            before[i] |= before[begin + j]
    for i in reversed(part):
        after[i] = -1 << end | 1 << i
        for j in graph.followers[i]:
            if j < end:
                after[i] |= after[j]
    names = [name for name in graph.names if name.maker < 1 << end and (name.kept or name.users >> begin)]
    return max(
        sum(
            name.size
            for name in names
            if not name.maker & ~before[i] and (name.kept or name.users & after[i])
        )
        + graph.new[i]
        - most_saved(graph.reuses[i])
        for i in part
    )
