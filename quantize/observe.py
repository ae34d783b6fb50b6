"""What calibration sees of each tensor: extremes, a histogram, channel means; memory does not grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from edgekit import simulate
from edgekit.errors import EdgeKitError
from edgekit.ir import Array, Graph

_BINS = 4096  # over [-reach, reach]; reach doubles when a value is outside


@dataclass
class Statistics:
    """One tensor over all samples so far."""

    low: float = np.inf
    high: float = -np.inf
    reach: float = 0.0
    counts: Array = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    sums: Array | None = None  # of each channel (last dimension)
    rows: int = 0

    def add(self, x: Array) -> None:
        low, high = float(x.min()), float(x.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        largest = max(abs(low), abs(high))
        if self.reach == 0.0:
            self.reach = largest
        while self.reach and largest > self.reach:
            self._double()
        if self.reach:
            self.counts += np.histogram(x, _BINS, (-self.reach, self.reach))[0]
        else:
            self.counts[_BINS // 2] += x.size
        channels = x.reshape(-1, x.shape[-1] if x.ndim else 1).astype(np.float64)
        total = channels.sum(axis=0)
        self.sums = total if self.sums is None else self.sums + total
        self.rows += channels.shape[0]

    def _double(self) -> None:
        """The same counts over a range twice as wide."""
        pairs = self.counts.reshape(-1, 2).sum(axis=1)
        self.counts = np.concatenate([np.zeros(_BINS // 4, np.int64), pairs, np.zeros(_BINS // 4, np.int64)])
        self.reach *= 2

    @property
    def means(self) -> Array:
        """Mean of each channel."""
        assert self.sums is not None
        return self.sums / max(self.rows, 1)

    @property
    def centres(self) -> Array:
        """The value that each count stands for."""
        return (np.arange(_BINS) + 0.5) * (2 * self.reach / _BINS) - self.reach


Progress = Callable[[int], None]


def observe(
    graph: Graph, samples: Iterable[Mapping[str, Array]], progress: Progress = lambda done: None
) -> dict[str, Statistics]:
    """Statistics of every floating tensor that the graph computes or takes, over all samples."""
    found: dict[str, Statistics] = {}
    done = 0
    for sample in samples:
        for name, data in sample.items():
            if data.dtype.kind == "f" and not np.isfinite(data).all():
                raise EdgeKitError(
                    "E0408", f"sample {done} of {name} holds NaN or infinity", hint="clean the data"
                )
        for name, value in simulate.run_all(graph, sample).items():
            if graph.data(name) is None and value.dtype.kind == "f" and value.size:
                if not np.isfinite(value).all():
                    raise EdgeKitError("E0408", f"sample {done} makes {name} infinite or NaN")
                found.setdefault(name, Statistics()).add(value)
        done += 1
        progress(done)
    if not done:
        raise EdgeKitError(
            "E0107", "there is no calibration sample", hint="--calib takes an .npz or .npy file"
        )
    return found


# Ranges. Each takes statistics and gives (low, high).
Range = tuple[float, float]


def minmax(s: Statistics) -> Range:
    """All that was seen."""
    return s.low, s.high


def percentile(s: Statistics, share: float) -> Range:
    """Without the outermost values on both sides, so that `share` of all remain."""
    cumulative = np.cumsum(s.counts) / s.counts.sum()
    tail = (1 - share) / 2
    first = int(np.searchsorted(cumulative, tail))
    last = int(np.searchsorted(cumulative, 1 - tail))
    width = 2 * s.reach / _BINS
    low = s.low if s.low >= 0 else max(s.low, first * width - s.reach)
    high = s.high if s.high <= 0 else min(s.high, (last + 1) * width - s.reach)
    return low, high


def least_error(s: Statistics) -> Range:
    """The clipped range whose 255 steps are nearest to what was seen, in the mean square."""
    x, weights = s.centres, s.counts.astype(np.float64)
    seen = weights > 0
    x, weights = x[seen], weights[seen]
    best, best_error = minmax(s), np.inf
    for kept in np.linspace(1.0, 0.3, 36):
        low, high = min(s.low, 0.0) * kept, max(s.high, 0.0) * kept
        step = (high - low) / 255 or 1.0
        error = float((weights * (np.clip(np.rint(x / step) * step, low, high) - x) ** 2).sum())
        if error < best_error:
            best, best_error = (low, high), error
    return best


RANGES: Mapping[str, Callable[[Statistics], Range]] = {
    "minmax": minmax,
    "percentile": lambda s: percentile(s, 0.9999),
    "mse": least_error,
}
