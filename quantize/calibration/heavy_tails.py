"""Heavy tails: what fresh samples have beyond all that calibration saw of a tensor.

Peaks over a threshold follow a generalized Pareto distribution, whatever the tensor's own one is (extreme
value theory). Its shape, from the largest values that were seen, tells light tails from heavy ones before any
sample has left the range.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from edgekit.core import fixed
from edgekit.core.ir import Graph
from edgekit.core.types import Array, Type
from edgekit.quantize.calibration.function_ranges import reading_function
from edgekit.quantize.calibration.observe import Range, Statistics
from edgekit.quantize.integers.int8 import Quantized

_MAX_PEAKS = 50  # values, of each side
_MAX_SHARE = 0.1  # of all, at most
_MIN_PEAKS = 20  # peaks: fewer say nothing
_MAX_SHAPE = 0.45  # shape: that of a half has no variance
_MIN_SHAPE = -10.0
_NEARLY_0 = 1e-6  # the exponential distribution is that of 0


def clipped(
    graph: Graph, made: Quantized, statistics: Mapping[str, Statistics]
) -> Iterator[tuple[float, str]]:
    """Signal to noise in dB of tensors of integers, if the only noise is what fresh samples have beyond the
    range, and beyond what was seen, which trials have judged. A function such as a sigmoid that alone reads
    a tensor is flat there."""
    for name, seen in statistics.items():
        own = made.graph.values.get(made.names.get(name, ""))
        if (
            own is None
            or (own.type.quant is None and name not in graph.inputs)
            or reading_function(graph, name)
        ):
            continue
        low, high = _range(own.type)
        yield clipping(seen, (min(low, seen.low), max(high, seen.high))), name


def _range(type: Type) -> Range:
    """Of a tensor of integers; nothing of floats, which are clipped where they become integers."""
    if type.quant is None:
        return 0.0, 0.0
    low, high = fixed.int_range(type.dtype)
    scale, zero = type.quant.scale[0], type.quant.zero[0]
    return (low - zero) * scale, (high - zero) * scale


def clipping(s: Statistics, kept: Range) -> float:
    """Signal to noise in dB of a tensor that loses what is beyond a range; at most 200."""
    is_used = s.counts > 0
    x, counts = s.centres[is_used], s.counts[is_used]
    low, high = kept
    noise = _beyond(x[::-1], counts[::-1], high) + _beyond(-x, counts, -low)
    signal = float((counts * np.square(x)).sum()) / max(int(counts.sum()), 1)
    return min(10 * math.log10(signal / noise), 200.0) if noise and signal else 200.0


def _beyond(x: Array, counts: Array, end: float) -> float:
    """The mean square of what fresh values exceed an end by; a histogram has the largest values first."""
    total = int(counts.sum())
    last = int(np.searchsorted(np.cumsum(counts), min(_MAX_PEAKS, _MAX_SHARE * total)))
    times = counts[:last].astype(np.intp)  # numpy takes no wider ones, and WebAssembly has 32 bits
    peaks = np.repeat(x[:last], times) - x[last]
    if len(peaks) < _MIN_PEAKS:
        return 0.0
    shape, scale = pareto(peaks)
    farther = scale + shape * max(end - float(x[last]), 0.0)  # the scale of what exceeds the end
    if farther <= 0:
        return 0.0  # so does the tail, before that
    passing = math.exp(-math.log(farther / scale) / shape)
    return len(peaks) / total * passing * 2 * farther**2 / ((1 - shape) * (1 - 2 * shape))


def pareto(peaks: Array) -> tuple[float, float]:
    """Shape and scale of the generalized Pareto distribution of what exceeds a threshold, by moments that are
    weighted with ranks (probability-weighted moments of Hosking and Wallis). Above 0, the tail is heavy."""
    falling = np.sort(peaks)[::-1]
    mean = float(falling.mean())
    least = float((falling * np.arange(len(falling))).sum() / (len(falling) * (len(falling) - 1)))
    if mean <= 2 * least:  # all are the same
        return _MIN_SHAPE, mean * (1 - _MIN_SHAPE)
    shape = min(max(2 - mean / (mean - 2 * least), _MIN_SHAPE), _MAX_SHAPE)
    shape = shape if abs(shape) > _NEARLY_0 else _NEARLY_0
    return shape, mean * (1 - shape)
