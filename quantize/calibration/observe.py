"""What calibration sees of each tensor: extremes, a histogram, channel means; memory does not grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.types import Array
from edgekit.quantize.calibration.sample_batches import Sample, SampleBatch, stack_size

_AHEAD = 8  # times as many samples as were seen, whose extremes ranges can have room for
FAR = 8  # scales of the distribution: beyond, 3,000 times as many samples show one value
_Z_999 = 3.09  # standard deviations above the mean, of the normal distribution: one of a thousand is beyond
_TINY = 2.0**-100  # below, a factor may be too large for float32
_BINS = 8192  # over [-reach, reach]; reach is a power of two, and doubles when a value is outside


@dataclass
class Statistics:
    """One tensor over all samples so far."""

    low: float = np.inf
    high: float = -np.inf
    reach: float = 0.0
    counts: Array = field(default_factory=lambda: np.zeros(_BINS, np.int64))
    sums: Array | None = None  # of each channel (last dimension)
    lows: Array | None = None  # of each channel, as highs
    highs: Array | None = None
    rows: int = 0
    samples: int = 0
    # Sums of each sample's extremes, and of their squares.
    ends: Array = field(default_factory=lambda: np.zeros((2, 2)))

    def add(self, x: Array, samples: int = 1) -> None:
        """What so many samples give, one after the other."""
        alone = x.reshape(samples if x.size % samples == 0 else 1, -1).astype(np.float64)
        extremes = np.stack([alone.min(axis=1), alone.max(axis=1)])
        self.ends = self.ends + np.stack([extremes.sum(axis=1), np.square(extremes).sum(axis=1)])
        self.samples += len(alone)
        low, high = float(x.min()), float(x.max())
        self.low, self.high = min(self.low, low), max(self.high, high)
        largest = max(abs(low), abs(high))
        if largest:
            self._reach_to(2.0 ** np.ceil(np.log2(largest)))
        if self.reach:
            self.counts += self._histogram(x)
        else:
            self.counts[_BINS // 2] += x.size
        channels = x.reshape(-1, x.shape[-1] if x.ndim else 1).astype(np.float64)
        total = channels.sum(axis=0)
        self.sums = total if self.sums is None else self.sums + total
        lows, highs = channels.min(axis=0), channels.max(axis=0)
        self.lows = lows if self.lows is None else np.minimum(self.lows, lows)
        self.highs = highs if self.highs is None else np.maximum(self.highs, highs)
        self.rows += channels.shape[0]

    def __add__(self, other: Statistics) -> Statistics:
        """Both together."""
        first, second = replace(self), replace(other)
        for part, reach in ((first, second.reach), (second, first.reach)):
            part._reach_to(reach)
        assert first.sums is not None
        assert first.lows is not None
        assert second.lows is not None
        assert first.highs is not None
        assert second.highs is not None
        return replace(
            first,
            low=min(first.low, second.low),
            high=max(first.high, second.high),
            counts=first.counts + second.counts,
            sums=first.sums + second.sums,
            lows=np.minimum(first.lows, second.lows),
            highs=np.maximum(first.highs, second.highs),
            rows=first.rows + second.rows,
            samples=first.samples + second.samples,
            ends=first.ends + second.ends,
        )

    def _reach_to(self, reach: float) -> None:
        """Make room for values up to `reach`, a power of two, or 0."""
        if self.reach == 0.0 and reach:
            self.reach = reach
        while self.reach < reach:
            self._double()

    def _histogram(self, x: Array) -> Array:
        """As numpy's, in a fifth of the time: cells are powers of two, and x is divided by them exactly."""
        wide = np.float32 if x.dtype == np.float32 and self.reach > _TINY else np.float64
        cells = np.floor(x.reshape(-1) * wide(_BINS / (2 * self.reach))).astype(np.intp)
        cells += _BINS // 2
        return np.bincount(np.minimum(cells, _BINS - 1, out=cells), minlength=_BINS)

    def _double(self) -> None:
        """The same counts over a range twice as wide."""
        pairs = self.counts.reshape(-1, 2).sum(axis=1)
        self.counts = np.concatenate([np.zeros(_BINS // 4, np.int64), pairs, np.zeros(_BINS // 4, np.int64)])
        self.reach *= 2

    @property
    def reaches(self) -> Array | None:
        """The largest magnitude of each channel."""
        return None if self.lows is None or self.highs is None else np.maximum(-self.lows, self.highs)

    @property
    def means(self) -> Array:
        """Mean of each channel."""
        assert self.sums is not None
        return self.sums / max(self.rows, 1)

    @property
    def centres(self) -> Array:
        """The value that each count stands for."""
        return (np.arange(_BINS) + 0.5) * (2 * self.reach / _BINS) - self.reach

    def share_beyond(self, other: Statistics) -> float:
        """The power of what exceeds the range of another one, as a share of all."""
        x = self.centres
        off = x - x.clip(min(other.low, 0.0), max(other.high, 0.0))
        power = float((self.counts * np.square(x)).sum())
        return float((self.counts * np.square(off)).sum()) / power if power else 0.0


class Observer:
    """Statistics of every floating tensor that a graph takes or computes, over all samples so far."""

    def __init__(self, graph: Graph, batch_size: int = 0) -> None:
        self.graph = graph
        self.seen = 0
        self._statistics: dict[str, Statistics] = {}
        self._waiting: list[Sample] = []
        self.batch_size = batch_size  # how many samples run at once; 0: not known yet

    def add(self, sample: Sample) -> None:
        for name, data in sample.items():
            if data.dtype.kind == "f" and not np.isfinite(data).all():
                raise EdgeKitError(
                    "E0408", f"sample {self.seen} of {name} holds NaN or infinity", hint="clean the data"
                )
        self.seen += 1
        self._waiting.append(sample)
        if not self.batch_size and len(self._waiting) > 1:
            self.batch_size = stack_size(self.graph, self._waiting)
        if self.batch_size and len(self._waiting) >= self.batch_size:
            self._run()

    @property
    def statistics(self) -> dict[str, Statistics]:
        if self._waiting:
            self._run()
        return self._statistics

    def _run(self) -> None:
        size = self.batch_size or 1
        for first in range(0, len(self._waiting), size):
            self._look_at(
                SampleBatch.of(self._waiting[first : first + size]), self.seen - len(self._waiting) + first
            )
        self._waiting.clear()

    def _look_at(self, stack: SampleBatch, first: int) -> None:
        """A stack whose first sample is of this number."""
        with np.errstate(all="ignore"):  # what overflows is refused below
            values = simulate.run_all(stack.graph(self.graph), stack.values)
        for node in self.graph.nodes:
            if isinstance(node.op, Recurrent):
                values |= zip(node.outputs, node.op.course(*(values[n] for n in node.inputs)), strict=True)
        for name, value in values.items():
            if self.graph.data(name) is None and value.dtype.kind == "f" and value.size:
                is_finite = np.isfinite(value)
                if not is_finite.all():
                    which = first + int(is_finite.reshape(stack.count, -1).all(axis=1).argmin())
                    raise EdgeKitError(
                        "E0408",
                        f"sample {which} makes {name} infinite or NaN",
                        hint=self._suspect(),
                    )
                last = self.graph.type(name).shape[-1:] or (1,)  # a stack of vectors is one longer vector
                self._statistics.setdefault(name, Statistics()).add(value.reshape(-1, *last), stack.count)

    def _suspect(self) -> str:
        """What may have made a result infinite."""
        for name, data in self.graph.constants():
            if data.dtype.kind == "f" and np.isnan(data).any():
                return f"{name} holds NaN: train again, or from an earlier checkpoint"
        return "are the data normalized as in training?"


# Ranges. Each takes statistics and gives (low, high).
Range = tuple[float, float]


def minmax(s: Statistics) -> Range:
    """All that was seen."""
    return s.low, s.high


def gumbel_scales(s: Statistics) -> Range:
    """Of the distributions after Gumbel of the least and of the largest value of a sample: the larger, the
    farther more samples go beyond what was seen. Few samples tell little of the deviation, for which
    Student's t makes up."""
    if s.samples < 2:
        return 0.0, 0.0
    freedom = s.samples - 1
    variance = np.maximum(s.ends[1] - s.ends[0] ** 2 / s.samples, 0.0) / freedom
    farther = student(_Z_999, freedom) / _Z_999
    below, above = (math.sqrt(6) / math.pi * farther * np.sqrt(variance)).tolist()
    return below, above


def student(z: float, freedom: float) -> float:
    """The quantile of Student's t with so many degrees of freedom, about, that the normal distribution has at
    z."""
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def extremes(s: Statistics) -> Range:
    """What several times as many samples can be expected to show: much more than was seen where each sample
    has few values, hardly more where all have the same; at most twice what was seen. A logit that was
    positive in all samples may be negative: what cannot be is proven elsewhere."""
    most = max(-s.low, s.high)
    below, above = (min(math.log(_AHEAD) * scale, most) for scale in gumbel_scales(s))
    return s.low - below, s.high + above


def far(s: Statistics) -> Range:
    """Twice what was seen, or where thousands of times as many samples would show one value more; at most
    eight times what was seen, which leaves 12 of 16 bits."""
    most = 7 * max(-s.low, s.high)
    below, above = (min(FAR * scale, most) for scale in gumbel_scales(s))
    return min(2 * s.low, s.low - below), max(2 * s.high, s.high + above)


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


def least_entropy(s: Statistics) -> Range:
    """The clipped range in which 255 steps tell the most about what was seen: the least divergence between
    the counts, with outliers at the ends, and their means over each step."""
    x, seen = s.centres, s.counts.astype(np.float64)
    seen[_BINS // 2 - 1 : _BINS // 2 + 1] = 0  # zeros are exact in any range, and would outnumber all else
    below = np.cumsum(seen) - seen
    best, least = minmax(s), np.inf
    for kept in np.linspace(1.0, 0.3, 36):
        low, high = min(s.low, 0.0) * kept, max(s.high, 0.0) * kept
        first, last = np.searchsorted(x, low), np.searchsorted(x, high, "right") - 1
        if below[last] + seen[last] == below[first]:
            continue
        is_used = seen[first : last + 1] > 0  # of thousands, mostly few are
        is_used[[0, -1]] = True  # what is outside counts at the ends
        at = first + np.flatnonzero(is_used)
        inside = seen[at]
        clipped = inside.copy()
        clipped[0] += below[first]
        clipped[-1] += seen.sum() - below[last] - seen[last]
        step = ((x[at] - low) / ((high - low) / 255 or 1.0)).astype(np.intp)
        used = inside > 0
        total = np.bincount(step, inside, 256)
        cells = np.bincount(step, used, 256)
        told = np.where(used, (total / np.maximum(cells, 1))[step], 0.0)
        p, q = clipped / clipped.sum(), told / told.sum()
        both = p > 0
        divergence = float((p[both] * np.log(p[both] / np.maximum(q[both], 1e-12))).sum())
        if divergence < least:
            best, least = (low, high), divergence
    return best


RANGES: Mapping[str, Callable[[Statistics], Range]] = {
    "minmax": minmax,
    "percentile": lambda s: percentile(s, 0.9999),
    "mse": least_error,
    "entropy": least_entropy,
}
