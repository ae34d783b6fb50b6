"""Chooses the order in which tasks run, for the lowest peak of live bytes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

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
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Task:
    """One step of the program. `over` holds positions and bytes (output, input, distance): where this is the
    last use of the input, the output may lie over it if it starts so far before it; in place, that is 0."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scratch: int = 0
    over: tuple[tuple[int, int, int], ...] = ()


def order(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str] = frozenset(),
    *,
    within: Mapping[str, str] = _NOTHING,
    budget: int = _BUDGET,
) -> list[int]:
    """Indices of `tasks`, which are in topological order, in the order with the lowest peak that was found.

    A name that `sizes` lacks takes no memory. Names in `keep` stay to the end; names that no task makes are
    there from the start. `within` says which names lie inside another's memory, as views do, and the parts of
    something that is joined: that memory is there from the first of these names on until the last has gone.
    Small and narrow graphs get an optimal order, and no graph a worse one than it had. Parts of the given
    order that do not decide the peak stay as they are.
    """
    graph = _graph(tasks, sizes, keep, within)
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
    *,
    within: Mapping[str, str] = _NOTHING,
) -> int:
    """The most bytes that are live at once when the tasks run in this sequence, else in the given one."""
    graph = _graph(tasks, sizes, keep, within)
    state = graph.start()
    for task in range(len(tasks)) if sequence is None else sequence:
        assert state.ready >> task & 1, f"task {task} runs twice, or before its inputs are there"
        state = graph.run(state, task)
    return state.peak


def _graph(
    tasks: Sequence[Task], sizes: Mapping[str, int], keep: Collection[str], within: Mapping[str, str]
) -> Graph:
    def root_of(name: str) -> str:
        return within.get(name, name)

    maker: dict[str, int] = {}
    read: set[str] = set()
    for i, task in enumerate(tasks):
        read.update(task.inputs)
        for name in task.outputs:
            assert name not in maker, f"{name} is made twice"
            assert name not in read, f"{name} is read before it is made"
            maker[name] = i
    needs = [{maker[name] for name in task.inputs if name in maker} for task in tasks]
    names = _memory(tasks, sizes, {root_of(name) for name in keep}, within, maker, _ancestors(needs))
    graph = Graph(list(names.values()))
    for i, task in enumerate(tasks):
        inputs = {root: names[root] for root in map(root_of, task.inputs) if root in names}
        outputs = {root: names[root] for root in map(root_of, task.outputs) if root in names}
        own = {root: name for root, name in outputs.items() if name.maker == 1 << i}
        shared = {root: name for root, name in outputs.items() if name.shared and name.maker >> i & 1}
        reuses = []
        for output, position, distance in task.over:
            out, source = own.get(task.outputs[output]), inputs.get(root_of(task.inputs[position]))
            if out and source and not source.kept and distance < out.size:
                reuses.append(Reuse(out, source, min(out.size - distance, source.size)))
        used = (inputs | shared).values()
        graph.add(needs[i], used, own.values(), shared.values(), task.scratch, reuses)
    return graph


def _memory(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str],
    within: Mapping[str, str],
    maker: Mapping[str, int],
    before: Sequence[int],
) -> dict[str, Name]:
    """Everything that takes memory: who makes it or something inside it, and who uses it."""
    makers: dict[str, int] = {}
    users: dict[str, int] = {}
    for i, task in enumerate(tasks):
        for names, sets in ((task.inputs, users), (task.outputs, makers)):
            for root in (within.get(name, name) for name in names):
                sets[root] = sets.get(root, 0) | 1 << i
    found: dict[str, Name] = {}
    for root in dict.fromkeys([*makers, *users]):
        if sizes.get(root, 0) <= 0:
            continue
        made = 0
        if root in maker:
            # Who makes a view, or joins what is there, comes after somebody who made the memory.
            made = sum(1 << i for i in set_bits(makers[root]) if not before[i] & makers[root])
        used = users.get(root, 0)
        name = Name(sizes[root], made, used, root in keep)
        found[root] = name._replace(users=used | made) if name.shared else name
    return found


def _ancestors(needs: Sequence[Collection[int]]) -> list[int]:
    """The tasks that come before each task in every order."""
    before: list[int] = []
    for direct in needs:
        before.append(0)
        for i in direct:
            before[-1] |= before[i] | 1 << i
    return before


def _cuts(graph: Graph) -> list[int]:
    """Indices k such that tasks 0..k-1 come first in every order: between them lie separate problems."""
    before = _ancestors([[*set_bits(needs)] for needs in graph.needs])
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
    earlier = (1 << end) - 1
    names = [
        name
        for name in graph.names
        if (not name.maker or name.maker & earlier) and (name.kept or name.users >> begin)
    ]

    def there(name: Name, i: int) -> bool:
        """Is it there when task i runs, whatever the order? What is made by task i alone is not counted."""
        sure = not name.maker or name.maker & (before[i] | (1 << i if name.shared else 0)) != 0
        return sure and (name.kept or name.users & after[i] != 0)

    return max(
        sum(name.size for name in names if there(name, i)) + graph.new[i] - most_saved(graph.reuses[i])
        for i in part
    )
