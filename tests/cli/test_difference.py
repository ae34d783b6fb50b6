"""The distance of two graphs is what its definition says."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.nets import Net

from edgekit import Difference, EdgeKitError, Graph, diff, quantize_model
from edgekit.comparison.difference import LayerDifference
from edgekit.comparison.histogram import Counter
from edgekit.core.ir import State
from edgekit.core.ops.arithmetic import Add, Max, Mul
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import DType, Quant, Type, Value
from edgekit.quantize.preparation.equalize import equalize


def chain(factor: float, *, names: tuple[str, str] = ("x", "y"), middle: str = "middle") -> Graph:
    """y = relu(x * factor) + 1"""
    net = Net()
    x = net.x(2, 2, name=names[0])
    product = net(Mul(), x, np.float32(factor), name=middle)
    return net.done(net(Add(), net(Max(), product, np.float32(0), name="relu"), np.float32(1), name=names[1]))


def measured(found: Difference) -> dict[str, tuple[float, float]]:
    return {d.name: (d.max_error, d.sqnr_db) for d in (*found.layers, *found.outputs)}


X = np.float32([[1, 2], [3, -4]])


def test_a_graph_equals_itself() -> None:
    found = diff(chain(2), chain(2), X)
    assert found.exact
    assert measured(found) == dict.fromkeys(("middle", "relu", "y"), (0, math.inf))


def test_errors_are_those_of_the_layer() -> None:
    found = diff(chain(2), chain(2.5), X)
    assert not found.exact
    signal, noise = 4 + 16 + 36 + 64, 0.25 + 1 + 2.25 + 4
    assert measured(found)["middle"] == (2, pytest.approx(10 * math.log10(signal / noise)))
    assert measured(found)["y"] == (
        1.5,
        pytest.approx(10 * math.log10((9 + 25 + 49 + 1) / (0.25 + 1 + 2.25))),
    )


def test_errors_add_up_over_samples() -> None:
    one = measured(diff(chain(2), chain(2.5), X))
    three = diff(chain(2), chain(2.5), np.stack([X, 2 * X, X]))
    assert three.samples == 3
    assert measured(three)["middle"] == (4, pytest.approx(one["middle"][1]))


def test_layers_are_matched_by_name_and_outputs_by_position() -> None:
    found = diff(chain(2), chain(2, names=("in", "out"), middle="other"), X)
    assert [d.name for d in found.layers] == ["relu", "y"]
    assert [(d.name, d.other, d.exact) for d in found.outputs] == [("y", "out", True)]


def test_infinite_and_undefined_values_are_compared() -> None:
    nothing, infinite = np.float32([[np.nan, 0], [0, 0]]), np.float32([[np.inf, 0], [0, 0]])
    assert diff(chain(2), chain(2), nothing).exact
    assert diff(chain(2), chain(2), infinite).exact
    assert measured(diff(chain(2), chain(-2), infinite))["middle"] == (math.inf, -math.inf)


def copy(type: Type) -> Graph:
    """y is x, in another shape."""
    net = Net()
    net.inputs.append(net.input("x", type))
    return net.done(net(Reshape((2, 2)), "x", name="y"))


def test_quantized_values_count_as_what_they_stand_for() -> None:
    real = copy(Type(DType.F32, (4,)))
    quantized = copy(Type(DType.S8, (4,), Quant((0.5,), (3,))))
    x = np.float32([1, 1.5, 1.7, 1000])  # as integers 2, 3, 3 and, clamped, 124
    assert measured(diff(real, quantized, x[:3].repeat([1, 1, 2])))["y"][0] == pytest.approx(0.2)
    assert measured(diff(real, quantized, x))["y"][0] == 1000 - 0.5 * (127 - 3)
    assert diff(quantized, real, np.int8([5, -128, 127, 0])).exact


def test_other_types_are_not_converted() -> None:
    with pytest.raises(EdgeKitError, match=r"input x is f32\[4\] in net, s8\[4\] in net"):
        diff(copy(Type(DType.F32, (4,))), copy(Type(DType.S8, (4,))), np.float32([1, 2, 3, 4]))


def test_random_inputs_are_seeded() -> None:
    assert diff(chain(2), chain(3)) == diff(chain(2), chain(3))


def test_graphs_with_other_inputs_cannot_be_compared() -> None:
    net = Net()
    other = net.done(net(Add(), net.x(3), np.float32(1)))
    with pytest.raises(
        EdgeKitError, match=r"the inputs differ: x is f32\[2,2\] in net, x is f32\[3\] in net"
    ):
        diff(chain(2), other)


def quantized(graph: Graph, x: np.ndarray) -> Graph:
    """In int8, with ranges as they are: channels are left alone."""
    return quantize_model(graph, {"x": x}, calibrate="minmax")[0]


def network() -> tuple[Graph, np.ndarray]:
    """Four layers, and samples."""
    net = Net(seed=3)
    x = net.x(1, 16)
    for i in range(4):
        x = net(Dense(lo=0.0), x, net.random(16, 16) / 4, net.random(16) / 8, name=f"layer{i}")
    return net.done(net(Dense(), x, net.random(4, 16) / 4, net.random(4), name="y")), net.random(24, 1, 16)


def with_weights(graph: Graph, layer: str, change: Callable[[np.ndarray], np.ndarray]) -> Graph:
    node = next(node for node in graph.nodes if node.outputs[0] == layer)
    value = graph.values[node.inputs[1]]
    assert value.data is not None
    changed = replace(value, data=change(value.data))
    return replace(graph, values={**graph.values, node.inputs[1]: changed})


def by_name(found: Difference) -> dict[str, LayerDifference]:
    return {layer.name: layer for layer in found.layers}


def test_the_damaged_layer_comes_first_and_those_behind_it_are_victims() -> None:
    graph, x = network()
    whole = quantized(graph, x)
    broken = with_weights(whole, "layer1", lambda w: np.where(np.arange(16)[:, None] < 4, -w, w))
    before, after = (by_name(diff(graph, b, x)) for b in (whole, broken))
    assert diff(graph, broken, x).layers[0].name == "layer1"
    assert after["layer1"].noise_share > 0.95
    for name in ("layer1", "layer2", "layer3", "y"):
        assert before[name].sqnr_db > 30
        assert after[name].sqnr_db < 20
    assert after["layer1"].alone_db < 10
    for name in ("x", "layer0", "layer2", "layer3", "y"):
        assert after[name].alone_db == before[name].alone_db > 30


def test_the_culprit_is_who_does_most_harm_not_who_is_furthest_off() -> None:
    def graph(small: float, large: float) -> Graph:
        """y = 1 + 0.001 x + x, with errors in both products."""
        net = Net()
        x = net.x(4)
        small_one = net(Mul(), x, np.float32(0.001 * small), name="small")
        large_one = net(Mul(), x, np.float32(large), name="large")
        return net.done(net(Add(), small_one, large_one, name="y"))

    found = diff(graph(1, 1), graph(1.5, 1.01), np.float32([1, -2, 3, 4]))
    assert [layer.name for layer in found.layers] == ["large", "small", "y"]
    large, small, _ = found.layers
    assert small.alone_db < large.alone_db
    assert large.noise_share == pytest.approx(0.01**2 / (0.01**2 + 0.0005**2), rel=1e-3)
    assert sum(layer.noise_share or 0 for layer in found.layers) == pytest.approx(1)


def test_layers_may_keep_the_order_of_the_graph() -> None:
    found = diff(chain(2), chain(2.5), X, order="graph")
    assert [layer.name for layer in found.layers] == ["middle", "relu", "y"]
    with pytest.raises(EdgeKitError, match="unknown order: size"):
        diff(chain(2), chain(2.5), X, order="size")  # type: ignore[arg-type]


def clipping() -> tuple[Graph, Graph]:
    """y = max(x, 0), and the same in int8 with a result that holds 0 to 63.75."""
    net = Net()
    a = net.done(net(Reshape((8,)), net(Max(), net.x(2, 4), np.float32(0), name="m"), name="y"))
    net = Net()
    (whole,) = net.add(Quantize(), net.x(2, 4), names=("x_int8",), quant=Quant((1.0,), (0,)))
    zero, narrow = net.const(np.float32(0)), Quant((0.25,), (-128,))
    (m,) = net.add(Max(), whole, zero, names=("m",), quant=narrow)
    (flat,) = net.add(Reshape((8,)), m, names=("y_int8",), quant=narrow)
    return a, net.done(net(Dequantize(), flat, name="y"))


def test_clipping_is_counted_and_charged_to_the_layer_whose_range_it_is() -> None:
    a, b = clipping()
    found = diff(a, b, np.float32([[1, 2, 3, 100], [-50, 63, 64, 90]]))
    layers = by_name(found)
    assert layers["m"].range == (0, 63.75)
    assert layers["m"].clipped == 2 / 8  # 64 is within a step
    assert layers["m"].noise_share == 1
    assert layers["x"].clipped == 0
    assert layers["x"].op == "input"
    assert layers["y"].format == "int8"
    assert layers["y"].alone_db == math.inf
    assert found.layers[0].name == "m"
    assert "clipped: m (25.0%)" in found.warnings[0]


def test_what_is_clipped_and_cut_off_anyway_is_not_warned_about() -> None:
    def graph(narrow: bool) -> Graph:
        """y = max(x + 1, 0); in int8 the sum holds no negative numbers."""
        net = Net()
        if not narrow:
            total = net(Add(), net.x(2, 4), np.float32(1), name="total")
            return net.done(net(Max(), total, np.float32(0), name="y"))
        wide, positive = Quant((0.5,), (0,)), Quant((0.5,), (-128,))
        (x,) = net.add(Quantize(), net.x(2, 4), names=("x_int8",), quant=wide)
        one = net.fresh("one")
        net.values[one] = Value(Type(DType.S8, (), wide), np.array(2, np.int8))
        (total,) = net.add(Add(), x, one, names=("total",), quant=positive)
        (y,) = net.add(Max(), total, net.const(np.float32(0)), names=("y_int8",), quant=positive)
        return net.done(net(Dequantize(), y, name="y"))

    found = diff(graph(False), graph(True), np.float32([[-9, 1, -8, 4], [-50, 20, 60, -30]]))
    total = by_name(found)["total"]
    assert (total.clipped, total.noise_share) == (0.5, 0)
    assert total.alone_db < 10
    assert not found.warnings


def test_bytes_stand_for_themselves() -> None:
    quant = Quant((1.0,), (-128,))
    pixels, integers = copy(Type(DType.U8, (4,))), copy(Type(DType.S8, (4,), quant))
    assert diff(pixels, integers, np.uint8([0, 1, 128, 255])).exact


def test_layers_that_stay_float_are_warned_about() -> None:
    net = Net()
    (whole,) = net.add(Quantize(), net.x(2, 4), names=("x_int8",), quant=Quant((1.0,), (0,)))
    (flat,) = net.add(Reshape((8,)), whole, names=("flat",), quant=Quant((1.0,), (0,)))
    half = net.done(net(Max(), net(Dequantize(), flat, name="flat_float"), np.float32(0), name="y"))
    net = Net()
    real = net.done(net(Max(), net(Reshape((8,)), net.x(2, 4), name="flat"), np.float32(0), name="y"))
    assert diff(real, half, X.repeat(2, 1)).warnings == ("1 of 2 layers stay in floats: Max",)
    assert not diff(real, real, X.repeat(2, 1)).warnings


def test_channels_that_were_equalized_are_compared_without_their_factors() -> None:
    graph, x = network()
    factor = np.float32(2.0 ** np.arange(-8, 8))
    level = with_weights(graph, "layer1", lambda w: w * factor[:, None])
    level = with_weights(level, "layer2", lambda w: w / factor)
    bias = next(node for node in level.nodes if node.outputs[0] == "layer1").inputs[2]
    old = level.values[bias]
    level = replace(level, values={**level.values, bias: replace(old, data=old.data * factor)})
    assert all(layer.sqnr_db > 100 for layer in diff(graph, level, x).layers)
    only_damaged = with_weights(graph, "layer1", lambda w: w * factor[:, None])
    assert by_name(diff(graph, only_damaged, x))["layer1"].alone_db < 0


def test_depthwise_layers_pass_the_factors_of_their_channels_on() -> None:
    net = Net(seed=5)
    x = net(Conv2d(lo=0.0), net.x(1, 6, 6, 3), net.random(8, 1, 1, 3), net.random(8), name="first")
    x = net(Conv2d(lo=0.0, groups=8), x, net.random(8, 3, 3, 1), net.random(8), name="depthwise")
    graph = net.done(net(Conv2d(), x, net.random(4, 1, 1, 8), net.random(4), name="y"))
    samples = net.random(8, 1, 6, 6, 3)
    level = equalize(
        graph, {name: np.float32(2.0 ** np.arange(8)) for name in ("first", "depthwise")}, (1, 1)
    )
    assert all(layer.sqnr_db > 100 for layer in diff(graph, level, samples).layers)
    damaged = with_weights(
        level, "depthwise", lambda w: np.where(np.arange(8)[:, None, None, None] < 3, -w, w)
    )
    found = by_name(diff(graph, damaged, samples))
    assert found["depthwise"].alone_db < 5
    assert min(found["first"].alone_db, found["y"].alone_db) > 100


def test_what_a_softmax_hides_is_measured_in_front_of_it() -> None:
    def graph(bias: float) -> Graph:
        net = Net()
        score = net(Add(), net.x(1, 4), np.float32([0, 0, 0, bias]), name="score")
        return net.done(net(Softmax(), score, name="y"))

    found = diff(graph(-300), graph(-200), np.float32([[1, 2, 3, 4]]))
    assert found.exact
    assert by_name(found)["score"].noise_share == 1


def test_states_last_from_sample_to_sample() -> None:
    def graph(factor: float) -> Graph:
        """y = factor x + the y before."""
        net = Net()
        x, before = net.x(2), net.input("before", Type(DType.F32, (2,)))
        y = net(Add(), net(Mul(), x, np.float32(factor), name="scaled"), before, name="y")
        start = Value(Type(DType.F32, (2,)), np.zeros(2, np.float32))
        return replace(net.graph("net", ("x",), (y,)), states=(State(before, y, start),))

    found = diff(graph(1), graph(2), np.float32([[1, 1], [1, 1], [1, 1]]))
    assert by_name(found)["y"].max_error == 3
    assert by_name(found)["y"].alone_db == math.inf
    assert by_name(found)["scaled"].noise_share == 1


def test_histograms_count_every_value_once() -> None:
    counter = Counter()
    for values in ([0.0, 0.0], [1.0, -3.0, 2.5], [0.001, np.nan, np.inf], [700.0]):
        counter.add(np.float64(values))
    found = counter.histogram()
    assert found is not None
    assert sum(found.counts) == 7
    assert len(found.counts) <= 64
    assert (found.low, found.high) == (-3, 700)
    assert found.start <= -3
    assert found.start + len(found.counts) * found.width >= 700
    assert found.counts[0] == 6
    assert found.counts[-1] == 1


def test_nothing_but_zeros_and_nothing_at_all_have_histograms_too() -> None:
    counter = Counter()
    assert counter.histogram() is None
    counter.add(np.zeros(5))
    found = counter.histogram()
    assert found is not None
    assert (found.low, found.high, sum(found.counts)) == (0, 0, 5)


def test_the_command_takes_an_order_and_a_folder(cli: CommandLine, folder: Path) -> None:
    (folder / "data").mkdir()
    for i in range(2):
        np.save(folder / "data" / f"{i}.npy", np.full((3, 1, 8, 8), 0.25 * i, np.float32))
    found = cli.ok("diff", "digits.onnx", "digits.ek", "--data", "data", "--order", "graph", "--json").json
    assert found["samples"] == 6
    assert found["order"] == "graph"
    assert [layer["place"] for layer in found["layers"]] == list(range(9))
