"""Tasks as the scheduler sees them: the memory that each makes and uses, and parts that are ordered apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from edgekit.codegen.memory.schedule_search import OutputReuse, SearchBlock, TaskGraph, most_saved

# Edges that may be followed to find out who makes memory first: a second of Python.
_MAX_REACH_STEPS = 2_000_000


@dataclass(frozen=True)
class Task:
    """One step of the program. `over` holds positions and bytes (output, input, distance): where this is the
    last use of the input, the output may lie over it if it starts so far before it; in place, that is 0."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    scratch: int = 0
    over: tuple[tuple[int, int, int], ...] = ()


@dataclass
class ScheduleBlock:
    """Something that takes memory, of one tensor or of several that share it."""

    size: int
    kept: bool
    makers: list[
        int
    ]  # who may come first of those that make a part of it; empty where it is there at the start
    users: int  # tasks that use it
    first: int  # position of the first maker; -1 where there is none
    last: int  # position of the last user; -1 where there is none

    @property
    def shared(self) -> bool:
        """Do several tasks make parts of it? It is there from the first of them on."""
        return len(self.makers) > 1


@dataclass(frozen=True)
class ScheduleProblem:
    """Tasks and blocks as numbers. Lists have one entry per task, except `blocks`."""

    blocks: list[ScheduleBlock]
    needs: list[list[int]]  # the tasks that it reads from
    followers: list[list[int]]  # the tasks that read from it
    own: list[list[int]]  # blocks that it makes alone
    parts: list[list[int]]  # blocks of which it makes a part
    used: list[list[int]]  # blocks that it needs: those that it reads, and `parts`
    scratch: list[int]
    reuses: list[list[tuple[int, int, int]]]  # which block may lie over which, and what that saves

    def simulate(self, sequence: Sequence[int]) -> tuple[list[int], list[int]]:
        """The bytes that are live before each task of the sequence, and at the end; and the peak at each."""
        blocks = self.blocks
        left = [block.users for block in blocks]
        there = [not block.makers for block in blocks]
        live = sum(block.size for block in blocks if not block.makers)
        lives, peaks = [live], []
        for task in sequence:
            new, live, dying = self._changes(task, live, left, there)
            saved = [r for r in self.reuses[task] if r[1] in dying]
            peaks.append(lives[-1] + new - _most_saved(saved))
            lives.append(live)
        return lives, peaks

    def _changes(self, task: int, live: int, left: list[int], there: list[bool]) -> tuple[int, int, set[int]]:
        """What a task needs beyond what is live, what is live after it, and which blocks it uses last."""
        blocks = self.blocks
        new = self.scratch[task]
        for b in self.own[task]:
            new += blocks[b].size
            live += blocks[b].size if blocks[b].users or blocks[b].kept else 0
        for b in self.parts[task]:
            if not there[b]:
                there[b] = True
                new += blocks[b].size
                live += blocks[b].size
        dying = set()
        for b in self.used[task]:
            left[b] -= 1
            if not left[b] and not blocks[b].kept:
                dying.add(b)
                live -= blocks[b].size
        return new, live, dying

    def place(self, sequence: Sequence[int], positions: range) -> None:
        """Let `first` and `last` of the blocks that tasks at these positions make or use refer to a sequence.
        Other tasks lie where they did: the positions are all, or tasks that changed places."""
        firsts: dict[int, int] = {}
        lasts: dict[int, int] = {}
        for at in positions:
            for b in (*self.own[sequence[at]], *self.parts[sequence[at]]):
                firsts.setdefault(b, at)
            for b in self.used[sequence[at]]:
                lasts[b] = at
        for b, at in firsts.items():
            if self.blocks[b].first in positions:
                self.blocks[b].first = at
        for b, at in lasts.items():
            if self.blocks[b].last in positions:
                self.blocks[b].last = at

    def cut(self) -> list[range]:
        """Parts of the tasks that come one after the other in every order.

        All tasks before k come before all others if each that ends what is before k is needed by each that
        starts what is left: every one of these pairs must be an edge.
        """
        count = len(self.needs)
        if not count:
            return []
        ends, starts, edges = ([0] * (count + 2) for _ in range(3))

        def add(counts: list[int], first: int, last: int) -> None:
            counts[first] += 1
            counts[last + 1] -= 1

        until = [followers[0] if followers else count for followers in self.followers]
        since = [needs[-1] if needs else -1 for needs in self.needs]
        for i in range(count):
            add(ends, i + 1, until[i])
            add(starts, since[i] + 1, i)
            for j in self.followers[i]:
                if since[j] < until[i]:
                    add(edges, since[j] + 1, until[i])
        pairs = zip(*map(accumulate, (ends, starts, edges)), strict=True)
        cuts = [k for k, (end, start, edge) in enumerate(pairs) if k < count and edge == end * start]
        return [range(a, b) for a, b in zip(cuts, [*cuts[1:], count], strict=True)]

    def graph(self, sequence: Sequence[int], begin: int, end: int) -> TaskGraph:
        """Tasks of a sequence from one position to another, which the `first` and `last` of blocks refer to,
        as numbers from 0. What is used behind them has one more user."""
        number = {task: i for i, task in enumerate(sequence[begin:end])}
        makers: dict[int, int] = {}
        users: dict[int, int] = {}
        for task, i in number.items():
            for b in (*self.own[task], *self.parts[task]):
                makers[b] = makers.get(b, 0) | 1 << i
            for b in self.used[task]:
                users[b] = users.get(b, 0) | 1 << i
        names = {}
        for b in makers | users:
            block = self.blocks[b]
            made = 0 if block.first < begin else makers.get(b, 0)
            later = 1 << len(number) if block.last >= end else 0
            names[b] = SearchBlock(block.size, made, users.get(b, 0) | later, block.kept, block.shared)
        graph = TaskGraph(list(names.values()))
        for task in number:
            graph.add(
                [number[i] for i in self.needs[task] if i in number],
                [names[b] for b in self.used[task]],
                [names[b] for b in self.own[task]],
                [names[b] for b in self.parts[task] if names[b].maker],
                self.scratch[task],
                [OutputReuse(names[out], names[source], saved) for out, source, saved in self.reuses[task]],
            )
        return graph

    def passing(self, parts: Sequence[range]) -> list[int]:
        """Bytes that are live during each part, whatever the order, and that no task of it makes or uses."""
        part_of = [p for p, part in enumerate(parts) for _ in part]
        changes = [0] * (len(parts) + 1)
        spans = []
        for block in self.blocks:
            first = part_of[block.first] if block.first >= 0 else -1
            last = len(parts) if block.kept else part_of[block.last] if block.last >= 0 else first
            spans.append((first, last))
            if first + 1 < last:
                changes[first + 1] += block.size
                changes[last] -= block.size
        passing = list(accumulate(changes[:-1]))
        for p, part in enumerate(parts):
            touched = {b for task in part for b in (*self.own[task], *self.used[task])}
            passing[p] -= sum(self.blocks[b].size for b in touched if spans[b][0] < p < spans[b][1])
        return passing


