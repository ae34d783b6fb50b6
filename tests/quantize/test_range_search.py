"""What is seen and tried while ranges are chosen, and what the user hears of it."""

import math
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
from support.nets import Net

from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibrated_tensors import EXTREMES, PICKS
from edgekit.quantize.calibration.calibration_samples import CalibrationSamples, held_out
from edgekit.quantize.calibration.cross_fit import CrossFit
from edgekit.quantize.calibration.observe import RANGES, Statistics, minmax
from edgekit.quantize.calibration.range_search import PATIENCE, choose, singles
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.calibration.search_budget import SearchBudget, pass_work
from edgekit.quantize.measure import Measure, ratio, sqnr
from edgekit.quantize.post_training import quantize
from edgekit.quantize.rounding.refinement import _affordable
from edgekit.quantize.settings import METHODS, Settings


def _quiet(step: str) -> None:
    pass


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


def test_trials_leave_room_or_clip_in_small_steps() -> None:
    seen = Statistics()
    seen.add(np.array([[-2.0, 4.0]], np.float32))
    tried = [pick(seen) for method, pick in PICKS.items() if method not in (*RANGES, EXTREMES)]
    assert tried[0] == (-4.0, 8.0)
    assert tried[-1][1] < minmax(seen)[1]
    for (low, high), (nearer_low, nearer_high) in pairwise(tried):
        assert low < nearer_low <= 0.7 * low
        assert 0.7 * high <= nearer_high < high


def test_tensors_of_nothing_let_as_many_samples_fit_as_small_ones() -> None:
    nets = [Net(), Net()]
    graphs = [net.done(net(Neg(), net.x(size), name="y")) for net, size in zip(nets, (0, 1), strict=True)]
    assert _affordable(graphs[0]) == _affordable(graphs[1])


def test_a_search_takes_no_more_work_than_its_budget() -> None:
    """One more trial may be under way when it ends. Without a budget it goes through all tensors. A channel
    that is large, and that no layer reads, makes a narrower range better for every sample."""
    net = Net()
    x = net.x(8, 32)
    rng = np.random.default_rng(0)
    for _ in range(3):
        weights = rng.normal(size=(32, 32)).astype(np.float32) / 6
        weights[0] *= 10
        weights[:, 0] = 0
        x = net(Dense(lo=0.0), x, weights, net.random(32))
    graph = net.done(net(Dense(), x, weights[1:], net.random(31), name="y"))
    data = rng.normal(size=(24, 8, 32)).astype(np.float32)
    samples = [{graph.inputs[0]: row} for row in data]
    seen = CalibrationSamples.of(graph, samples, _quiet)
    fit = CrossFit.both_ways(seen, Measure(graph, seen.held), 24, {})
    spent, quality, whole = [], [], 1.0
    for limit in (math.inf, 0.0, 0.3, 1.0):
        budget = SearchBudget()
        start = singles(fit, _quiet)["minmax"]
        start = replace(start, trial=fit.trial(start.methods))
        few = fit.on_some(24, budget)
        before = budget.spent
        budget.limit = before + limit * whole
        found = choose(few, start, _quiet)
        spent.append((budget.spent - before) / whole)
        whole = spent[0]
        quality.append(found.quality)
    assert spent[1] == 0.0
    assert 0.05 < spent[2] < 0.4
    assert spent[2] < spent[3] < 1.1
    assert quality[1] < quality[3] <= quality[0]
    assert quality[1] <= quality[2]


def test_a_search_ends_where_it_no_longer_pays() -> None:
    """The input gains, which is tried first. Six others do not, and the rest is not tried; with unlimited
    patience it is, for nothing."""
    net = Net()
    x = net.x(8, 16)
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = net(Dense(lo=0.0), x, rng.normal(size=(16, 16)).astype(np.float32) / 4, net.random(16))
    graph = net.done(net(Dense(), x, rng.normal(size=(3, 16)).astype(np.float32), net.random(3), name="y"))
    samples = [{graph.inputs[0]: x} for x in rng.normal(size=(24, 8, 16)).astype(np.float32)]
    seen = CalibrationSamples.of(graph, samples, _quiet)
    fit = CrossFit.both_ways(seen, Measure(graph, seen.held), 24, {})
    tried = singles(fit, _quiet)
    best, *others = tried.values()
    assert best.trial
    assert not any(other.trial or other.quality > best.quality for other in others)
    assert [*singles(fit, _quiet, [*tried][:2])] == [*tried][:2]
    spent, heard, found = [], [], []
    for patience in (PATIENCE, np.inf):
        budget, said = SearchBudget(), list[str]()
        found.append(choose(fit.on_some(24, budget), best, said.append, patience))
        spent.append(budget.spent)
        heard.append(said)
    left = len(heard[1]) - len(heard[0]) + 1
    assert heard[0][-1] == f"the last {PATIENCE} tensors gained nothing: {left} keep their ranges"
    assert len(heard[0]) < len(heard[1]) == 11
    assert spent[0] < 0.8 * spent[1]
    assert found[0].quality == found[1].quality


def test_the_budget_is_so_many_float_passes_but_some_seconds_at_least() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 512), net.random(512, 512), net.random(512)))
    assert SearchBudget.of(graph, 1).limit == SearchBudget.of(graph, 10).limit
    large = SearchBudget.of(graph, 10**6)
    assert large.limit == 20 * 10**6 * pass_work(graph)
    assert SearchBudget.of(graph, 10**6, 5).limit == large.limit / 4


