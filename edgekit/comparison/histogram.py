"""How the values of a tensor are distributed over all samples; memory does not grow with their number."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from edgekit.core.types import Array

_FINE = 2048  # cells over [-reach, reach]; reach is a power of two, and doubles when a value is outside
_SHOWN = 64  # cells of the result, at most


@dataclass(frozen=True)
class Histogram:
    """Counts of values in cells of equal width, the first with the least value, the last with the largest."""

    start: float  # where the first cell begins
    width: float  # of a cell
    counts: tuple[int, ...]
    low: float  # the least and the largest value
    high: float


class Counter:
    """Counts values of which nothing is known before; what is not finite is left out."""

    def __init__(self) -> None:
        self.low, self.high, self.reach = math.inf, -math.inf, 0.0
        self.counts = np.zeros(_FINE, np.int64)

    def add(self, values: Array) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            values = values[finite]
        if not values.size:
            return
        low, high = float(values.min()), float(values.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        largest = max(abs(low), abs(high))
        if largest:
            self._reach_to(2.0 ** math.ceil(math.log2(largest)))
        if self.reach:
            self.counts += np.histogram(values, _FINE, (-self.reach, self.reach))[0]
        else:
            self.counts[_FINE // 2] += values.size

    def _reach_to(self, reach: float) -> None:
        self.reach = self.reach or reach
        while self.reach < reach:
            pairs = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.pad(pairs, _FINE // 4)
            self.reach *= 2

    def histogram(self) -> Histogram | None:
        """None where there was no value."""
        used = np.flatnonzero(self.counts)
        if not len(used):
            return None
        first, last = int(used[0]), int(used[-1]) + 1
        merged = math.ceil((last - first) / _SHOWN)  # whole cells, or else they would seem to go up and down
        counts = np.zeros(math.ceil((last - first) / merged) * merged, np.int64)
        counts[: last - first] = self.counts[first:last]
        fine = 2 * self.reach / _FINE
        return Histogram(
            start=first * fine - self.reach,
            width=merged * fine,
            counts=tuple(int(n) for n in counts.reshape(-1, merged).sum(axis=1)),
            low=self.low,
            high=self.high,
        )