def _most_saved(reuses: Sequence[tuple[int, int, int]]) -> int:
    """Bytes saved, when a block lies over at most one other, and at most one over it."""
    if len(reuses) < 2:
        return reuses[0][2] if reuses else 0
    names: dict[tuple[int, bool], SearchBlock] = {}

    def name(b: int, source: bool) -> SearchBlock:
        return names.setdefault((b, source), SearchBlock(b, 0, 0, False, False))

    return most_saved(
        [OutputReuse(name(out, False), name(source, True), saved) for out, source, saved in reuses]
    )


def problem(
    tasks: Sequence[Task], sizes: Mapping[str, int], keep: Collection[str], within: Mapping[str, str]
) -> ScheduleProblem:
    """The tasks, which are in topological order."""

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
    needs = [sorted({maker[name] for name in task.inputs if name in maker}) for task in tasks]
    followers: list[list[int]] = [[] for _ in tasks]
    for i, direct in enumerate(needs):
        for j in direct:
            followers[j].append(i)
    reads = [list(dict.fromkeys(map(root_of, task.inputs))) for task in tasks]
    makes = [list(dict.fromkeys(map(root_of, task.outputs))) for task in tasks]
    kept = {root_of(name) for name in keep}
    number, blocks = _blocks(reads, makes, sizes, kept, maker, needs, followers)
    own: list[list[int]] = []
    parts: list[list[int]] = []
    used: list[list[int]] = []
    reuses: list[list[tuple[int, int, int]]] = []
    for i, task in enumerate(tasks):
        inputs = [number[root] for root in reads[i] if root in number]
        outputs = [number[root] for root in makes[i] if root in number]
        own.append([b for b in outputs if blocks[b].makers == [i]])
        parts.append([b for b in outputs if blocks[b].shared and i in blocks[b].makers])
        used.append(list(dict.fromkeys([*inputs, *parts[i]])))
        reuses.append([])
        for output, position, distance in task.over:
            out, source = number.get(task.outputs[output]), number.get(root_of(task.inputs[position]))
            if out is None or source is None or out not in own[i] or blocks[source].kept:
                continue
            if distance < (size := blocks[out].size):
                reuses[i].append((out, source, min(size - distance, blocks[source].size)))
    return ScheduleProblem(
        blocks, needs, followers, own, parts, used, [task.scratch for task in tasks], reuses
    )