def _network(data: Array) -> tuple[Graph, list[Sample]]:
    net = Net()
    x = net.x(1, 16)
    for _ in range(4):
        x = net(Dense(lo=0.0), x, net.random(16, 16), net.random(16))
    graph = net.done(net(Dense(), x, net.random(3, 16), net.random(3), name="y"))
    return graph, [{graph.inputs[0]: row[None].astype(np.float32)} for row in data]


@pytest.mark.parametrize("seed", [3, 4])
def test_auto_is_not_behind_a_single_method_where_trials_overfit(seed: int) -> None:
    """With heavy tails and few samples; the choice is compared with every method before it is taken."""
    graph, samples = _network(np.random.default_rng(seed).standard_t(1.5, (12, 16)))
    found = {
        how: quantize(graph, samples, Settings(calibrate=how, strict_int8=True))[1].unseen_db
        for how in METHODS
    }
    assert found["auto"] >= max(found.values()) - 0.01


def test_auto_leaves_room_for_what_few_samples_have_not_shown() -> None:
    """On hundreds of fresh samples. Ranges of all that was seen clip them; judged by the samples that they
    come from, they look as if they did not, and a warning says so."""
    found: dict[str, list[float]] = {"auto": [], "minmax": []}
    told = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        graph, samples = _network(rng.normal(size=(8, 16)))
        fresh = [{graph.inputs[0]: row[None]} for row in rng.normal(size=(100, 16)).astype(np.float32)]
        truth = [simulate.run(graph, sample)["y"] for sample in fresh]
        for how, ratios in found.items():
            made, report = quantize(graph, samples, Settings(calibrate=how, strict_int8=True))
            (name,) = made.outputs
            seen = [simulate.run(made, dict(zip(made.inputs, s.values(), strict=True)))[name] for s in fresh]
            ratios.append(sqnr(truth, seen))
            if how == "minmax":
                told.append((report.unseen_db, ratios[-1], report.sqnr_db))
            assert how == "auto" or any("more samples help" in text for text in report.warnings)
    assert min(np.subtract(found["auto"], found["minmax"])) > 1
    low, between, high = np.mean(told, axis=0)
    assert low < between < high


def test_one_of_every_two_samples_is_held_out_whatever_takes_turns() -> None:
    held = list(islice(held_out(), 200))
    assert held[:2] == [False, True]
    assert all(first != second for first, second in zip(held[::2], held[1::2], strict=True))
    assert 30 < sum(held[::2]) < 70
    assert list(islice(held_out(), 200)) == held


def test_halves_judge_ranges_that_the_other_half_gives() -> None:
    graph, samples = _network(np.random.default_rng(0).normal(size=(10, 16)))
    seen = CalibrationSamples.of(graph, samples, _quiet)
    fit = CrossFit.both_ways(seen, Measure(graph, seen.held), 5, {})
    x = graph.inputs[0]
    for half in fit.halves:
        judged = np.concatenate([sample[x] for sample in half.measure.samples])
        fitting = np.concatenate([sample[x] for sample in half.fitting])
        assert half.tensors.range(x, "minmax") == (fitting.min(), fitting.max())
        assert not (judged[:, None] == fitting).all(axis=-1).any()
        assert len(judged) + len(fitting) == 10
    trial = fit.trial(dict.fromkeys(fit.tensors.means, "minmax"))
    parts = [half.measure.powers(one, "y") for half, one in zip(fit.halves, trial, strict=True)]
    assert fit.of(trial, "y") == pytest.approx(ratio(*np.sum(parts, axis=0)))


def test_outputs_are_not_clipped_where_few_samples_are_small() -> None:
    """A score that is seldom high, and was so in no sample; the layer before it has as much room. What other
    layers read is chosen by trial."""
    net = Net()
    hidden = net(Dense(lo=0.0), net.x(1, 6), net.random(8, 6), net.random(8))
    logit = net(Dense(), hidden, net.random(1, 8) * 4, np.float32([-3.0]))
    graph = net.done(net(Sigmoid(), logit, name="y"))
    rng = np.random.default_rng(3)
    data = rng.normal(size=(24, 1, 6)).astype(np.float32)
    _, report = quantize(graph, [{"x": row} for row in data], Settings(strict_int8=True))
    chosen = {layer.name: layer for layer in report.layers}
    assert chosen["y"].range == chosen[logit].range == EXTREMES
    fresh = rng.normal(size=(400, 1, 6)).astype(np.float32)
    largest = {"y": 0.0, logit: -np.inf}
    for row in fresh:
        values = simulate.run_all(graph, {"x": row})
        largest = {name: max(most, float(values[name].max())) for name, most in largest.items()}
    for name, most in largest.items():
        layer = chosen[name]
        assert layer.scale is not None
        assert layer.zero is not None
        assert (127 - layer.zero) * layer.scale > 0.9 * most


def test_16_bits_have_room_for_more_than_was_seen() -> None:
    net = Net()
    hidden = net(Dense(), net.x(1, 6), net.random(8, 6), net.random(8))
    graph = net.done(net(Dense(), hidden, net.random(3, 8), net.random(3), name="y"))
    data = np.random.default_rng(0).normal(size=(8, 1, 6)).astype(np.float32)
    seen = max(float(np.abs(simulate.run(graph, {"x": row})["y"]).max()) for row in data)
    _, report = quantize(graph, [{"x": row} for row in data], Settings(activations="int16"))
    (layer,) = (layer for layer in report.layers if layer.name == "y")
    assert layer.runs_in == "int16"
    assert layer.scale is not None
    assert 2 * seen < layer.scale * 32767 <= 8.01 * seen
