"""Cross-layer equalization: another graph of the same function, whose channels reach as far as each other."""

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array
from edgekit.quantize import auto_ranges
from edgekit.quantize.calibration.calibration_samples import observed
from edgekit.quantize.calibration.observe import Observer
from edgekit.quantize.post_training import quantize
from edgekit.quantize.preparation.equalize import equalize, is_layer, pairs
from edgekit.quantize.settings import Settings

SPREAD = (2.0 ** np.linspace(-1.5, 1.5, 6)).astype(np.float32)  # of the channels between the layers


def net(second: Conv2d | Dense) -> Graph:
    made = Net(seed=1)
    if isinstance(second, Dense):
        y = made(Dense(lo=0.0), made.x(4, 5), made.random(6, 5) * SPREAD[:, None], made.random(6) * SPREAD)
        return made.done(made(second, y, made.random(3, 6), made.random(3)))
    w = made.random(6, 1, 1, 2) * SPREAD.reshape(6, 1, 1, 1)
    y = made(Conv2d(lo=0.0), made.x(2, 5, 5, 2), w, made.random(6) * SPREAD)
    return made.done(made(second, y, made.random(6, 3, 3, 6 // second.groups), made.random(6)))


@pytest.mark.parametrize("second", [Dense(), *(Conv2d(groups=groups) for groups in (1, 2, 3, 6))], ids=str)
def test_the_function_stays_and_channels_become_alike(second: Conv2d | Dense) -> None:
    graph = net(second)
    (pair,) = pairs(graph)
    between, observer = pair.first.outputs[0], Observer(graph)
    random = np.random.default_rng(2)
    samples = [{"x": random.standard_normal(graph.type("x").shape).astype(np.float32)} for _ in range(8)]
    for sample in samples:
        observer.add(sample)
    reach = {name: s.reaches for name, s in observer.statistics.items() if s.reaches is not None}
    made = equalize(graph, reach, (1.0, 1.0))
    assert_same(graph, made, 1e-4)
    after = Observer(made)
    for sample in samples:
        after.add(sample)
    found = after.statistics[between].reaches
    assert found is not None
    np.testing.assert_allclose(found, found.max(), rtol=1e-4)


@pytest.mark.parametrize("shared", ["weights", "bias"])
def test_weights_that_two_layers_share_are_left_alone(shared: str) -> None:
    """Scaled for one, they would be wrong for the other."""
    made = Net()
    w, b = (made.const(made.random(4, 4)), made.const(made.random(4)))
    own = {"weights": (w, made.const(made.random(4))), "bias": (made.const(made.random(4, 4)), b)}[shared]
    y = made(Dense(lo=0.0), made(Dense(lo=0.0), made.x(2, 4), w, b), *own)
    graph = made.done(y)
    assert not any(is_layer(graph, node) for node in graph.nodes)
    assert not pairs(graph)


def normed(norm: LayerNorm | RmsNorm, *, residual: bool = False) -> Graph:
    """Three layers behind a norm with two outlier channels, one of them behind a reshape; a second norm with
    the same constants."""
    made = Net(seed=1)
    x = made.x(4, 32)
    scale = np.ones(32, np.float32)
    scale[[3, 20]] = 40
    biases = [made.const(made.random(32))] if isinstance(norm, LayerNorm) else []
    constants = [made.const(scale), *biases]
    y = made(norm, x, *constants)
    layers = [made(Dense(), y, made.random(16, 32), made.random(16)) for _ in range(2)]
    rows = made(Reshape((2, 2, 32)), y)
    layers.append(made(Reshape((4, 16)), made(Dense(), rows, made.random(16, 32), made.random(16))))
    found = made(Add(), made(Add(), layers[0], layers[1]), layers[2])
    other = made(norm, x, *constants)
    return made.done(found, made(Add(), y, other) if residual else other)


@pytest.mark.parametrize("norm", [LayerNorm(1e-5), RmsNorm(1e-5)], ids=str)
def test_outlier_channels_behind_a_norm_move_into_weights(
    norm: LayerNorm | RmsNorm,
) -> None:
    graph = normed(norm)
    (pair,) = pairs(graph)
    assert len(pair.readers) == 3
    name = pair.first.outputs[0]
    samples = [{"x": np.random.default_rng(i).standard_normal((4, 32)).astype(np.float32)} for i in range(8)]
    made = equalize(graph, reaches(graph, samples), (1.0, 0.5))
    assert_same(graph, made, 1e-4)
    before, after = (reaches(g, samples)[name] for g in (graph, made))
    assert after.max() == pytest.approx(before.max(), rel=1e-4)
    assert np.median(after) > 4 * np.median(before)


def test_a_norm_that_a_residual_reads_is_computed_once_more() -> None:
    graph = normed(LayerNorm(1e-5), residual=True)
    (pair,) = pairs(graph)
    name = pair.first.outputs[0]
    assert len(pair.readers) == 3
    samples = [{"x": np.random.default_rng(i).standard_normal((4, 32)).astype(np.float32)} for i in range(8)]
    reach = reaches(graph, samples)
    assert equalize(graph, reach, (1.0, 0.5)).nodes == graph.nodes
    made = equalize(graph, reach, (1.0, 0.5), norms_twice=True)
    assert_same(graph, made, 1e-4)
    assert kinds(made).count("LayerNorm") == kinds(graph).count("LayerNorm") + 1
    assert [type(user.op) for user in made.users(name)] == [Add]
    after = reaches(made, samples)
    assert np.array_equal(after[name], reach[name])
    assert np.median(after[f"{name}_smoothed"]) > 4 * np.median(after[name])


def post_norm(outlier: float) -> Graph:
    """Two layers with a norm behind the sum with what they read, of which a few channels are large."""
    net = Net(seed=2)
    x = net.x(4, 32)
    for _ in range(2):
        scale = np.ones(32, np.float32)
        scale[[3, 20]] = outlier
        x = net(LayerNorm(1e-5), x, scale, net.random(32) / np.float32(10))
        hidden = net(Dense(lo=0.0), x, net.random(64, 32) / np.float32(6), net.random(64))
        x = net(Add(), x, net(Dense(), hidden, net.random(32, 64) / np.float32(8), net.random(32)))
    return net.done(net(Dense(), x, net.random(5, 32), net.random(5)))


@pytest.mark.parametrize(("outlier", "norms"), [(30.0, 4), (1.0, 2)])
def test_norms_are_computed_twice_where_that_helps(outlier: float, norms: int) -> None:
    graph, random = post_norm(outlier), np.random.default_rng(0)
    samples = [{"x": random.standard_normal((4, 32)).astype(np.float32)} for _ in range(16)]
    made, _ = quantize(graph, samples, Settings(strict_int8=True))
    assert kinds(made).count("LayerNorm") == norms


def test_auto_smooths_outlier_channels_where_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = normed(LayerNorm(1e-5))
    random = np.random.default_rng(0)
    samples = [{"x": random.standard_normal((4, 32)).astype(np.float32)} for _ in range(8)]
    settings, found = Settings(strict_int8=True), []
    for smoothed in (True, False):
        if not smoothed:
            monkeypatch.setattr(auto_ranges, "pairs", lambda graph: [])
        report = quantize(graph, samples, settings)[1]
        found.append(report.outputs[graph.outputs[0]])
    assert found[0] > found[1] + 3


def reaches(graph: Graph, samples: list[dict[str, Array]]) -> dict[str, Array]:
    return {n: s.reaches for n, s in observed(graph, samples, 1).items() if s.reaches is not None}
