"""Searches the order of tasks with the lowest peak: exactly where possible, else from several starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush, nsmallest
from itertools import count, product
from typing import NamedTuple, TypeAlias

# Sets of tasks are the bits of an int throughout.


class SearchBlock(NamedTuple):
    """Something that takes memory."""

    size: int
    maker: int  # who makes it: empty where it is there from the start, several where each makes a part
    users: int
    kept: bool
    shared: bool  # do several tasks make parts of it? It is there from the first of them on


class OutputReuse(NamedTuple):
    """A way to write an output over an input."""

    output: SearchBlock
    input: SearchBlock
    saved: int


# The tasks run so far, the last one outermost: states share what they have in common.
_Path: TypeAlias = "tuple[_Path, int] | None"


class SearchState(NamedTuple):
    """How far a run of the tasks has come. What is live depends on `done` alone, the peak also on the way."""

    done: int
    ready: int
    live: int
    peak: int
    path: _Path

    def sequence(self) -> list[int]:
        result = []
        path = self.path
        while path:
            path, task = path
            result.append(task)
        return result[::-1]


_state = partial(tuple.__new__, SearchState)  # without the call of State's own function


@dataclass(frozen=True)
class TaskGraph:
    """The tasks as numbers; every list has one entry per task, except `names`."""

    names: list[SearchBlock]
    needs: list[int] = field(default_factory=list)  # the tasks that it reads from
    followers: list[list[int]] = field(default_factory=list)  # the tasks that read from it
    new: list[int] = field(default_factory=list)  # bytes of scratch and of the outputs that are all its own
    stays: list[int] = field(default_factory=list)  # bytes of these outputs that are needed afterwards
    shared: list[list[SearchBlock]] = field(default_factory=list)  # of which it makes a part
    inputs: list[list[SearchBlock]] = field(default_factory=list)  # those that go after their last use
    reuses: list[list[OutputReuse]] = field(default_factory=list)
    # As `run` reads them: what followers need and the set of each alone, and the users of inputs and bytes.
    waiting: list[list[tuple[int, int]]] = field(default_factory=list)
    dying: list[list[tuple[int, int]]] = field(default_factory=list)

    def add(
        self,
        makers: Collection[int],
        inputs: Collection[SearchBlock],
        outputs: Collection[SearchBlock],
        shared: Collection[SearchBlock],
        scratch: int,
        reuses: list[OutputReuse],
    ) -> None:
        needs = sum(1 << maker for maker in makers)
        for maker in makers:
            self.followers[maker].append(len(self.needs))
            self.waiting[maker].append((needs, 1 << len(self.needs)))
        self.needs.append(needs)
        self.followers.append([])
        self.waiting.append([])
        self.new.append(sum(name.size for name in outputs) + scratch)
        self.stays.append(sum(name.size for name in outputs if name.users or name.kept))
        self.shared.append([*shared])
        self.inputs.append([name for name in inputs if not name.kept])
        self.dying.append([(name.users, name.size) for name in self.inputs[-1]])
        self.reuses.append(reuses)

    def start(self, live: int, peak: int) -> SearchState:
        """Before any task has run, with so many bytes live."""
        ready = sum(1 << i for i, needs in enumerate(self.needs) if not needs)
        return SearchState(0, ready, live, peak, None)

    def run(self, state: SearchState, task: int) -> SearchState:
        before, ready, live, highest, path = state
        own = 1 << task
        done = before | own
        missing = ~done
        ready ^= own
        for needs, follower in self.waiting[task]:
            if not needs & missing:
                ready |= follower
        peak = live + self.new[task]
        if reuses := self.reuses[task]:
            peak -= most_saved([reuse for reuse in reuses if not reuse.input.users & missing])
        live += self.stays[task]
        for size, maker, _, _, _ in self.shared[task]:
            if not maker & before:
                peak += size
                live += size
        for users, size in self.dying[task]:
            if not users & missing:
                live -= size
        return _state((done, ready, live, peak if peak > highest else highest, (path, task)))


@dataclass
class SearchBudget:
    """Task runs that a search may still try."""

    left: int
    stopped: bool = False  # before everything was seen that could be better

    @contextmanager
    def share(self, runs: int) -> Iterator[SearchBudget]:
        """Lend some runs to a smaller search; what it leaves comes back."""
        share = SearchBudget(runs)
        self.left -= runs
        yield share
        self.left += share.left
        self.stopped |= share.stopped


def set_bits(tasks: int) -> Iterator[int]:
    while tasks:
        lowest = tasks & -tasks
        yield lowest.bit_length() - 1
        tasks ^= lowest


def most_saved(reuses: Sequence[OutputReuse]) -> int:
    """Bytes saved, when an output lies over at most one input, and at most one output over an input."""
    if len(reuses) < 2:
        return reuses[0].saved if reuses else 0
    first, *rest = reuses
    apart = [reuse for reuse in rest if reuse.output is not first.output and reuse.input is not first.input]
    return max(first.saved + most_saved(apart), most_saved(rest))


def walk(graph: TaskGraph, start: SearchState, sequence: Sequence[int]) -> list[SearchState]:
    states = [start]
    for task in sequence:
        states.append(graph.run(states[-1], task))
    return states


def improve(graph: TaskGraph, start: SearchState, given: Sequence[int], meter: SearchBudget) -> SearchState:
    """The end of the best order found for these tasks. Peaks up to that of `start` are equally good."""
    best = walk(graph, start, given)[-1]
    search = _Search(graph, start, best.done, meter)
    # A search that ends soon is exact; one that does not will rarely do so with all of the budget.
    complete, found = search.exact(best.peak, spare=meter.left * 7 // 8)
    if complete:
        return found or best
    # Each of these leads to a valley of its own; which one is the deepest cannot be told before.
    ways: list[Callable[[], SearchState | None]] = [lambda: walk(graph, start, given)[-1], search.greedy]
    ways += [partial(search.beam, best.peak, width) for width in (1, 4, 16)]
    for past, way in enumerate(ways):
        if best.peak > start.peak and (end := way()):
            with meter.share(meter.left // (len(ways) - past)) as share:
                end = _polish(graph, start, end.sequence(), share)
            best = min(best, end, key=_by_peak)
    meter.stopped |= best.peak > start.peak
    return best


def best_order(graph: TaskGraph, start: SearchState, limit: int, meter: SearchBudget) -> list[int] | None:
    """An order of all tasks with a peak below `limit`, as low as can be found."""
    found = _Search(graph, start, (1 << len(graph.needs)) - 1, meter).best(limit)
    return found.sequence() if found else None


def _polish(graph: TaskGraph, start: SearchState, sequence: list[int], meter: SearchBudget) -> SearchState:
    """Reorder windows around the first peak, for as long as that lowers it."""
    states = walk(graph, start, sequence)
    while states[-1].peak > start.peak and meter.left > 0:
        meter.left -= len(sequence)
        at = next(i for i, state in enumerate(states) if state.peak == states[-1].peak)
        for width, quarters in product((8, 16, 32, 64), (2, 1, 3)):
            begin = max(0, at - width * quarters // 4)
            end = min(begin + width, len(sequence))
            inner = states[begin]._replace(peak=start.peak, path=None)
            with meter.share(min(meter.left, 200 * width)) as share:
                best = _Search(graph, inner, states[end].done, share).best(limit=states[-1].peak)
            if best:
                sequence[begin:end] = best.sequence()
                states = walk(graph, start, sequence)
                break
        else:
            break
    return states[-1]


class _Search:
    """Looks for a good order of the tasks from `start` to the set `goal`."""

    def __init__(self, graph: TaskGraph, start: SearchState, goal: int, meter: SearchBudget) -> None:
        self.graph = graph
        self.start = start
        self.goal = goal
        self.meter = meter

    def best(self, limit: int) -> SearchState | None:
        """The end of an order with a peak below `limit`, as low as can be found."""
        complete, best = self.exact(limit, spare=self.meter.left // 2)
        width = 1
        while not complete and self.meter.left > 0:
            best = self.beam(best.peak if best else limit, width) or best
            complete = best is not None and best.peak == self.start.peak
            width *= 3
        return best

    def exact(self, limit: int, spare: int) -> tuple[bool, SearchState | None]:
        """Visit states from the lowest peak up, those furthest on first, so that the first end reached is
        optimal. Gives up, with False, when the meter has only `spare` left."""
        tie = count()
        heap = [(self.start.peak, 0, self.start.live, next(tie), self.start)]
        lowest = {self.start.done: self.start.peak}
        while heap and self.meter.left > spare:
            state = heappop(heap)[-1]
            if state.done == self.goal:
                return True, state
            if state.peak > lowest[state.done]:
                continue
            for child in self.children(state):
                if child.peak < lowest.get(child.done, limit):
                    lowest[child.done] = child.peak
                    heappush(heap, (child.peak, -child.done.bit_count(), child.live, next(tie), child))
        return not heap, None

    def beam(self, limit: int, width: int) -> SearchState | None:
        """Go on with the `width` best states of each length."""
        shelves: dict[int, dict[int, SearchState]] = {
            self.start.done.bit_count(): {self.start.done: self.start}
        }
        for length in range(self.start.done.bit_count(), self.goal.bit_count()):
            for state in nsmallest(width, shelves.pop(length, {}).values(), key=_by_peak):
                if self.meter.left <= 0:
                    return None
                for child in self.children(state):
                    shelf = shelves.setdefault(child.done.bit_count(), {})
                    if child.peak < (shelf[child.done].peak if child.done in shelf else limit):
                        shelf[child.done] = child
        return shelves.get(self.goal.bit_count(), {}).get(self.goal)

    def greedy(self) -> SearchState | None:
        """Of the chains that give back what they take, run the cheapest first. When none is left, run the one
        that needs most beyond what it keeps, while there is room for it. Where chains only meet at their
        ends, this is the optimal order."""
        state = self.start
        while state.done != self.goal:
            if self.meter.left <= 0:
                return None
            chains = [self.climb(state, task) for task in set_bits(state.ready & self.goal)]
            back = [(hill, after) for hill, after in chains if after.live <= state.live]
            if back:
                _, state = min(back, key=lambda chain: chain[0])
            else:
                _, state = max(chains, key=lambda chain: chain[0] - chain[1].live)
        return state

    def climb(self, state: SearchState, task: int) -> tuple[int, SearchState]:
        """What the chain that starts with this task takes at most, and the state where it is best left: once
        it has given back all that it took, else at its lowest point beyond its highest."""
        after = lowest = self.run(state._replace(peak=0), task)
        highest = after.peak
        while after.live > state.live and (follower := self.follower(after, task)) is not None:
            task = follower
            after = self.run(after, task)
            if after.peak > highest or after.live <= lowest.live:
                highest, lowest = after.peak, after
        return lowest.peak - state.live, lowest._replace(peak=max(state.peak, lowest.peak))

    def children(self, state: SearchState) -> list[SearchState]:
        """The states that can come next: one, where a chain of tasks raises no peak and leaves no more bytes
        live than before.

        Running it at once is never worse than later. What tasks add to the live bytes can only shrink when
        others run before them, so with the chain done no later state has more bytes live than without.
        """
        graph, goal, (_, ready, live, peak, _) = self.graph, self.goal, state
        found = []
        runs = 0
        for task in set_bits(ready & goal):
            after = graph.run(state, task)
            found.append(after)
            runs += 1
            last: int | None = task
            while after.peak == peak and last is not None:
                if after.live <= live:
                    self.meter.left -= runs
                    return [after]
                if (last := self.follower(after, last)) is not None:
                    after = graph.run(after, last)
                    runs += 1
        self.meter.left -= runs + len(found)  # each of these counts as tried again
        return found

    def run(self, state: SearchState, task: int) -> SearchState:
        self.meter.left -= 1
        return self.graph.run(state, task)

    def follower(self, state: SearchState, task: int) -> int | None:
        ready = state.ready & self.goal
        for follower in self.graph.followers[task]:
            if ready >> follower & 1:
                return follower
        return None


def _by_peak(state: SearchState) -> tuple[int, int]:
    return state.peak, state.live
