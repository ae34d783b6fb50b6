"""Dead channels: what proves them constant, who can do without them, and what must stay."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds
from support.random_graphs import random_network
from support.tools import require_shared

from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Clip, Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.lookup import Lookup
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes.channels import dead_channels, ranges
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import random_inputs, run_all
from edgekit.core.types import DType, Quant, Type, Value

SAME = (1, 1, 1, 1)


class Layers(Net):
    """Layers whose filters are zero where they should be."""

    def conv(
        self, x: str, outputs: int, k: int = 1, dead: Any = (), bias: float = 0.0, **attributes: Any
    ) -> str:
        """The filters `dead` are zero, and have this bias."""
        groups = attributes.get("groups", 1)
        w = self.random(outputs, k, k, self.type(x).shape[-1] // groups)
        b = self.random(outputs)
        w[list(dead)], b[list(dead)] = 0, bias
        return self(Conv2d(**attributes), x, w, b)

    def image(self) -> str:
        return self.x(1, 6, 6, 3)


def weights(graph: Graph) -> list[tuple[int, ...]]:
    """The shapes of the weights, layer by layer."""
    return [
        graph.type(n.inputs[1]).shape
        for n in graph.nodes
        if isinstance(n.op, Conv2d | Dense | ConvTranspose2d)
    ]


def network(make: Callable[[Layers], str], dtype: DType = DType.F32) -> Graph:
    net = Layers(dtype)
    return net.done(make(net))


def check(make: Callable[[Layers], str], expected: list[tuple[int, ...]]) -> Graph:
    graph = network(make)
    after = dead_channels(graph)
    assert weights(after) == expected
    assert dead_channels(after) is after
    assert (after is graph) == (weights(graph) == expected)
    assert_same(graph, after)
    if removed := after.source.removed:
        assert removed.macs_before == macs(graph)
        assert removed.macs == macs(graph) - macs(after)
        assert removed.bytes == constant_bytes(graph) - constant_bytes(after)
    assert (removed is None) == (after is graph)
    return after


def constant_bytes(graph: Graph) -> int:
    return sum(data.nbytes for _, data in graph.constants())


# What goes


def test_a_zero_filter_goes_through_activation_and_depthwise_into_the_next_bias() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.image(), 4, dead=[1], bias=2.0, lo=0.0)
        x = net.conv(x, 4, groups=4)  # 1 x 1: sees no border
        return net.conv(net(Sigmoid(), x), 5)

    check(make, [(3, 1, 1, 3), (3, 1, 1, 1), (5, 1, 1, 3)])


def test_a_channel_of_zeros_passes_borders() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.image(), 4, dead=[0, 3], lo=0.0)
        x = net.conv(x, 4, k=3, groups=4, pads=SAME)  # its bias is what is left of the channel
        return net.conv(x, 5)

    check(make, [(2, 1, 1, 3), (2, 3, 3, 1), (5, 1, 1, 2)])


def test_groups_of_several_lose_channels_in_step() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.image(), 8, dead=[0, 1, 5])  # in two groups of four: only 1 and 5 are in one place
        x = net.conv(x, 6, k=3, groups=2, pads=SAME, dead=[2, 5, 1])
        return net.conv(x, 5)

    check(make, [(6, 1, 1, 3), (4, 3, 3, 3), (5, 1, 1, 4)])


def test_groups_of_several_take_constants_into_their_biases() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.image(), 4, dead=[1, 3], bias=2.0)
        return net.conv(x, 4, groups=2)

    check(make, [(2, 1, 1, 3), (4, 1, 1, 1)])


def test_a_relu_that_never_opens_is_a_zero() -> None:
    def make(net: Layers) -> str:
        x = net(Sigmoid(), net.image())  # 0 .. 1
        w, b = np.ones((4, 1, 1, 3), np.float32), np.array([1, -4, -2.5, -3], np.float32)
        return net.conv(net(Conv2d(lo=0.0), x, w, b), 5, k=3, pads=SAME)

    check(make, [(2, 1, 1, 3), (5, 3, 3, 2)])  # the sums are at most 3


def test_a_clip_that_is_always_shut_is_its_limit() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net(Clip(), net.image(), 0.0, 6.0), 4)
        return net.conv(net(Clip(), x, np.array([-999, 99, -999, -999]), 999.0), 5)

    check(make, [(3, 1, 1, 3), (5, 1, 1, 3)])


def test_what_is_read_with_weights_of_zero_only_goes() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.conv(net.image(), 4), 4, k=3, groups=4, pads=SAME)
        w = net.random(5, 1, 1, 4)
        w[..., [0, 2]] = 0
        return net(Conv2d(), x, w, net.random(5))

    check(make, [(2, 1, 1, 3), (2, 3, 3, 1), (5, 1, 1, 2)])


def test_what_others_read_of_one_group_stays_of_all() -> None:
    """A layer of two groups reads the first input of each, another layer the second of all: the one in the
    same place of the second group stays, too."""

    def make(net: Layers) -> str:
        x = net.conv(net.image(), 8)
        first, second = net.random(4, 1, 1, 4), net.random(4, 1, 1, 8)
        first[..., 1:] = 0
        second[..., [0, *range(2, 8)]] = 0
        grouped = net(Conv2d(groups=2), x, first, net.random(4))
        return net(Add(), grouped, net(Conv2d(), x, second, net.random(4)))

    check(make, [(4, 1, 1, 3), (4, 1, 1, 2), (4, 1, 1, 4)])


def test_what_only_dead_channels_read_goes_too() -> None:
    def make(net: Layers) -> str:
        w = net.random(4, 1, 1, 4)
        w[[0, 1, 2], ..., 3] = 0  # channel 3 is read by filter 3 alone
        x = net(Conv2d(), net.conv(net.image(), 4), w, net.random(4))
        last = net.random(5, 1, 1, 4)
        last[..., 3] = 0  # which nobody reads
        return net(Conv2d(), x, last, net.random(5))

    check(make, [(3, 1, 1, 3), (3, 1, 1, 3), (5, 1, 1, 3)])


@pytest.mark.parametrize("dead", [([1], [1]), ([1, 2], [1])])
def test_a_residual_loses_what_both_sides_lack(dead: tuple[list[int], list[int]]) -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.image(), 4, dead=dead[0], lo=0.0)
        y = net.conv(net.image(), 4, dead=dead[1], bias=3.0)
        return net.conv(net(Add(), x, y), 5)

    check(make, [(3, 1, 1, 3), (3, 1, 1, 3), (5, 1, 1, 3)])


def test_a_concatenation_loses_what_any_side_lacks() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.image(), 4, dead=[0])
        y = net.conv(net.image(), 3, dead=[1, 2], bias=-1.0)
        return net.conv(net(Concat(3), x, net.random(1, 6, 6, 2), y), 5)

    check(make, [(3, 1, 1, 3), (1, 1, 1, 3), (5, 1, 1, 6)])


def test_flatten_takes_all_pixels_of_the_channel() -> None:
    def make(net: Layers) -> str:
        x = net(Reshape((1, 144)), net.conv(net.image(), 4, dead=[2], bias=1.0))
        return net(Dense(), net(Mul(), x, net.random(144)), net.random(7, 144), net.random(7))

    after = check(make, [(3, 1, 1, 3), (7, 108)])
    assert Reshape((1, 108)) in [n.op for n in after.nodes]


BETWEEN: dict[str, Callable[[Layers, str], str]] = {
    "scale": lambda net, x: net(Mul(), x, net.random(4)),
    "gate": lambda net, x: net(Mul(), x, net(Sigmoid(), net(Reduce("mean", (1, 2)), x))),
    "max pool": lambda net, x: net(Pool2d("max", (2, 2), (2, 2)), x),
    "mean pool": lambda net, x: net(Pool2d("mean", (3, 3), pads=SAME), x),
    "mean": lambda net, x: net(Reshape((1, 1, 1, 4)), net(Reduce("mean", (1, 2), keepdims=False), x)),
    "slice": lambda net, x: net(Slice((0, 1, 0, 1), (1, 2, 1, 1), (1, 2, 6, 3)), x),
    "border": lambda net, x: net(Pad((0, 1, 1, 0), (0, 2, 0, 0)), x, 1.0),
    "expand": lambda net, x: net(Expand((3, 6, 6, 4)), x),
    "concat": lambda net, x: net(Concat(1), x, x),
    "split": lambda net, x: net(Reshape((1, 6, 6, 2, 2)), x),
    "clip": lambda net, x: net(Clip(), x, 0.0, 6.0),
}


@pytest.mark.parametrize("between", BETWEEN)
def test_operators_hand_dead_channels_on(between: str) -> None:
    def make(net: Layers) -> str:
        x = BETWEEN[between](net, net.conv(net.image(), 4, dead=[1, 3], bias=1.0))
        return net(Dense(), x, net.random(5, net.type(x).shape[-1]), net.random(5))

    graph = network(make)
    after = dead_channels(graph)
    assert weights(after)[0][0] == (1 if between == "slice" else 2)  # it leaves out another channel
    assert weights(after)[1][1] < weights(graph)[1][1]
    assert_same(graph, after)


def test_a_constant_that_is_spread_over_channels_stays_whole() -> None:
    """Its one channel becomes three, of which one is read."""
    net = Layers(DType.F32)
    few = net.x(1, 3, 1, name="few")
    read = net(Slice((0,), (1,), (1,)), net(Reshape((3,)), few))
    graph = net.done(net(Add(), read, net.conv(net.image(), 4, dead=[1])))
    constant = Value(graph.type(few), net.random(1, 3, 1))  # as a pass makes one, not folded yet
    graph = replace(graph, inputs=("x",), values={**graph.values, few: constant})
    after = dead_channels(graph)
    assert_same(graph, after)


def test_nothing_beside_layers_has_no_range() -> None:
    net = Layers(DType.F32)
    layer = net.conv(net.image(), 4, dead=[1], lo=0.0)
    nothing = net(Reshape((0, 2)), net(Slice((0, 0, 0, 0), (1, 1, 1, 1), (1, 0, 6, 4)), layer))
    read = net.conv(net.conv(layer, 4, dead=[1]), 2)
    graph = net.done(read, net(Reshape((0, 4)), nothing))
    after = dead_channels(graph)
    assert weights(after)[1:] == [(3, 1, 1, 4), (2, 1, 1, 3)]
    assert_same(graph, after)


def test_a_transposed_convolution_takes_zeros() -> None:
    def make(net: Layers) -> str:
        x = net.conv(net.image(), 4, dead=[1], lo=0.0)
        x = net(ConvTranspose2d((12, 12), (2, 2)), x, net.random(3, 2, 2, 4), net.random(3))
        return net.conv(x, 2)

    check(make, [(3, 1, 1, 3), (3, 2, 2, 3), (2, 1, 1, 3)])


def test_a_layer_of_which_nothing_is_left_keeps_one_channel() -> None:
    def make(net: Layers) -> str:
        return net.conv(net.conv(net.image(), 4, dead=range(4), bias=1.0), 5)

    check(make, [(1, 1, 1, 3), (5, 1, 1, 1)])


# What stays

STAYS: dict[str, Callable[[Layers], str]] = {
    "constant beside a border": lambda net: net.conv(
        net.conv(net.image(), 4, dead=[1], bias=2.0), 5, k=3, pads=SAME
    ),
    "constant between windows": lambda net: net(
        ConvTranspose2d((12, 12), (2, 2)),
        net.conv(net.image(), 4, dead=[1], bias=2.0),
        net.random(3, 2, 2, 4),
        net.random(3),
    ),
    "output of the graph": lambda net: net.conv(net.image(), 4, dead=[1]),
    "mixed by softmax": lambda net: net.conv(net(Softmax(), net.conv(net.image(), 4, dead=[1])), 5),
    "one side of a residual": lambda net: net.conv(
        net(Add(), net.conv(net.image(), 3, dead=[1]), net(Sigmoid(), net.conv(net.image(), 3))), 5
    ),
    "in one group, not in its place in the other": lambda net: net.conv(
        net.conv(net.image(), 4, dead=[1]), 4, groups=2
    ),
    "added to the input": lambda net: net.conv(net(Add(), net.conv(net.x(1, 6, 6, 3), 3, dead=[0]), "x"), 5),
    "may open": lambda net: net.conv(net.conv(net.image(), 4, lo=0.0), 5),
}


@pytest.mark.parametrize("case", STAYS)
def test_what_is_needed_stays(case: str) -> None:
    graph = network(STAYS[case])
    assert dead_channels(graph) is graph


def test_integers_without_scale_stay() -> None:
    def make(net: Layers) -> str:
        return net.conv(net.conv(net.image(), 4, dead=[1], bias=2), 5)

    graph = network(make, DType.S32)
    assert dead_channels(graph) is graph


# Ranges


@pytest.mark.parametrize("seed", range(40))
def test_every_value_is_within_its_range(seed: int) -> None:
    graph = random_network(seed)
    facts = ranges(graph, graph.values)
    values = run_all(graph, random_inputs(graph, seed))
    for name in (name for node in graph.nodes for name in node.outputs):
        cells = values[name].reshape(-1, len(facts[name].lo))
        slack = 1e-9 * np.abs(cells).max(initial=1)
        assert (cells >= facts[name].lo - slack).all(), name
        assert (cells <= facts[name].hi + slack).all(), name


# Quantized networks, bit by bit


def quantized(seed: int) -> Graph:
    """A layer, a depthwise one that sees a border, another layer; filter 1 is zero, filter 2 saturates."""
    rng = np.random.default_rng(seed)
    net = Layers(DType.S8)
    image = Quant((0.05,), (-3,), None, "tfl")
    x = net.input("x", Type(DType.S8, (1, 6, 6, 3), image))
    net.inputs.append(x)

    def layer(x: str, w: np.ndarray[Any, Any], b: np.ndarray[Any, Any], y: Quant, **attributes: Any) -> str:
        scales = Quant(tuple(rng.uniform(0.01, 0.02, len(w)).tolist()), (0,) * len(w), 0)
        names = net.const(w.astype(np.int8), hint="w"), net.const(b.astype(np.int32), hint="b")
        net.values[names[0]] = Value(replace(net.type(names[0]), quant=scales), net.data(names[0]))
        (name,) = net.add(Conv2d(**attributes), x, *names, quant=y)
        return name

    w, b = rng.integers(-99, 100, (4, 1, 1, 3)), rng.integers(-999, 1000, 4)
    w[1], b[1], b[2] = 0, 0, -10_000_000
    x = layer(x, w, b, Quant((0.1,), (-128,), None, "tfl"), lo=0.0, hi=6.0)
    x = layer(
        x, rng.integers(-99, 100, (4, 3, 3, 1)), b, Quant((0.2,), (5,), None, "tfl"), groups=4, pads=SAME
    )
    return net.done(layer(x, rng.integers(-99, 100, (5, 1, 1, 4)), b[[0, 1, 2, 3, 0]], image))


@pytest.mark.parametrize("seed", range(5))
def test_zero_and_saturated_filters_of_int8_layers_go(seed: int) -> None:
    graph = quantized(seed)
    after = simplify(graph)
    assert weights(after) == [(2, 1, 1, 3), (2, 3, 3, 1), (5, 1, 1, 2)]
    scales = after.type(after.nodes[0].inputs[1]).quant
    assert scales is not None
    assert len(scales.scale) == len(scales.zero) == 2
    assert_same(graph, after, 0)


def test_tables_and_changes_of_scale_hand_constants_on() -> None:
    """float -> int8 -> layer -> table -> another scale -> layer -> float"""
    net = Layers(DType.F32, seed=3)
    image, middle = Quant((0.05,), (-3,)), Quant((0.1,), (-128,))

    def apply(op: Op, x: str, *others: np.ndarray[Any, Any], quant: Quant | None = None) -> str:
        (name,) = net.add(op, x, *(net.const(other) for other in others), quant=quant)
        return name

    def layer(x: str, w: np.ndarray[Any, Any], y: Quant) -> str:
        names = net.const(w.astype(np.int8)), net.const(np.zeros(len(w), np.int32))
        net.values[names[0]] = Value(
            replace(net.type(names[0]), quant=Quant((0.01,), (0,))), net.data(names[0])
        )
        return net.add(Conv2d(lo=0.0), x, *names, quant=y)[0]

    x = apply(Quantize(DType.S8), net.x(1, 6, 6, 3), quant=image)
    w = net.rng.integers(-99, 100, (4, 1, 1, 3))
    w[2] = 0
    x = apply(Lookup(), layer(x, w, middle), net.rng.integers(-128, 128, 256).astype(np.int8), quant=middle)
    x = apply(Requantize(), x, quant=image)
    graph = net.done(apply(Dequantize(), layer(x, net.rng.integers(-99, 100, (5, 1, 1, 4)), middle)))
    after = simplify(graph)
    assert weights(after) == [(3, 1, 1, 3), (5, 1, 1, 3)]
    assert_same(graph, after, 0)


def macs(graph: Graph) -> int:
    def of(node: Node) -> int:
        return node.op.macs(*(graph.type(name) for name in node.inputs))

    return sum(of(node) for node in graph.nodes)


def test_visual_wake_words_needs_half_of_its_multiplications() -> None:
    graph = tflite_reader.convert(require_shared("models/mlperf_tiny/vww_96_int8.tflite"))
    after = simplify(graph)
    assert macs(graph) == 7_489_664
    assert macs(after) <= 3_730_000
    assert sum(np.prod(shape) for shape in weights(graph) if len(shape) == 4) == 207_600
    assert sum(np.prod(shape) for shape in weights(after) if len(shape) == 4) <= 29_242
    assert kinds(after) == kinds(graph)
    assert_same(graph, after, 0)


@pytest.mark.parametrize("given", ["weights", "bias", "both"])
def test_layers_whose_weights_are_computed_stay(given: str) -> None:
    net = Layers()
    w: Any = net.random(4, 3)
    b: Any = net.random(4)
    w[1] = b[1] = 0
    x = net.x(2, 3)
    w = net(Add(), net.x(4, 3), w) if given != "bias" else w
    b = net(Add(), net.x(4), b) if given != "weights" else b
    y = net(Dense(), x, w, b)
    graph = net.done(net(Dense(), y, net.random(2, 4), net.random(2), name="y"))
    assert dead_channels(graph) is graph
