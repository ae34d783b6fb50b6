"""Ranges of logits count what the function behind them makes of errors."""

from math import inf

import numpy as np
import pytest
from support.nets import Net

from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Exp, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Sqrt
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibrated_tensors import EXTREMES, WIDE, CalibratedTensors
from edgekit.quantize.calibration.function_ranges import least_error_behind
from edgekit.quantize.calibration.observe import Statistics, extremes


def statistics(x: Array) -> Statistics:
    """Of samples, one a row."""
    s = Statistics()
    s.add(x.astype(np.float32).reshape(-1, 1), len(x))
    return s


def sigmoid(x: Array) -> Array:
    made: Array = 1 / (1 + np.exp(-x))
    return made


def error(x: Array, ends: tuple[float, float]) -> float:
    """The mean square behind a sigmoid, of int8 of this range."""
    low, high = ends
    step = (high - low) / 255
    zero = np.rint(-128 - low / step)
    kept = (np.clip(np.rint(x / step) + zero, -128, 127) - zero) * step
    return float(np.square(sigmoid(kept) - sigmoid(x)).mean())


def test_ends_where_a_function_is_flat_are_clipped() -> None:
    random = np.random.default_rng(0)
    s = statistics(random.normal(0, 4, (64, 16)))
    low, high = least_error_behind(s, np.tanh)
    assert -5 < low < -2.5
    assert 2.5 < high < 5
    assert extremes(s)[1] > 10


def test_an_end_that_few_samples_have_not_reached_has_room() -> None:
    """Probabilities that are seldom high, of calibrations that have met none of them."""
    random = np.random.default_rng(1)
    gains = []
    for _ in range(40):
        s = statistics(random.normal(-6, 2, (32, 1)))
        x = random.normal(-6, 2, 4000)
        gains.append([error(x, least_error_behind(s, sigmoid)), error(x, extremes(s))])
    chosen, plain = np.mean(gains, axis=0)
    assert 10 * np.log10(plain / chosen) > 2


def test_the_best_of_all_ranges_is_not_much_better() -> None:
    random = np.random.default_rng(2)
    x = random.normal(-1, 3, (512, 4))
    low, high = least_error_behind(statistics(x), sigmoid)
    grid = [(a, b) for a in np.linspace(-12, -1, 45) for b in np.linspace(1, 12, 45)]
    assert error(x, (low, high)) < 1.15 * min(error(x, ends) for ends in grid)


def test_what_is_infinite_does_not_count() -> None:
    s = statistics(np.random.default_rng(3).normal(80, 4, (32, 8)))
    low, high = least_error_behind(s, lambda x: np.where(x > 85, inf, x))
    assert low == 0
    assert np.isfinite(high)


def network(op: Op) -> tuple[Graph, str, str]:
    """A logit, moved, and its function."""
    net = Net()
    logit = net(Dense(), net.x(1, 4), net.random(1, 4), net.random(1))
    graph = net.done(net(Reshape((1,)), net(op, net(Reshape((1,)), logit)), name="y"))
    return graph, logit, "y"


def tensors(graph: Graph, x: Array, function: Op) -> CalibratedTensors:
    behind = function.eval(x.astype(np.float32))[0]
    seen = {}
    for name, value in graph.values.items():
        if value.data is None and name != "x":
            is_behind = name == "y" or isinstance(getattr(graph.producer(name), "op", None), type(function))
            seen[name] = statistics(behind if is_behind else x)
    return CalibratedTensors.of(graph, seen)


def test_results_have_room_for_what_the_ends_of_logits_become() -> None:
    x = np.random.default_rng(4).normal(-5, 2, (32, 1))
    graph, logit, y = network(Sigmoid())
    found = tensors(graph, x, Sigmoid())
    for method in (EXTREMES, WIDE):
        low, high = found.range(logit, method)
        assert found.range(y, method) == pytest.approx(
            (sigmoid(np.array(low)), sigmoid(np.array(high))), rel=1e-5
        )
    assert found.range(logit, EXTREMES)[1] > x.max()
    assert found.range(logit, WIDE)[1] > found.range(logit, EXTREMES)[1]
    assert found.range(logit, "minmax") == pytest.approx((x.min(), x.max()))


def test_functions_that_end_have_ranges_of_what_was_seen() -> None:
    """sqrt has no result for what is below 0, where a range may begin."""
    x = np.abs(np.random.default_rng(5).normal(5, 2, (32, 1)))
    graph, _, y = network(Sqrt())
    low, high = tensors(graph, x, Sqrt()).range(y, EXTREMES)
    assert low <= np.sqrt(x.min())
    assert np.sqrt(x.max()) <= high < 2.01 * np.sqrt(x.max())


def test_all_that_tanh_and_exp_give_is_finite() -> None:
    x = np.random.default_rng(6).normal(0, 60, (32, 1))
    for op in (Tanh(), Exp()):
        graph, logit, y = network(op)
        found = tensors(graph, x.clip(-80, 80), op)
        assert all(np.isfinite(found.range(name, m)).all() for name in (logit, y) for m in (EXTREMES, WIDE))
