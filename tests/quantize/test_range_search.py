"""What is seen and tried while ranges are chosen, and what the user hears of it."""

from itertools import pairwise

import numpy as np
from support.nets import Net

from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.dense import Dense
from edgekit.quantize import post_training
from edgekit.quantize.calibration.observe import RANGES, Statistics, minmax
from edgekit.quantize.calibration.range_search import PICKS
from edgekit.quantize.post_training import quantize
from edgekit.quantize.rounding.refinement import _affordable


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


def test_trials_take_no_more_work_than_they_may() -> None:
    """Of a method for each tensor, on half of the samples; four samples are always tried."""
    net = Net()
    x = net.x(1, 512)
    for _ in range(3):
        x = net(Dense(), x, net.random(512, 512), net.random(512))
    graph = net.done(x)
    macs, trials = 3 * 512 * 512, len(RANGES) * (len(graph.nodes) + 1)
    found = post_training._affordable(graph, 10**9)
    assert found == int(post_training._WORK / (macs * trials / 2))
    assert post_training._affordable(graph, 7) == 7
    assert post_training._affordable(graph, 0) == 4
