"""Cross-layer equalization: another graph of the same function, whose channels reach as far as each other."""

import numpy as np
import pytest
from support.nets import Net, assert_same

from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.quantize.calibration.observe import Observer
from edgekit.quantize.preparation.equalize import equalize, is_layer, pairs

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
