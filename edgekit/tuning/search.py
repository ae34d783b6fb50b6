"""Which points are tried: a few from end to end, then steps away from those that no other beats.

A step prunes more or less, gives the most sensitive layer a better format or takes the last one back, changes
the format of all layers, or asks for small code. Steps towards what is missed go first; a seeded generator
chooses the others. Each generation is decided by the results before it, never by the order in which these
came in: the same seed tries the same points, on any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from edgekit.tuning.budget import Budget, costs, dominates, is_as_good, is_worse, quality, sufficient_db
from edgekit.tuning.problem import BASES, BF16, F32, INT4, INT8, INT16, WHOLE, Fault, Outcome, Point, Result

GENERATION = 4  # points that are decided upon together
_STARTS = (
    Point(),
    Point(left=50),
    Point(left=25),
    Point(base=BF16),
    Point(base=INT4),
    Point(left=12),
    Point(left=75),
    Point(optimize="size"),
)
_TRIES = 2  # of points for each variant that is asked for: twins do not count
_STEP = 8  # percent that a step of pruning changes what is left by, about
_MIN_PERCENT = 4  # percent
_ABOVE = {INT8: INT16, INT16: BF16, BF16: F32}  # the next better format of a layer


@dataclass
class TuningSearch:
    """What was tried, in order, and what it came to."""

    budget: Budget
    seed: int
    sensitivity: Mapping[str, float]  # of layers: the first gain most from a better format
    macs: int  # of the model as it came
    found: dict[Point, Outcome] = field(default_factory=dict)

    def next(self, trials: int) -> Sequence[Point]:
        """The points to try now, so that there are so many variants in the end, at most; none where there is
        nothing left to try."""
        rng = np.random.default_rng([self.seed, len(self.found)])
        steps = chain(_STARTS, self._towards(), self._around(rng))
        fresh = dict.fromkeys(
            point for point in steps if point not in self.found and not self._is_known(point)
        )
        left = min(trials - self.tried, _TRIES * trials - len(self.found))
        return list(islice(fresh, max(min(left, GENERATION), 0)))

    def add(self, point: Point, outcome: Outcome) -> None:
        self.found[point] = outcome

    @property
    def tried(self) -> int:
        """How many variants: those that came to nothing, and graphs, each once."""
        return len(self.results) + sum(isinstance(found, Fault) for found in self.found.values())

    @property
    def results(self) -> Mapping[Point, Result]:
        """Of points that lead to the same graph (twins), the first."""
        every = {point: found for point, found in self.found.items() if isinstance(found, Result)}
        first: dict[object, Point] = {}
        for point, found in every.items():
            first.setdefault(found.digest or point, point)
        return {point: every[point] for point in first.values()}

    def share(self, point: Point) -> float:
        """Of the multiplications, what pruning left: no more than the point asks for, and often less."""
        found = self.found.get(point)
        return found.macs / self.macs if isinstance(found, Result) and self.macs else point.left / WHOLE

    def _is_known(self, point: Point) -> bool:
        """Was it tried, or another share that led to the same channels? That one is larger, and left no more
        than this one may."""
        return point in self.found or any(
            other.left > point.left
            and replace(other, left=point.left) == point
            and self.share(other) * WHOLE <= point.left
            for other in self.results
        )

    @property
    def front(self) -> Sequence[Point]:
        """The Pareto-optimal points, the best quality first."""
        results = self.results
        best = [
            point
            for point, found in results.items()
            if not any(dominates(other, found) for other in results.values())
        ]
        return sorted(best, key=lambda point: (_descending(results[point]), costs(results[point])))

    @property
    def best(self) -> Point | None:
        """Of the points within the budget whose accuracy is the best but for chance, that of the best
        signal to noise, or a smaller one that is as good. With a limit of accuracy, the fastest that is sure
        to keep it."""
        results = self.results
        fits = [point for point in self.front if not self.budget.excess(results[point])]
        if not fits:
            return None
        equal = [point for point in fits if not is_worse(results[point], results[fits[0]])]
        if self.budget.max_drop is None:
            top = max((results[point] for point in equal), key=lambda found: min(found.sqnr_db, 200.0))
            return min(
                (point for point in equal if is_as_good(results[point], top)),
                key=lambda point: (costs(results[point]), -results[point].sqnr_db),
            )
        certain = [point for point in fits if self.budget.is_certain(results[point])]
        if certain:
            return min(certain, key=lambda point: _time(results[point]))
        return min(equal, key=lambda point: (-sufficient_db(results[point]), _time(results[point])))

    @property
    def closest(self) -> Point | None:
        """The point that misses the budget by least."""
        results = self.results
        return min(results, key=lambda point: self.budget.distance(results[point]), default=None)

    def _towards(self) -> Iterator[Point]:
        """Steps from the best point, towards what it lacks."""
        point = self.best or self.closest
        if point is None:
            return
        missed = self.budget.excess(self.results[point])
        if missed.keys() & {"accuracy", "signal to noise"}:
            yield from self._better(point)
        if missed.keys() & {"flash", "ram", "instructions"}:
            yield from self._cheaper(point)
        if not missed:
            yield from islice(self._better(point), 2)
            yield from islice(self._cheaper(point), 1)

    def _around(self, rng: np.random.Generator) -> Iterator[Point]:
        """Steps from anywhere on the front, in a random order."""
        steps = [step for point in self.front for step in chain(self._better(point), self._cheaper(point))]
        yield from (steps[i] for i in rng.permutation(len(steps)))

    def _better(self, point: Point) -> Iterator[Point]:
        if point.base in (INT4, INT8):
            levels = dict(point.better)
            for name in sorted(self.sensitivity, key=lambda name: -self.sensitivity[name]):
                above = _ABOVE.get(levels.get(name, INT8))
                if above and self.sensitivity[name] > 0:
                    yield replace(point, better=tuple(sorted({**levels, name: above}.items())))
                    break
        if point.left < WHOLE:
            yield replace(point, left=min(point.left + _step(point.left), WHOLE))
            yield replace(point, left=WHOLE)
        at = BASES.index(point.base)
        if at + 1 < len(BASES):
            yield replace(point, base=BASES[at + 1], better=())

    def _cheaper(self, point: Point) -> Iterator[Point]:
        if point.left - _step(point.left) >= _MIN_PERCENT:
            yield replace(point, left=point.left - _step(point.left))
        if point.better:
            last = min(point.better, key=lambda pair: self.sensitivity.get(pair[0], 0.0))
            yield replace(point, better=tuple(pair for pair in point.better if pair != last))
        if point.base != INT4:
            yield replace(point, base=BASES[BASES.index(point.base) - 1], better=())
        if point.optimize == "speed":
            yield replace(point, optimize="size")


def _step(left: int) -> int:
    """Finer where little is left."""
    return max(1, min(_STEP, left // 4))


def _descending(found: Result) -> tuple[float, ...]:
    return tuple(-x for x in quality(found))


def _time(found: Result) -> tuple[float, ...]:
    """Of equally fast results the smaller and better one comes first."""
    return (*reversed(costs(found)), -found.sqnr_db)
