"""Ranges from histograms: those that the definitions ask for, computed bin by bin."""

from collections import defaultdict
from math import log

import numpy as np
import pytest

from edgekit.core.types import Array
from edgekit.quantize.calibration.observe import _BINS, Statistics, least_entropy, least_error


def seen(x: Array) -> Statistics:
    statistics = Statistics()
    statistics.add(x.astype(np.float32))
    return statistics


def samples(kind: str) -> Array:
    random = np.random.default_rng(5)
    match kind:
        case "one side":
            return np.abs(random.standard_normal(4000)) ** 3
        case "outliers":
            return np.concatenate([random.standard_normal(6000), [40.0, -25.0]])
    return random.laplace(size=5000)


def candidates(s: Statistics) -> list[tuple[float, float]]:
    return [(min(s.low, 0.0) * kept, max(s.high, 0.0) * kept) for kept in np.linspace(1.0, 0.3, 36)]


def divergence(s: Statistics, low: float, high: float) -> float:
    """Kullback and Leibler's, of what is seen, with outliers at the ends, from its means over 255 steps."""
    bins = [
        (x, float(n) if abs(i - _BINS / 2 + 0.5) > 1 else 0.0)
        for i, (x, n) in enumerate(zip(s.centres, s.counts, strict=True))
    ]
    inside = [(x, n) for x, n in bins if low <= x <= high]
    clipped = [n for _, n in inside]
    clipped[0] += sum(n for x, n in bins if x < low)
    clipped[-1] += sum(n for x, n in bins if x > high)
    steps = defaultdict(list)
    for i, (x, n) in enumerate(inside):
        if n:
            steps[int((x - low) / ((high - low) / 255))].append(i)
    told = [0.0] * len(inside)
    for members in steps.values():
        for i in members:
            told[i] = sum(inside[k][1] for k in members) / len(members)
    pairs = [(p / sum(clipped), q / sum(told)) for p, q in zip(clipped, told, strict=True)]
    return sum(p * log(p / max(q, 1e-12)) for p, q in pairs if p)


@pytest.mark.parametrize("kind", ["one side", "outliers"])
def test_the_range_of_least_divergence_is_found(kind: str) -> None:
    s = seen(samples(kind))
    scores = [divergence(s, low, high) for low, high in candidates(s)]
    assert least_entropy(s) == candidates(s)[int(np.argmin(scores))]


def test_the_range_of_least_error_is_found() -> None:
    s = seen(samples("both sides"))
    bins = [(x, n) for x, n in zip(s.centres, s.counts, strict=True) if n]
    errors = []
    for low, high in candidates(s):
        step = (high - low) / 255
        errors.append(sum(n * (x - min(max(round(x / step) * step, low), high)) ** 2 for x, n in bins))
    assert least_error(s) == candidates(s)[int(np.argmin(errors))]
