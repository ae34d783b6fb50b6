"""Ranges from histograms: those that the definitions ask for, computed bin by bin."""

from collections import defaultdict
from math import log

import numpy as np
import pytest
from support.nets import Net

from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibrated_tensors import CalibratedTensors
from edgekit.quantize.calibration.observe import _BINS, Statistics, extremes, least_entropy, least_error


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


def test_extremes_have_room_for_what_more_samples_show() -> None:
    """Largest values after Gumbel: of eight times as many samples, they are ln 8 of its scale larger, which
    is 0.78 standard deviations. The least values are the same in all samples, and remain."""
    random = np.random.default_rng(0)
    most = random.gumbel(5.0, 2.0, 1000)
    s = Statistics()
    for part in np.split(most, 10):
        s.add(np.stack([np.full(100, -1.0), part], axis=1).reshape(-1, 1).astype(np.float32), 100)
    low, high = extremes(s)
    assert low == -1.0
    assert high - most.max() == pytest.approx(log(8) * 2.0, rel=0.05)
    fresh = np.array([random.gumbel(5.0, 2.0, 8000).max() for _ in range(200)])
    assert 0.3 < np.mean(fresh < high) < 0.9


@pytest.mark.parametrize("x", [-1.0, -0.3, 0.0, 0.7, 5.3])
def test_a_count_stands_for_the_middle_of_its_cell(x: float) -> None:
    statistics = seen(np.array([x, 6.0]))
    cell = 2 * statistics.reach / _BINS
    places = statistics.centres[statistics.counts > 0]
    np.testing.assert_allclose(places, [x, 6.0], rtol=0, atol=cell * 0.501)
    assert statistics.centres[0] == pytest.approx(cell / 2 - statistics.reach, abs=cell * 1e-6)


def test_extremes_of_few_samples_have_more_room() -> None:
    random = np.random.default_rng(1)
    inside = {}
    for count in (8, 32):
        kept = []
        for _ in range(300):
            s = Statistics()
            s.add(random.standard_normal((count, 1)).astype(np.float32), count)
            kept.append(extremes(s)[1] > 2.33)  # which one of a hundred is above
        inside[count] = np.mean(kept)
    assert min(inside.values()) > 0.75
    two = Statistics()
    two.add(np.array([[-1.0, 1.0], [-0.2, 4.0]], np.float32), 2)
    assert extremes(two) == (-5.0, 8.0)  # a deviation of two tells nothing


def test_extremes_of_statistics_together_are_those_of_all_samples() -> None:
    x = np.random.default_rng(2).standard_normal((12, 5)).astype(np.float32)
    whole, first, second = Statistics(), Statistics(), Statistics()
    whole.add(x, 12)
    first.add(x[:4], 4)
    second.add(x[4:], 8)
    assert extremes(first + second) == pytest.approx(extremes(whole))
    alone = Statistics()
    alone.add(x)
    assert extremes(alone) == (float(x.min()), float(x.max()))


def test_ranges_end_where_the_graph_ends() -> None:
    """Room for more than was seen is of no use where nothing more can be."""
    net = Net()
    x = net(Sigmoid(), net(Dense(hi=6.0), net.x(2, 4), net.random(3, 4), net.random(3)))
    graph = net.done(x)
    (hidden,) = (node.outputs[0] for node in graph.nodes if isinstance(node.op, Dense))
    seen = {name: Statistics() for name in (hidden, x)}
    seen[hidden].add(np.array([[-2.0, 5.0]], np.float32))
    seen[x].add(np.array([[0.2, 0.8]], np.float32))
    tensors = CalibratedTensors.of(graph, seen)
    assert tensors.range(hidden, "200%") == (-4.0, 6.0)
    largest = 1 / (1 + np.exp(-6.0))
    assert tensors.range(x, "200%") == pytest.approx((0.4, largest))
    assert tensors.range(x, "150%") == pytest.approx((0.3, largest))
    assert tensors.range(x, "minmax") == pytest.approx((0.2, 0.8))


def test_a_logit_that_was_positive_in_all_samples_may_be_negative() -> None:
    s = Statistics()
    s.add(np.random.default_rng(3).normal(6.0, 3.0, (8, 1)).clip(0.5).astype(np.float32), 8)
    assert s.low > 0
    assert extremes(s)[0] < 0


@pytest.mark.parametrize("scale", [1.0, 0.3, 2.0**-140, 1e30])
def test_counts_are_those_of_numpy(scale: float) -> None:
    """Ends of cells included, the largest value counts in the last one."""
    random = np.random.default_rng(5)
    for x in (
        random.normal(size=5000),
        random.standard_t(1, size=5000),
        np.arange(-4096, 4097) / 4096,
        np.array([1.0, -1.0, 0.0, 2.0**-12, -(2.0**-12)]),
    ):
        data = (x * scale).astype(np.float32)
        seen = Statistics()
        seen.add(data)
        expected, _ = np.histogram(data.astype(np.float64), len(seen.counts), (-seen.reach, seen.reach))
        assert np.array_equal(seen.counts, expected)
