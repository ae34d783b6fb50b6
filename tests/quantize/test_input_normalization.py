"""Inputs whose channels differ much, as the columns of a table do."""

import numpy as np
import pytest
from support.nets import Net, kinds

from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.simulate import run
from edgekit.core.types import Array, DType
from edgekit.quantize.calibration.observe import Observer
from edgekit.quantize.post_training import quantize
from edgekit.quantize.preparation.input_normalization import normalized_inputs
from edgekit.quantize.settings import Settings

MIDDLE = np.array([1013, 0, 20, 0, 5e-3], np.float32)  # a pressure, an acceleration, a temperature, ...
WIDTH = np.array([8, 0.3, 12, 1e3, 1e-3], np.float32)


def table(width: Array = WIDTH) -> Graph:
    net = Net(seed=1)
    w = net.random(9, 5) / width
    y = net(Dense(lo=0.0), net.x(1, 5), w, -w @ MIDDLE + 0.3 * net.random(9))
    return net.done(net(Dense(), y, net.random(3, 9), net.random(3)))


def image(padded: bool) -> Graph:
    """Channels first, as a window of sensor data is."""
    net = Net(seed=2)
    x = net(Transpose((0, 2, 3, 1)), net(Reshape((1, 5, 1, 24)), net.x(1, 5, 24)))
    pads = (0, 1, 0, 1) if padded else (0, 0, 0, 0)
    y = net(Conv2d(pads=pads, lo=0.0), x, net.random(8, 1, 3, 5) / WIDTH, net.random(8))
    return net.done(net(Conv2d(groups=2), y, net.random(4, 1, 1, 4), net.random(4)))


def samples(graph: Graph, middle: Array = MIDDLE, width: Array = WIDTH) -> list[dict[str, Array]]:
    shape = graph.type("x").shape
    columns = (5,) if shape[1:] == (5,) else (5, 1)
    normal = np.random.default_rng(3).standard_normal((48, *shape))
    return [{"x": (x * width.reshape(columns) + middle.reshape(columns)).astype(np.float32)} for x in normal]


@pytest.mark.parametrize("graph", [table(), image(False), image(True)])
def test_normalized_inputs_change_no_result(graph: Graph) -> None:
    observer, given = Observer(graph), samples(graph)
    for sample in given:
        observer.add(sample)
    made, real = normalized_inputs(graph, observer.statistics)
    verify(made)
    assert {type(node.op).__name__ for node in made.nodes if node.outputs[0] in real} >= {"Sub", "Mul"}
    for sample in given[:4]:
        (exact,), (found,) = (run(g, sample).values() for g in (graph, made))
        np.testing.assert_allclose(found, exact, rtol=1e-3, atol=1e-3 * np.abs(exact).max())


def test_narrow_columns_keep_their_precision() -> None:
    graph = table()
    given = samples(graph)
    _, crushed = quantize(graph, given, Settings(calibrate="minmax", strict_int8=True))
    made, found = quantize(graph, given)
    verify(made)
    assert crushed.sqnr_db < 15
    assert found.sqnr_db > 30
    assert [x.op for x in found.layers if x.runs_in == "float32"] == ["Sub", "Mul"]
    assert not [w for w in found.warnings if "float32" in w]


def test_windows_of_sensors_keep_the_precision_of_each() -> None:
    graph = image(True)
    _, found = quantize(graph, samples(graph, np.zeros(5, np.float32)))
    assert found.sqnr_db > 30


def test_like_columns_and_integers_at_the_door_stay() -> None:
    ones = np.ones(5, np.float32)
    graph = table(ones)
    made, _ = quantize(graph, samples(graph, 0 * ones, ones))
    assert kinds(made) == ["Quantize", "Dense", "Dense", "Dequantize"]
    graph = table()
    made, _ = quantize(graph, samples(graph), Settings(io="int8", strict_int8=True))
    assert kinds(made) == ["Dense", "Dense"]


def test_narrow_floats_stay() -> None:
    net = Net(DType.F16)
    graph = net.done(net(Dense(), net.x(1, 5), net.random(9, 5), net.random(9).astype(np.float32)))
    observer = Observer(graph)
    for sample in samples(graph, 0 * WIDTH):
        observer.add({"x": sample["x"].astype(np.float16)})
    assert normalized_inputs(graph, observer.statistics) == (graph, frozenset())


@pytest.mark.parametrize(("outputs", "is_normalized"), [(1, False), (19, False), (20, True), (40, True)])
def test_large_inputs_stay_unless_something_is_larger(outputs: int, is_normalized: bool) -> None:
    """Reals take four times the memory: as much as the largest tensor of integers, at most."""
    net = Net(seed=1)
    y = net(Dense(), net.x(300, 5), net.random(outputs, 5) / WIDTH, net.random(outputs))
    graph = net.done(net(Dense(), y, net.random(1, outputs), net.random(1)))
    observer = Observer(graph)
    normal = np.random.default_rng(3).standard_normal((4, 300, 5))
    for x in normal:
        observer.add({"x": (x * WIDTH + MIDDLE).astype(np.float32)})
    assert (normalized_inputs(graph, observer.statistics)[0] is not graph) == is_normalized
