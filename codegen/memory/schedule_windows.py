"""Orders many tasks: depth first or as given, whichever is lower, then window by window around the peak."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from edgekit.codegen.memory.schedule_problem import ScheduleProblem
from edgekit.codegen.memory.schedule_search import SearchBudget, best_order

# Looking for the highest of so many steps takes about as long as one task run of a search.
_SCANNED = 512


def improve_windows(
    given: ScheduleProblem, part: range, target: int, meter: SearchBudget
) -> tuple[int, list[int]]:
    """The lowest peak that was found for a part of the tasks, and the order. Peaks up to `target` are equally
    good."""
    found = []
    for past, order in enumerate((list(part), _depth_first(given, part))):
        with meter.share(meter.left // (2 - past)) as share:
            found.append(_polished(given, part, order, target, share))
    return min(found, key=lambda one: one[0])


def _depth_first(given: ScheduleProblem, part: range) -> list[int]:
    """Each task as late as those allow that read from it: chains that only meet later run one by one."""
    order: list[int] = []
    seen: set[int] = set()
    for end in part:
        if any(j in part for j in given.followers[end]):
            continue
        stack = [(end, iter(given.needs[end]))]
        seen.add(end)
        while stack:
            task, needs = stack[-1]
            for i in needs:
                if i in part and i not in seen:
                    seen.add(i)
                    stack.append((i, iter(given.needs[i])))
                    break
            else:
                order.append(task)
                stack.pop()
    return order


def _polished(
    given: ScheduleProblem, part: range, order: list[int], target: int, meter: SearchBudget
) -> tuple[int, list[int]]:
    """Reorder windows around the first peak, for as long as that lowers it."""
    whole = [*range(part.start), *order, *range(part.stop, len(given.needs))]
    given.place(whole, range(len(whole)))
    lives, peaks = given.simulate(whole)
    start, stop = part.start, part.stop
    while part and meter.left > 0:
        meter.left -= len(part) // _SCANNED + 1
        peak = max(peaks[start:stop])
        if peak <= target:
            break
        at = peaks.index(peak, start, stop)
        if not any(
            _reorder(given, whole, lives, peaks, begin, end, target, meter)
            for begin, end in _windows(at, part)
        ):
            break
    meter.stopped |= max(peaks[start:stop], default=0) > target
    return max([lives[start], *peaks[start:stop]]), whole[start:stop]


def _windows(at: int, part: range) -> Sequence[tuple[int, int]]:
    found = []
    for width, quarters in product((8, 16, 32, 64), (2, 1, 3)):
        begin = max(part.start, at - width * quarters // 4)
        found.append((begin, min(begin + width, part.stop)))
    return found


def _reorder(
    given: ScheduleProblem,
    whole: list[int],
    lives: list[int],
    peaks: list[int],
    begin: int,
    end: int,
    target: int,
    meter: SearchBudget,
) -> bool:
    """Find an order of a window with a lower peak, and take it over."""
    if meter.left <= 0:
        return False
    meter.left -= end - begin
    graph = given.graph(whole, begin, end)
    with meter.share(min(meter.left, 200 * (end - begin))) as share:
        best = best_order(graph, graph.start(lives[begin], target), max(peaks[begin:end]), share)
    if best is None:
        return False
    whole[begin:end] = [whole[begin + i] for i in best]
    given.place(whole, range(begin, end))
    state = graph.start(lives[begin], 0)
    for k, task in enumerate(best):
        state = graph.run(state._replace(peak=0), task)
        lives[begin + k + 1], peaks[begin + k] = state.live, state.peak
    return True
