"""Chooses the order in which tasks run, for the lowest peak of live bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush, nsmallest
from itertools import count, product
from typing import NamedTuple, TypeAlias

# Task runs that one call of `order` may try: about a second of Python, the same on every machine.
_BUDGET = 400_000
# Above this many tasks between two cuts, the quadratic bound costs more than the search can win by it.
_BOUND_TASKS = 800


@dataclass(frozen=True)
class Task:
    """One step of the program. `inplace` lists (output, input) positions: where that input is used for the last
    time, the output may take over its memory, from the same address."""

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
    """Indices of `tasks` (given in topological order) in the order of the lowest peak that the search finds.

    A name that `sizes` lacks takes no memory. Names in `keep` stay to the end; a name that no task makes is there
    from the start. The order is optimal where the search is exhaustive, is never worse than the given one, and
    leaves every part of the given order alone that does not decide the peak.
    """
    model = _model(tasks, sizes, keep)
    begins = _cuts(model)
    parts = list(zip(begins, [*begins[1:], len(tasks)], strict=True))
    starts, given = _given_peaks(model, parts)
    # Nothing is gained below the peak of a part that cannot change, or below what some task needs anyway.
    target = max((_floor(model, *part) for part in parts), default=0)
    found: dict[int, tuple[int, list[int]]] = {}
    meter = _Meter(budget)
    hard = [i for i, peak in enumerate(given) if peak > target]
    for past, i in enumerate(hard):
        if given[i] > target:
            with meter.share(len(hard) - past) as share:
                found[i] = _improve(model, starts[i]._replace(peak=target), range(*parts[i]), given[i], share)
            target = max(target, found[i][0])
    result: list[int] = []
    for i, part in enumerate(parts):
        result += found[i][1] if i in found and given[i] > target else range(*part)
    return result


def peak(
    tasks: Sequence[Task],
    sizes: Mapping[str, int],
    keep: Collection[str] = frozenset(),
    sequence: Sequence[int] | None = None,
) -> int:
    """The most bytes that are live at once when the tasks run in this sequence (their own by default)."""
    model = _model(tasks, sizes, keep)
    state = _start(model)
    for task in range(len(tasks)) if sequence is None else sequence:
        assert state.ready >> task & 1, f"task {task} runs twice, or before its inputs are there"
        state = _run(model, state, task)
    return state.peak


# Sets of tasks are the bits of an int.


class _Use(NamedTuple):
    size: int
    users: int  # every task that reads this name


class _Reuse(NamedTuple):
    output: int
    input: str
    saved: int
    users: int


class _Name(NamedTuple):
    size: int
    maker: int  # the task that makes it, as a set; empty if it is there from the start
    users: int
    kept: bool


@dataclass(frozen=True)
class _Model:
    needs: list[int]  # per task: the tasks it reads from
    followers: list[list[int]]  # per task: the tasks that read from it
    new: list[int]  # per task: bytes of its outputs and scratch
    stays: list[int]  # per task: bytes of those outputs that anybody wants
    uses: list[list[_Use]]  # per task: inputs that go when nobody wants them any more
    reuses: list[list[_Reuse]]  # per task: ways to run in place
    names: list[_Name]  # everything that takes memory
    live: int  # bytes live before the first task


# The tasks run so far, the last one first; nested so that states share what they have in common.
_Path: TypeAlias = "tuple[_Path, int] | None"


class _State(NamedTuple):
    done: int
    ready: int
    live: int
    peak: int
    path: _Path


def _model(tasks: Sequence[Task], sizes: Mapping[str, int], keep: Collection[str]) -> _Model:
    maker: dict[str, int] = {}
    users: dict[str, int] = {}
    for i, task in enumerate(tasks):
        for name in task.inputs:
            users[name] = users.get(name, 0) | 1 << i
        for name in task.outputs:
            assert name not in maker, f"{name} is made twice"
            assert not users.get(name), f"{name} is read before it is made"
            maker[name] = i
    names = {
        name: _Name(size, 1 << maker[name] if name in maker else 0, users.get(name, 0), name in keep)
        for name in dict.fromkeys([*maker, *users])
        if (size := sizes.get(name, 0)) > 0
    }
    model = _Model([], [[] for _ in tasks], [], [], [], [], list(names.values()), 0)
    for i, task in enumerate(tasks):
        inputs = list(dict.fromkeys(task.inputs))
        outputs = [names[name] for name in task.outputs if name in names]
        makers = {maker[name] for name in inputs if name in maker}
        for j in makers:
            model.followers[j].append(i)
        model.needs.append(sum(1 << j for j in makers))
        model.new.append(sum(out.size for out in outputs) + task.scratch)
        model.stays.append(sum(out.size for out in outputs if out.users or out.kept))
        model.uses.append(
            [_Use(names[n].size, names[n].users) for n in inputs if n in names and not names[n].kept]
        )
        model.reuses.append([])
        for output, position in task.inplace:
            out, source = names.get(task.outputs[output]), names.get(task.inputs[position])
            if out and source and not source.kept:
                saved = min(out.size, source.size)
                model.reuses[i].append(_Reuse(output, task.inputs[position], saved, source.users))
    start = sum(name.size for name in names.values() if not name.maker)
    return _Model(**{**vars(model), "live": start})


def _start(model: _Model) -> _State:
    ready = sum(1 << i for i, needs in enumerate(model.needs) if not needs)
    return _State(0, ready, model.live, model.live, None)


def _run(model: _Model, state: _State, task: int) -> _State:
    done = state.done | 1 << task
    ready = state.ready ^ 1 << task
    for follower in model.followers[task]:
        if not model.needs[follower] & ~done:
            ready |= 1 << follower
    peak = state.live + model.new[task]
    if model.reuses[task]:
        peak -= _most_saved([reuse for reuse in model.reuses[task] if not reuse.users & ~done])
    live = state.live + model.stays[task]
    for use in model.uses[task]:
        if not use.users & ~done:
            live -= use.size
    return _State(done, ready, live, max(state.peak, peak), (state.path, task))


def _most_saved(reuses: list[_Reuse]) -> int:
    """Bytes saved in place, when each output takes one input at most, and each input goes to one output."""
    if len(reuses) < 2:
        return reuses[0].saved if reuses else 0
    first, *rest = reuses
    apart = [reuse for reuse in rest if reuse.output != first.output and reuse.input != first.input]
    return max(first.saved + _most_saved(apart), _most_saved(rest))


def _members(tasks: int) -> Iterator[int]:
    while tasks:
        lowest = tasks & -tasks
        yield lowest.bit_length() - 1
        tasks ^= lowest


def _sequence(state: _State) -> list[int]:
    result = []
    path = state.path
    while path:
        path, task = path
        result.append(task)
    return result[::-1]


def _cuts(model: _Model) -> list[int]:
    """Indices k at which tasks 0..k-1 come first in every order, so that the parts between are separate problems."""
    before: list[int] = []
    for needs in model.needs:
        before.append(needs)
        for i in _members(needs):
            before[-1] |= before[i]
    cuts = []
    common = -1  # what all tasks from k on need
    for k in reversed(range(len(before))):
        common &= before[k]
        if not ((1 << k) - 1) & ~common:
            cuts.append(k)
    return cuts[::-1]


def _given_peaks(model: _Model, parts: list[tuple[int, int]]) -> tuple[list[_State], list[int]]:
    """The state before each part, and the peak of each part as it was given."""
    state = _start(model)
    starts, peaks = [], []
    for begin, end in parts:
        state = state._replace(peak=state.live, path=None)
        starts.append(state)
        for task in range(begin, end):
            state = _run(model, state, task)
        peaks.append(state.peak)
    return starts, peaks


def _floor(model: _Model, begin: int, end: int) -> int:
    """Bytes that no order of this part can avoid: each task needs room for what it makes and for everything that is
    made before it and wanted by it or after it."""
    if end - begin > _BOUND_TASKS:
        return 0
    inside = (1 << end) - (1 << begin)
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for i in range(begin, end):
        before[i] = (1 << begin) - 1 | model.needs[i]
        for j in _members(model.needs[i] & inside):
            before[i] |= before[j]
    for i in reversed(range(begin, end)):
        after[i] = -1 << end | 1 << i
        for j in model.followers[i]:
            if j < end:
                after[i] |= after[j]
    names = [name for name in model.names if name.maker < 1 << end and (name.kept or name.users >> begin)]
    return max(
        sum(name.size for name in names if not name.maker & ~before[i] and (name.kept or name.users & after[i]))
        + model.new[i]
        - _most_saved(model.reuses[i])
        for i in range(begin, end)
    )


@dataclass
class _Meter:
    """Task runs that a search may still try."""

    left: int

    @contextmanager
    def share(self, part: int) -> Iterator[_Meter]:
        """Lend one part of what is left, and take back what of it is left over."""
        share = _Meter(self.left // part)
        self.left -= share.left
        yield share
        self.left += share.left


def _improve(model: _Model, start: _State, given: range, limit: int, meter: _Meter) -> tuple[int, list[int]]:
    """The lowest peak found for one part, given in order with the peak `limit`, and its sequence."""
    search = _Search(model, start, start.done | sum(1 << task for task in given), meter)
    complete, best = search.exact(limit, meter.left * 7 // 8)
    if complete:
        return (limit, list(given)) if best is None else (best.peak, _sequence(best))
    # Each of these leads to a valley of its own; which is the deepest cannot be told before.
    ways: list[Callable[[], _State | None]] = [
        lambda: _walk(model, start, given)[-1],
        search.greedy,
        *(partial(search.beam, limit, width) for width in (1, 4, 16)),
    ]
    peak, sequence = limit, list(given)
    for past, way in enumerate(ways):
        if peak > start.peak and (end := way()):
            with meter.share(len(ways) - past) as share:
                polished = _polish(model, start, _sequence(end), share)
            if polished.peak < peak:
                peak, sequence = polished.peak, _sequence(polished)
    return peak, sequence


def _walk(model: _Model, start: _State, sequence: Sequence[int]) -> list[_State]:
    states = [start]
    for task in sequence:
        states.append(_run(model, states[-1], task))
    return states


def _polish(model: _Model, start: _State, sequence: list[int], meter: _Meter) -> _State:
    """Reorder windows around the first peak, for as long as that lowers it."""
    states = _walk(model, start, sequence)
    while states[-1].peak > start.peak and meter.left > 0:
        meter.left -= len(sequence)
        at = next(i for i, state in enumerate(states) if state.peak == states[-1].peak)
        for width, quarter in product((8, 16, 32, 64), (2, 1, 3)):
            begin = max(0, at - width * quarter // 4)
            end = min(begin + width, len(sequence))
            inner = states[begin]._replace(peak=start.peak, path=None)
            with meter.share(max(1, meter.left // (200 * width))) as share:
                best = _Search(model, inner, states[end].done, share).best(states[-1].peak)
            if best:
                sequence[begin:end] = _sequence(best)
                states = _walk(model, start, sequence)
                break
        else:
            break
    return states[-1]


class _Search:
    """Looks for a good order of the tasks from `start` to the set `goal`. Peaks up to that of `start` are equally
    good."""

    def __init__(self, model: _Model, start: _State, goal: int, meter: _Meter) -> None:
        self.model = model
        self.start = start
        self.goal = goal
        self.meter = meter
        # What each task adds to the live bytes while it runs, at best; the largest first.
        self.extras = sorted(
            ((model.new[i] - _most_saved(model.reuses[i]), 1 << i) for i in _members(goal & ~start.done)),
            reverse=True,
        )

    def best(self, limit: int) -> _State | None:
        """The end of an order with a peak below `limit`, as low as can be found."""
        complete, best = self.exact(limit, self.meter.left // 2)
        width = 1
        while not complete and self.meter.left > 0:
            best = self.beam(limit if best is None else best.peak, width) or best
            complete = best is not None and best.peak == self.start.peak
            width *= 3
        return best

    def exact(self, limit: int, spare: int) -> tuple[bool, _State | None]:
        """Visit states from the lowest peak up, those furthest on first: the first end reached is optimal. False if
        the meter fell to `spare` before."""
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

    def beam(self, limit: int, width: int) -> _State | None:
        """Keep the `width` best states of each length."""
        shelves: dict[int, dict[int, _State]] = {self.start.done.bit_count(): {self.start.done: self.start}}
        for length in range(self.start.done.bit_count(), self.goal.bit_count()):
            for state in nsmallest(width, shelves.pop(length, {}).values(), key=_by_peak):
                if self.meter.left <= 0:
                    return None
                for child in self.children(state):
                    shelf = shelves.setdefault(child.done.bit_count(), {})
                    if child.peak < (shelf[child.done].peak if child.done in shelf else limit):
                        shelf[child.done] = child
        return shelves.get(self.goal.bit_count(), {}).get(self.goal)

    def run(self, state: _State, task: int) -> _State:
        self.meter.left -= 1
        return _run(self.model, state, task)

    def follower(self, state: _State, task: int) -> int | None:
        return next((i for i in self.model.followers[task] if state.ready & self.goal & 1 << i), None)

    def children(self, state: _State) -> Iterator[_State]:
        downhill = self.downhill(state)
        if downhill:
            yield downhill
        else:
            for task in _members(state.ready & self.goal):
                yield self.run(state, task)

    def downhill(self, state: _State) -> _State | None:
        """Run a chain of tasks that raises no peak and leaves no more bytes live than before, if there is one.

        Running it at once is never worse than running it later: what a set of tasks adds to the live bytes only
        shrinks when others have run, so every state passed on the way would be as large or larger without it.
        """
        for task in _members(state.ready & self.goal):
            after = state
            follower: int | None = task
            while follower is not None:
                last = follower
                after = self.run(after, last)
                if after.peak > state.peak:
                    break
                if after.live <= state.live:
                    return after
                follower = self.follower(after, last)
        return None

    def climb(self, state: _State, task: int) -> tuple[int, _State]:
        """What a chain that starts with this task adds on its way, and the state where it is best left: where it
        has given back all that it took, else at its lowest point beyond its highest."""
        after = lowest = self.run(state._replace(peak=0), task)
        highest = after.peak
        while after.live > state.live and (follower := self.follower(after, task)) is not None:
            task = follower
            after = self.run(after, task)
            if after.peak > highest or after.live <= lowest.live:
                highest, lowest = after.peak, after
        return lowest.peak - state.live, lowest._replace(peak=max(state.peak, lowest.peak))

    def greedy(self) -> _State:
        """Chains that give memory back run first, the cheapest ahead; of the others first those that need most
        beyond what they keep, while there is still room for it. This is optimal for chains that only meet at the
        end."""
        state = self.start
        while state.done != self.goal:
            chains = [self.climb(state, task) for task in _members(state.ready & self.goal)]
            back = [(hill, after) for hill, after in chains if after.live <= state.live]
            if back:
                _, state = min(back, key=lambda chain: chain[0])
            else:
                _, state = max(chains, key=lambda chain: chain[0] - chain[1].live)
        return state


def _by_peak(state: _State) -> tuple[int, ...]:
    return state.peak, state.live