def _blocks(
    reads: Sequence[Sequence[str]],
    makes: Sequence[Sequence[str]],
    sizes: Mapping[str, int],
    keep: Collection[str],
    maker: Mapping[str, int],
    needs: Sequence[Sequence[int]],
    followers: Sequence[Sequence[int]],
) -> tuple[dict[str, int], list[ScheduleBlock]]:
    """Everything that takes memory, and its number by the name of its root."""
    makers: dict[str, list[int]] = {}
    users: dict[str, list[int]] = {}
    for i in range(len(needs)):
        for roots, found in ((reads[i], users), (makes[i], makers)):
            for root in roots:
                found.setdefault(root, []).append(i)
    number: dict[str, int] = {}
    blocks: list[ScheduleBlock] = []
    left = [_MAX_REACH_STEPS]
    for root in dict.fromkeys([*makers, *users]):
        if sizes.get(root, 0) <= 0:
            continue
        made = _first_of(makers[root], needs, followers, left) if root in maker else []
        used = users.get(root, [])
        if len(made) > 1:
            used = sorted({*used, *made})
        number[root] = len(blocks)
        first, last = min(made, default=-1), used[-1] if used else -1
        blocks.append(ScheduleBlock(sizes[root], root in keep, made, len(used), first, last))
    return number, blocks


def _first_of(
    makers: Sequence[int],
    needs: Sequence[Sequence[int]],
    followers: Sequence[Sequence[int]],
    left: list[int],
) -> list[int]:
    """Those makers that come after no other in every order: what makes a view, or joins what is there, comes
    after the maker of the memory. Where the search for that ends early, there are some too many: that
    changes no peak, but for outputs that could have been computed in place."""
    some = {*makers}
    first = [i for i in makers if some.isdisjoint(needs[i])]
    if len(first) == 1:
        return first
    last = first[-1]
    seen: set[int] = set()
    stack = list(first)
    while stack and left[0] > 0:
        following = followers[stack.pop()]
        left[0] -= len(following) + 1
        new = [j for j in following if j <= last and j not in seen]
        seen.update(new)
        stack += new
    return [i for i in first if i not in seen]
