"""What a model may take and lose, and how far a result is from that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from edgekit.quantize.settings import LEAST_SQNR
from edgekit.tuning.problem import LargestLayer, Result

_MIN_DROP = 0.01  # a limit below this counts as this, where violations are compared
_MIN_DB = 10.0
_SAME_DB = 0.5  # less is no difference that a user would pay for
_SCORE = 1.96  # of the normal distribution: 95 % within


@dataclass(frozen=True)
class Budget:
    """Limits; None where there is none."""

    flash: int | None = None
    ram: int | None = None
    instructions: int | None = None
    max_drop: float | None = None  # of accuracy, as a share of the samples
    min_sqnr: float | None = None  # dB
    accuracy: float | None = None  # of the model as it came

    def excess(self, found: Result) -> Mapping[str, float]:
        """By how much each limit is missed, as a share of it."""
        return dict(self._excess(found))

    def _excess(self, found: Result) -> Iterator[tuple[str, float]]:
        for name, limit, taken in (
            ("flash", self.flash, found.flash),
            ("ram", self.ram, found.ram),
            ("instructions", self.instructions, found.instructions),
        ):
            if limit is not None and (taken is None or taken > limit):
                yield name, 1.0 if taken is None else taken / limit - 1
        if self.max_drop is not None and found.accuracy is not None and self.accuracy is not None:
            # A count of samples, not a difference of rounded shares.
            beyond = self.accuracy - found.accuracy - self.max_drop
            if beyond > 1e-9:
                yield "accuracy", beyond / max(self.max_drop, _MIN_DROP)
        if self.min_sqnr is not None and found.sqnr_db < self.min_sqnr:
            yield "signal to noise", (self.min_sqnr - found.sqnr_db) / max(self.min_sqnr, _MIN_DB)

    def is_certain(self, found: Result) -> bool:
        """Is the limit of accuracy kept by all of the confidence interval?"""
        if self.max_drop is None or self.accuracy is None or found.accuracy is None:
            return True
        return self.accuracy - found.accuracy + interval(found) <= self.max_drop + 1e-9

    def distance(self, found: Result) -> float:
        """0 where all limits are kept."""
        return sum(self.excess(found).values())


def interval(found: Result) -> float:
    """The half width of a 95 % confidence interval for the change of accuracy, by the samples whose answer
    changed (Agresti and Min, for paired proportions)."""
    return _half_width(found.won - found.lost, found.won + found.lost, found.judged)


def _half_width(difference: int, changed: int, judged: int) -> float:
    if not judged:
        return 0.0
    count = judged + 2  # half a sample more of each kind: lost, won, twice right, twice wrong
    return _SCORE * math.sqrt(max(changed + 1 - difference**2 / count, 0.0)) / count


def is_worse(found: Result, best: Result) -> bool:
    """Is the accuracy less than another one by more than chance? Answers in which the two differ are at most
    those that differ from the model as it came."""
    apart = (best.accuracy or 0.0) - (found.accuracy or 0.0)
    changed = min(found.lost + found.won + best.lost + best.won, found.judged)
    return apart > _half_width(round(apart * found.judged), changed, found.judged)


def is_as_good(found: Result, best: Result) -> bool:
    """Is it as good as another one to users? Its accuracy is no less, and its signal to noise is beyond what
    quantize aims at, or hardly differs."""
    if (found.accuracy or 0.0) < (best.accuracy or 0.0):
        return False
    is_enough = found.accuracy is not None and found.sqnr_db >= LEAST_SQNR
    return is_enough or found.sqnr_db >= best.sqnr_db - _SAME_DB


def least_samples(drop: float) -> int:
    """Judged samples from which on a model that changes no answer is known to lose less than that."""
    return math.ceil(_SCORE / drop)


def quality(found: Result) -> tuple[float, float]:
    """What is better of two results: first that which users see, then what shows the finer differences."""
    return (found.accuracy or 0.0, min(found.sqnr_db, 200.0))


def sufficient_db(found: Result) -> float:
    """Signal to noise, up to what quantize aims at."""
    return min(found.sqnr_db, LEAST_SQNR)


def costs(found: Result) -> tuple[int, int, int]:
    return (found.flash, found.ram, found.instructions or found.macs)


def dominates(a: Result, b: Result) -> bool:
    """Is a nowhere worse than b, and somewhere better?"""
    left = (*quality(a), *(-cost for cost in costs(a)))
    right = (*quality(b), *(-cost for cost in costs(b)))
    pairs = list(zip(left, right, strict=True))
    return all(x >= y for x, y in pairs) and any(x > y for x, y in pairs)


def binding(found: Result, missed: str, sensitivity: Mapping[str, float]) -> LargestLayer | str:
    """The layer that a limit is missed by: the one that takes or loses most."""
    heavy = {"flash": found.largest, "ram": found.fullest, "instructions": found.slowest}.get(missed)
    return heavy or max(sensitivity, key=lambda name: sensitivity[name], default="")
