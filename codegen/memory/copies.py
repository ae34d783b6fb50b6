"""Moves a tensor before a layer whose result cannot lie over it otherwise, for a much smaller arena.

A result that grows must start far before its input. If the input has come to lie at the foot of the arena,
over what it was computed from itself, there is no room: copied to the top, it costs time instead of memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from edgekit.codegen.memory.arena import BUDGET, ArenaPlan, crowded, plan
from edgekit.codegen.memory.lifetimes import Scheduled, buffers_of, shifts_of
from edgekit.codegen.memory.sharing import Sharing
from edgekit.core.ops import Arg
from edgekit.core.ops._copy import copy
from edgekit.core.types import Value

# What the arena must shrink by for a move to be worth its time: one part in so many.
_WORTH = 10
# Layers for which a move is tried, fewer where there are many calls to plan for each; and comparisons of
# buffers that each such plan may make.
_TRIED = 32
_TRIED_CALLS = 1 << 16
_BUDGET = 100_000


def with_moves(
    calls: Sequence[Scheduled], sharing: Sharing, align: int
) -> tuple[list[Scheduled], ArenaPlan | None]:
    """The calls, with copies before those for which that pays; and their plan, where one was made on the way
    that no search would improve."""
    best = [*calls]
    # A copy cannot help where everything is in use at once, nor need it where a longer search does.
    least = crowded(buffers_of(best, sharing, align), shifts_of(best, sharing))
    near = least + least // _WORTH
    arena = _plan(best, sharing, align, _BUDGET)
    if not arena.optimal:
        if arena.size <= near:
            return best, None
        arena = _plan(best, sharing, align, BUDGET)
    planned: ArenaPlan | None = arena
    size = arena.size
    while size - least > least // _WORTH:
        wanted = size - size // _WORTH
        steps = _candidates(best, sharing)
        if arena.lower_bound > wanted:  # by steps that a move elsewhere leaves as they are
            first, last = _tight_steps(best, sharing, align, wanted)
            steps = [step for step in steps if first <= step + 1 <= last]
        trials = [_moved(best, step, sharing) for step in steps]
        plans = [_plan(trial, sharing, align, _BUDGET, wanted) for trial in trials]
        sizes = [plan.size for plan in plans]
        if min(sizes, default=size) > wanted:
            break
        size = min(sizes)
        at = sizes.index(size)
        best, arena = trials[at], plans[at]
        planned = arena if arena.optimal else None
        least = crowded(buffers_of(best, sharing, align), shifts_of(best, sharing))
    return best, planned


def _plan(
    calls: Sequence[Scheduled], sharing: Sharing, align: int, budget: float, limit: float = inf
) -> ArenaPlan:
    buffers, shifts = buffers_of(calls, sharing, align), shifts_of(calls, sharing)
    return plan(buffers, shifts=shifts, budget=budget, limit=limit)


def _tight_steps(calls: Sequence[Scheduled], sharing: Sharing, align: int, limit: int) -> tuple[int, int]:
    """The first and the last of a few steps whose buffers alone need more than `limit` bytes, as all do."""
    buffers, shifts = buffers_of(calls, sharing, align), shifts_of(calls, sharing)

    def need_more(first: int, last: int) -> bool:
        live = [buffer for buffer in buffers if buffer.first <= last and first <= buffer.last]
        names = {buffer.name for buffer in live}
        among = [shift for shift in shifts if {shift.output, shift.input} <= names]
        return plan(live, shifts=among, budget=_BUDGET, limit=limit).lower_bound > limit

    steps = range(max(buffer.last for buffer in buffers) + 1)
    last = bisect_left(steps, True, key=lambda step: need_more(0, step), hi=len(steps) - 1)
    return bisect_left(steps[:last], True, key=lambda step: not need_more(step + 1, last)), last


def _candidates(calls: Sequence[Scheduled], sharing: Sharing) -> list[int]:
    """The calls whose results may lie over their inputs, the largest results first."""
    results = {shift.output for shift in shifts_of(calls, sharing)}
    steps = [i for i, s in enumerate(calls) if sharing.root(s.call.args[-1].name)[0] in results]
    overlaps = [i for i in steps if calls[i].call.overlap is not None and not calls[i].rows]
    count = max(1, min(_TRIED, _TRIED_CALLS // max(len(calls), 1)))
    return sorted(overlaps, key=lambda i: -calls[i].call.args[-1].type.bytes)[:count]


def _moved(calls: Sequence[Scheduled], step: int, sharing: Sharing) -> list[Scheduled]:
    """The calls, with the first operand of one of them copied for it."""
    scheduled = calls[step]
    x, *others = scheduled.call.args
    target = Arg(f"{x.name}#moved", Value(x.type))
    sharing.size[target.name] = x.type.bytes
    calls_of_copy = copy(x, target, (x.type.size,), (1,), (1,))
    copies = [Scheduled(call, scheduled.node, "", scheduled.guards) for call in calls_of_copy]
    changed = replace(scheduled, call=replace(scheduled.call, args=(target, *others)))
    return [*calls[:step], *copies, changed, *calls[step + 1 :]]
