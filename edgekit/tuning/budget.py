"""What a model may take and lose, and how far a result is from that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from edgekit.tuning.problem import LargestLayer, Result

_MIN_DROP = 0.01  # a limit below this counts as this, where violations are compared
_MIN_DB = 10.0


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

    def distance(self, found: Result) -> float:
        """0 where all limits are kept."""
        return sum(self.excess(found).values())


def quality(found: Result) -> tuple[float, float]:
    """What is better of two results: first that which users see, then what shows the finer differences."""
    return (found.accuracy or 0.0, min(found.sqnr_db, 200.0))


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
