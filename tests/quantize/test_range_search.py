"""What is seen and tried while ranges are chosen, and what the user hears of it."""

from itertools import pairwise

import numpy as np
import pytest
from support.nets import Net

from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.dense import Dense
from edgekit.quantize.calibration.observe import RANGES, Observer, Statistics, minmax
from edgekit.quantize.calibration.range_search import PICKS, CalibratedTensors, best_single, choose, work
from edgekit.quantize.calibration.search_budget import SearchBudget, pass_work
from edgekit.quantize.measure import Measure
from edgekit.quantize.post_training import quantize
from edgekit.quantize.rounding.refinement import _affordable
from edgekit.quantize.settings import METHODS, Settings


def test_the_user_hears_of_every_method_and_tensor() -> None:
    net = Net()
    x = net(Dense(lo=0.0), net.x(1, 6), net.random(8, 6), net.random(8))
    graph = net.done(net(Dense(), x, net.random(3, 8), net.random(3), name="y"))
    heard: list[str] = []
    data = np.random.default_rng(0).normal(size=(12, 1, 6)).astype(np.float32)
    quantize(graph, [{"x": row} for row in data], progress=heard.append)
    for method in RANGES:
        assert f"trying {method} for all tensors" in heard
    assert any(text.startswith("choosing ranges, tensor 1 of ") for text in heard)


def test_magnitudes_of_channels_are_known_once_something_was_seen() -> None:
    seen = Statistics()
    before = seen.reaches
    assert before is None
    seen.add(np.array([[1.0, -3.0], [-2.0, 0.5]], np.float32))
    after = seen.reaches
    assert after is not None
    assert after.tolist() == [2.0, 3.0]


def test_trials_clip_ever_more_of_what_was_seen_in_small_steps() -> None:
    seen = Statistics()
    seen.add(np.array([[-2.0, 4.0]], np.float32))
    tried = [minmax(seen), *(pick(seen) for method, pick in PICKS.items() if method not in RANGES)]
    assert len(tried) > 2
    for (low, high), (nearer_low, nearer_high) in pairwise(tried):
        assert low < nearer_low <= 0.75 * low
        assert 0.75 * high <= nearer_high < high


def test_tensors_of_nothing_let_as_many_samples_fit_as_small_ones() -> None:
    nets = [Net(), Net()]
    graphs = [net.done(net(Neg(), net.x(size), name="y")) for net, size in zip(nets, (0, 1), strict=True)]
    assert _affordable(graphs[0]) == _affordable(graphs[1])


def test_a_search_takes_no_more_work_than_its_budget() -> None:
    """One more trial may be under way when it ends. Without a budget it goes through all tensors."""
    net = Net()
    x = net.x(1, 64)
    for _ in range(6):
        x = net(Dense(lo=0.0), x, net.random(64, 64), net.random(64))
    graph = net.done(net(Dense(), x, net.random(3, 64), net.random(3), name="y"))
    data = np.random.default_rng(0).standard_t(2, (24, 1, 64)).astype(np.float32)
    samples = [{graph.inputs[0]: row} for row in data]
    observer = Observer(graph)
    for sample in samples[:12]:
        observer.add(sample)
    tensors = CalibratedTensors.of(graph, observer.statistics)
    spent, quality = [], []
    for limit in (0.0, 0.3, 1.0):
        budget = SearchBudget(limit * work(tensors, 12))
        measure = Measure(graph, samples[12:], budget=budget)
        start = best_single(tensors, Measure(graph, samples[12:]), lambda text: None)
        found = choose(tensors, measure, start, lambda text: None)
        spent.append(budget.spent / work(tensors, 12))
        quality.append(found.quality)
    assert spent[0] == 0.0
    assert 0.05 < spent[1] < 0.4
    assert spent[1] < spent[2] < 1.1
    assert quality[0] < quality[2]
    assert quality[0] <= quality[1]


def test_the_budget_is_so_many_float_passes_but_some_seconds_at_least() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 512), net.random(512, 512), net.random(512)))
    assert SearchBudget.of(graph, 1).limit == SearchBudget.of(graph, 10).limit
    large = SearchBudget.of(graph, 10**6)
    assert large.limit == 20 * 10**6 * pass_work(graph)
    assert SearchBudget.of(graph, 10**6, 5).limit == large.limit / 4


@pytest.mark.parametrize("seed", [3, 4])
def test_auto_is_not_behind_a_single_method_where_trials_overfit(seed: int) -> None:
    """With heavy tails and few samples; the choice is compared with every method before it is taken."""
    net = Net()
    x = net.x(1, 16)
    for _ in range(4):
        x = net(Dense(lo=0.0), x, net.random(16, 16), net.random(16))
    graph = net.done(net(Dense(), x, net.random(3, 16), net.random(3), name="y"))
    data = np.random.default_rng(seed).standard_t(1.5, (12, 1, 16)).astype(np.float32)
    samples = [{graph.inputs[0]: row} for row in data]
    found = {
        how: quantize(graph, samples, Settings(calibrate=how, strict_int8=True))[1].sqnr_db for how in METHODS
    }
    assert found["auto"] == max(found.values())
