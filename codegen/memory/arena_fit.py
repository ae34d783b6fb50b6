"""Places buffers one after the other, each in the lowest gap that holds it, or in the tightest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from edgekit.codegen.memory.arena_problem import ArenaProblem, SearchBudget, size_of


def greedy(problem: ArenaProblem, enough: int, meter: SearchBudget) -> Iterator[list[int]]:
    """Layouts by first fit and best fit, for orders of which now this, now that is the best."""
    sizes, spans = problem.sizes, problem.spans
    crowd = [0] * len(sizes)
    for members in problem.together:
        total = sum(members.values())
        for i in members:
            crowd[i] = max(crowd[i], total)
    keys: list[Callable[[int], tuple[int, ...]]] = [
        lambda i: (i,),
        lambda i: (-i,),  # each over the input from which it starts so far before
        lambda i: (-sizes[i],),
        lambda i: (-sizes[i] * spans[i],),
        lambda i: (-crowd[i], -sizes[i]),
        lambda i: (-spans[i], -sizes[i]),
        lambda i: (-len(problem.near[i]),),
    ]
    for number, key in enumerate(keys):
        order = sorted(range(len(sizes)), key=key)
        for tightest in (False, True):
            offsets = place(problem, order, meter, tightest)
            yield offsets
            if size_of(problem, offsets) <= enough or (number > 0 and meter.left <= 0):
                return


def place(
    problem: ArenaProblem, order: Sequence[int], meter: SearchBudget, tightest: bool = False
) -> list[int]:
    offsets = [-1] * len(order)
    for i in order:
        meter.left -= len(problem.near[i]) + 5
        placed = [j for j in problem.near[i] if offsets[j] >= 0]
        offsets[i] = fit(problem, i, placed, offsets, tightest)
    return offsets


def fit(problem: ArenaProblem, i: int, placed: list[int], offsets: list[int], tightest: bool = False) -> int:
    """The offset of the lowest gap that holds buffer i, or of the tightest."""
    sizes, closer, align = problem.sizes, problem.distances[i], problem.aligns[i]
    size = sizes[i]
    # All offsets strictly between two such numbers are taken.
    if closer:
        taken = [
            (offsets[j] - closer[j][0], offsets[j] + closer[j][1])
            if j in closer
            else (offsets[j] - size, offsets[j] + sizes[j])
            for j in placed
        ]
    else:
        taken = [(offsets[j] - size, offsets[j] + sizes[j]) for j in placed]
    taken.sort()
    at = 0
    best, best_slack = -1, 0
    for low, high in taken:
        if at <= low:
            if not tightest:
                return at
            if best < 0 or low - at < best_slack:
                best, best_slack = at, low - at
        if high > at:
            at = -(-high // align) * align
    return at if best < 0 else best
