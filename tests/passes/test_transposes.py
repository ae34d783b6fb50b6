"""Transposes: none is left inside of networks that exporters wrap in them, and few elsewhere."""

from collections.abc import Callable

import numpy as np
import pytest
from support.nets import Net, assert_same, count, kinds

from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Clip, Div, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.rank import ArgExtreme, TopK
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.passes.transposes import transposes
from edgekit.core.types import DType

TO_NHWC, TO_NCHW = (0, 2, 3, 1), (0, 3, 1, 2)


class Nchw(Net):
    """Layers on NCHW images, each between two transposes, as the ONNX importer makes them."""

    def between(self, op: Op, x: str, *operands: object) -> str:
        return self(Transpose(TO_NCHW), self(op, self(Transpose(TO_NHWC), x), *operands))

    def conv(self, x: str, outputs: int, k: int = 3, stride: int = 1, groups: int = 1) -> str:
        """With batch normalization."""
        channels = self.type(x).shape[1] // groups
        w = self.random(outputs, k, k, channels) / np.sqrt(k * k * channels)
        op = Conv2d((stride, stride), (k // 2,) * 4, groups=groups)
        y = self.between(op, x, w, np.zeros(outputs))
        return self(Add(), self(Mul(), y, self.random(outputs, 1, 1)), self.random(outputs, 1, 1))

    def relu(self, x: str) -> str:
        return self(Clip(), x, 0.0, np.inf)

    def pool(self, x: str, kind: str = "max") -> str:
        return self.between(Pool2d(kind, (2, 2), (2, 2)), x)

    def flat(self, x: str) -> str:
        n, *rest = self.type(x).shape
        return self(Reshape((n, int(np.prod(rest)))), x)

    def dense(self, x: str, outputs: int) -> str:
        inputs = self.type(x).shape[-1]
        return self(Dense(), x, self.random(outputs, inputs) / np.sqrt(inputs), self.random(outputs))


def cnn(net: Nchw) -> str:
    x = net.pool(net.relu(net.conv(net.x(1, 3, 8, 8), 6)))
    x = net.pool(net.relu(net.conv(x, 5)), "mean")
    return net(Softmax(), net.dense(net.flat(x), 4))


def resnet(net: Nchw) -> str:
    x = net.relu(net.conv(net.x(2, 3, 8, 8), 4))
    x = net.relu(net(Add(), net.conv(net.relu(net.conv(x, 4)), 4), x))
    x = net.relu(net(Add(), net.conv(net.relu(net.conv(x, 6, stride=2)), 6), net.conv(x, 6, k=1, stride=2)))
    return net.dense(net.flat(net(Reduce("mean", (2, 3)), x)), 4)


def depthwise_separable(net: Nchw) -> str:
    x = net.x(1, 3, 8, 8)
    for outputs in (4, 6):
        channels = net.type(x).shape[1]
        x = net(Clip(), net.conv(x, channels, groups=channels), 0.0, 6.0)
        x = net(Clip(), net.conv(x, outputs, k=1), 0.0, 6.0)
    return net.dense(net(Reduce("mean", (2, 3), keepdims=False), x), 4)


def hard_swish(net: Nchw, x: str) -> str:
    return net(Div(), net(Mul(), x, net(Clip(), net(Add(), x, 3.0), 0.0, 6.0)), 6.0)


def squeeze_excite(net: Nchw) -> str:
    x = hard_swish(net, net.conv(net.x(1, 3, 8, 8), 6))
    gate = net.dense(net.relu(net.dense(net.flat(net(Reduce("mean", (2, 3)), x)), 3)), 6)
    x = net(Mul(), x, net(Reshape((1, 6, 1, 1)), net(Sigmoid(), gate)))
    squeezed = net.relu(net.conv(net(Reduce("mean", (2, 3)), x), 3, k=1))
    x = net(Mul(), x, net(Sigmoid(), net.conv(squeezed, 6, k=1)))
    return net.dense(net.flat(net.conv(x, 4, stride=2)), 5)


def unet(net: Nchw) -> str:
    high = net.relu(net.conv(net.x(1, 3, 8, 8), 4))
    low = net.relu(net.conv(net.pool(high), 6))
    wide = net(Expand((1, 6, 4, 2, 4, 2)), net(Reshape((1, 6, 4, 1, 4, 1)), low))  # nearest neighbour
    x = net(Concat(1), net(Reshape((1, 6, 8, 8)), wide), high)
    return net.dense(net(Reduce("max", (1, 3), keepdims=False), net.conv(x, 2)), 3)


def vit(net: Nchw) -> str:
    x = net.between(Conv2d((4, 4)), net.x(1, 3, 8, 8), net.random(10, 4, 4, 3), net.random(10))
    x = net(Transpose((0, 2, 1)), net(Reshape((1, 10, 4)), x))
    x = net(Add(), net(Concat(1), net.const(net.random(1, 1, 10)), x), net.random(1, 5, 10))
    x = net(LayerNorm(1e-5), x, net.random(10), net.random(10))
    return net.dense(net(Slice((0, 0, 0), (1, 1, 1), (1, 1, 10)), x), 4)


def group_norm(net: Nchw) -> str:
    x = net.conv(net.x(2, 3, 6, 6), 6)
    x = net(Reshape((2, 3, 2 * 6 * 6)), x)
    x = net(Sub(), x, net(Reduce("mean", (2,)), x))
    x = net(Div(), x, net(Add(), net(Reduce("mean", (2,)), net(Mul(), x, x)), 0.1))
    x = net(Mul(), net(Reshape((2, 6, 6, 6)), x), net.random(6, 1, 1))
    return net.dense(net.flat(net.conv(x, 3)), 3)


def borders(net: Nchw) -> str:
    x = net.relu(net.conv(net.x(1, 3, 6, 6), 4))
    x = net(Pad((0, 0, 1, 1), (0, 0, 1, 1)), x, 0.0)
    x = net(Slice((0, 1, 0, 0), (1, 1, 1, 2), (1, 3, 8, 4)), net.conv(x, 4))
    return net.dense(net.flat(net.conv(x, 3)), 3)


NETWORKS: list[Callable[[Nchw], str]] = [
    cnn,
    resnet,
    depthwise_separable,
    squeeze_excite,
    unet,
    vit,
    group_norm,
    borders,
]


def network(make: Callable[[Nchw], str]) -> Graph:
    net = Nchw()
    return net.done(make(net))


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_no_transpose_is_left_but_the_one_at_the_input(make: Callable[[Nchw], str]) -> None:
    graph = network(make)
    after = simplify(graph)
    moving = [node for node in after.nodes if isinstance(node.op, Transpose)]
    assert [node.inputs for node in moving] == [("x",)]
    assert count(graph, "Transpose") > 2
    assert_same(graph, after)


def test_a_small_cnn_is_the_chain_of_its_layers() -> None:
    after = simplify(network(cnn))
    assert kinds(after) == [
        "Transpose",
        "Conv2d",
        "Pool2d",
        "Conv2d",
        "Pool2d",
        "Reshape",
        "Dense",
        "Softmax",
    ]
    assert all(n.op.lo == 0 for n in after.nodes if isinstance(n.op, Conv2d))


def test_a_network_on_nhwc_images_has_none() -> None:
    net = Nchw()
    x = net.relu(net.conv(net(Transpose(TO_NCHW), net.x(1, 8, 8, 3)), 4))
    graph = net.done(net(Transpose(TO_NHWC), net.conv(x, 2)))
    after = simplify(graph)
    assert kinds(after) == ["Conv2d", "Conv2d"]
    assert_same(graph, after)


def test_an_nchw_output_keeps_one() -> None:
    net = Nchw()
    graph = net.done(net.relu(net.conv(net.x(1, 3, 8, 8), 4)))
    after = simplify(graph)
    assert [n.op for n in after.nodes if not isinstance(n.op, Conv2d)] == [
        Transpose(TO_NHWC),
        Transpose(TO_NCHW),
    ]
    assert_same(graph, after)


def test_several_outputs_and_residuals_share_what_is_moved() -> None:
    net = Nchw()
    x = net.x(1, 3, 8, 8)
    noise = net.conv(net.relu(net.conv(x, 4)), 3)
    graph = net.done(net(Sub(), x, noise), noise)
    after = simplify(graph)
    assert count(after, "Transpose") == 2  # the input, and the noise, which is subtracted in its order
    assert_same(graph, after)


# Single operators: what stands between two transposes that cancel once it lets them pass.

PASSES_THROUGH: dict[str, Callable[[Net, str], str]] = {
    "unary": lambda net, x: net(Sigmoid(), x),
    "scalar": lambda net, x: net(Add(), x, 3.0),
    "per channel": lambda net, x: net(Mul(), x, net.random(3, 1, 1)),
    "per pixel": lambda net, x: net(Mul(), net.random(4, 5), x),
    "element": lambda net, x: net(Sub(), net.random(2, 3, 4, 5), x),
    "broadcast": lambda net, x: net(Sub(), x, net(Reduce("mean", (1,)), x)),
    "concat": lambda net, x: net(Concat(1), x, net.random(2, 1, 4, 5), x),
    "slice": lambda net, x: net(Slice((1, 0, 3, 0), (1, 1, -2, 1), (1, 3, 2, 5)), x),
    "pad": lambda net, x: net(Pad((0, 1, 0, 2), (0, 0, 0, 1)), x, 7.0),
    "expand": lambda net, x: net(Expand((2, 3, 4, 5)), net(Reduce("max", (1,)), x)),
    "reduce": lambda net, x: net(Reduce("sum", (1, 3)), x),
    "softmax": lambda net, x: net(Transpose(TO_NCHW), net(Softmax(), net(Transpose(TO_NHWC), x))),
    "argmax": lambda net, x: net(ArgExtreme(1), x),
    "resample": lambda net, x: net(
        Resample(2), x, net.const(np.array([[0, 1], [1, 3], [3, 3]], np.int32)), net.random(3, 2)
    ),
    "gather": lambda net, x: net(Gather(3), x, net.const(np.array([4, 0]).reshape(1, 1, 1, 2))),
    "cumulative": lambda net, x: net(Cumulative("sum", 2), x),
}


@pytest.mark.parametrize("between", PASSES_THROUGH)
def test_operators_let_transposes_pass(between: str) -> None:
    net = Net(seed=1)
    y = PASSES_THROUGH[between](net, net(Transpose(TO_NCHW), net.x(2, 4, 5, 3)))
    graph = net.done(net(Transpose(TO_NHWC), y))
    after = transposes(graph)
    assert count(after, "Transpose") == 0
    assert transposes(after) is after
    assert_same(graph, after)


def test_both_results_of_topk_follow() -> None:
    net = Net()
    top = net.add(TopK(1, 2), net(Transpose(TO_NCHW), net.x(2, 4, 5, 3)))
    graph = net.done(*(net(Transpose(TO_NHWC), y) for y in top))
    after = transposes(graph)
    assert count(after, "Transpose") == 0
    assert_same(graph, after, 0)


def test_flatten_permutes_the_columns_of_the_weights() -> None:
    net = Net()
    y = net(Reshape((2, 60)), net(Transpose(TO_NCHW), net.x(2, 4, 5, 3)))
    y = net(Mul(), y, net.random(60))  # and those of what comes before them
    graph = net.done(net(Dense(), y, net.random(7, 60), net.random(7)))
    after = transposes(graph)
    assert count(after, "Transpose") == 0
    assert_same(graph, after)


def test_what_no_stored_dimension_can_be_split_into_is_put_in_order_first() -> None:
    """Four rows of 24: not a factor of six channels."""
    net = Net()
    y = net(Reshape((1, 4, 24)), net(Transpose(TO_NCHW), net.x(1, 4, 4, 6)))
    graph = net.done(net(Sigmoid(), y))
    after = transposes(graph)
    assert count(after, "Transpose") == 1
    assert_same(graph, after, 0)


def test_attention_reads_its_heads_in_place() -> None:
    net = Net()
    x = net.x(2, 6, 8)
    q, k, v = (net(Reshape((2, 6, 2, 4)), net(Dense(), x, net.random(8, 8), net.random(8))) for _ in range(3))
    q, v = (net(Transpose((0, 2, 1, 3)), y) for y in (q, v))
    weights = net(Softmax(), net(MatMul(), q, net(Transpose((0, 2, 3, 1)), k)))
    y = net(Transpose((0, 2, 1, 3)), net(MatMul(), weights, v))
    graph = net.done(net(Reshape((2, 6, 8)), y))
    after = transposes(graph)
    assert count(after, "Transpose") == 1  # of the heads together, which is the result
    assert_same(graph, after)


def test_pixel_shuffle_moves_once() -> None:
    net = Nchw()
    y = net.conv(net.x(1, 3, 4, 4), 8)
    y = net(Transpose((0, 1, 4, 2, 5, 3)), net(Reshape((1, 2, 2, 2, 4, 4)), y))
    graph = net.done(net.conv(net(Reshape((1, 2, 8, 8)), y), 2))
    assert count(simplify(graph), "Transpose") == 3  # the input, the shuffle, the output
    assert_same(graph, simplify(graph))


def test_it_is_no_use_to_transpose_what_is_larger() -> None:
    net = Net()
    small = net(Transpose((1, 0)), net.x(3, 4))
    outputs = [net(Expand((5, 4, 3)), net(Mul(), small, float(k))) for k in (2, 3)]
    graph = net.done(*outputs)
    assert transposes(graph) is graph


def test_transposes_stay_where_others_would_take_their_place() -> None:
    net = Net()
    y = net(Transpose((1, 0)), net.x(3, 4))
    graph = net.done(*(net(Cumulative("sum", 0), net(Mul(), y, float(k))) for k in (2, 3, 4)))
    after = transposes(graph)
    assert count(after, "Transpose") == 1
    assert_same(graph, after)


def test_bits_are_kept_whatever_the_type() -> None:
    for dtype in (DType.S8, DType.BOOL, DType.F16, DType.S64):
        net = Net(dtype)
        y = net(Slice((0, 1, 0), (1, 1, 1), (4, 1, 2)), net(Transpose((2, 1, 0)), net.x(2, 3, 4)))
        graph = net.done(net(Transpose((2, 0, 1)), net(Concat(1), y, y)))
        assert_same(graph, simplify(graph), 0)
