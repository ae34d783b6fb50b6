"""What a pass recognizes, changed in one thing: whatever is made of it, the results are the same."""

from collections.abc import Callable

import numpy as np
import pytest
from support.near_misses import near_misses
from support.nets import Net, assert_same
from support.random_graphs import random_movement, random_network

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Erf, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Div, Max, Min, Mul, Pow, Sqrt, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.logic import LessOrEqual, Where
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import PASSES, simplify
from edgekit.core.types import DType

Make = Callable[[Net], str]
PATTERNS: list[Make] = []


def pattern(make: Make) -> Make:
    PATTERNS.append(make)
    return make


@pattern
def gelu(net: Net) -> str:
    x = net.x(3, 4)
    return net(Mul(), net(Mul(), x, net(Add(), net(Erf(), net(Div(), x, 2**0.5)), 1.0)), 0.5)


@pattern
def gelu_by_tanh(net: Net) -> str:
    x = net.x(3, 4)
    inner = net(Mul(), net(Add(), x, net(Mul(), net(Pow(), x, 3.0), 0.044715)), np.sqrt(2 / np.pi))
    return net(Mul(), net(Mul(), x, 0.5), net(Add(), net(Tanh(), inner), 1.0))


@pattern
def swish(net: Net) -> str:
    x = net.x(3, 4)
    return net(Mul(), x, net(Sigmoid(), net(Mul(), x, 1.702)))


@pattern
def hard_swish(net: Net) -> str:
    x = net.x(3, 4)
    return net(Div(), net(Mul(), x, net(Clip(), net(Add(), x, 3.0), 0.0, 6.0)), 6.0)


@pattern
def layer_norm(net: Net) -> str:
    x = net.x(3, 4)
    d = net(Sub(), x, net(Reduce("mean", (1,)), x))
    root = net(Sqrt(), net(Add(), net(Reduce("mean", (1,)), net(Pow(), d, 2.0)), 1e-3))
    return net(Add(), net(Mul(), net(Div(), d, root), net.random(4)), net.random(4))


@pattern
def rms_norm(net: Net) -> str:
    x = net.x(3, 4)
    root = net(Sqrt(), net(Add(), net(Reduce("mean", (1,)), net(Mul(), x, x)), 1e-3))
    return net(Mul(), net(Mul(), x, net(Div(), 1.0, root)), net.random(4))


@pattern
def normalized_convolution(net: Net) -> str:
    """The image scaled and shifted before, batch norm and limits behind."""
    x = net(Add(), net(Mul(), net.x(1, 4, 4, 2), 0.5), -0.25)
    y = net(Conv2d(groups=2), x, net.random(4, 2, 2, 1), net.random(4))
    y = net(Add(), net(Mul(), y, net.random(4)), net.random(4))
    return net(Min(), net(Max(), y, -0.5), 0.75)


@pattern
def layer_between_moves(net: Net) -> str:
    x = net(Transpose((0, 2, 3, 1)), net.x(1, 2, 3, 4))
    y = net(Transpose((0, 3, 1, 2)), net(Conv2d(), x, net.random(3, 1, 1, 2), net.random(3)))
    return net(Dense(), net(Reshape((1, 36)), net(Clip(), y, 0.0, 6.0)), net.random(2, 36), net.random(2))


@pattern
def clipped_pool(net: Net) -> str:
    y = net(Conv2d(), net.x(1, 4, 4, 2), net.random(3, 1, 1, 2), net.random(3))
    y = net(Pool2d("max", (2, 2)), net(Clip(), y, -1.0, 6.0))
    return net(Clip(), net(Clip(), y, 0.0, 5.0), 0.5, 9.0)


@pattern
def borders(net: Net) -> str:
    x = net(Pad((0, 1, 0, 0), (0, 0, 1, 0)), net.x(1, 3, 4, 2), 0.0)
    y = net(Conv2d(pads=(0, 1, 1, 0)), x, net.random(2, 2, 2, 2), net.random(2))
    return net(Pool2d("mean", (2, 2)), net(Pad((0, 0, 1, 0), (0, 1, 0, 0)), y, 0.0))


@pattern
def cuts_and_joins(net: Net) -> str:
    x = net.x(2, 6, 4)
    left = net(Slice((0, 0, 0), (1, 2, 1), (2, 3, 4)), x)
    right = net(Slice((0, 1, 0), (1, 1, 1), (2, 2, 4)), net(Slice((0, 1, 0), (1, 1, 1), (2, 4, 4)), x))
    return net(Concat(1), net(Concat(1), left, right), net.random(2, 1, 4), right)


@pattern
def spread_rows(net: Net) -> str:
    x, row = net.x(3, 4), net(Expand((3, 4)), net.x(1, 4, name="row"))
    at = net(LessOrEqual(), net(Expand((3, 4)), net.const(np.array([[0.5], [1], [-1]]))), row)
    return net(Where(), at, net(Add(), x, row), net(Mul(), row, 0.0))


@pattern
def means(net: Net) -> str:
    x = net.x(2, 3, 4, 5)
    return net(
        Add(), net(Reduce("mean", (1, 2)), x), net(Reduce("mean", (2,), False), net(Reduce("mean", (1,)), x))
    )


@pattern
def heads(net: Net) -> str:
    """Attention whose heads were turned, and scaled."""
    q, k, v = (net(Transpose((0, 2, 1, 3)), net.x(1, 3, 2, 4, name=name)) for name in "qkv")
    scores = net(Mul(), net(MatMul(), q, net(Transpose((0, 1, 3, 2)), k)), 0.5)
    y = net(MatMul(), net(Softmax(), scores), v)
    return net(Reshape((3, 8)), net(Transpose((0, 2, 1, 3)), y))


def network(make: Make) -> Graph:
    net = Net(DType.F64)
    return net.done(make(net))


def check(graph: Graph, tolerance: float) -> None:
    for what, changed in near_misses(graph):
        try:
            after = simplify(changed)
            assert_same(changed, after, tolerance)
            assert all(each(after) is after for each in PASSES), "something is left to do"
        except Exception as error:
            error.add_note(what)
            raise


@pytest.mark.parametrize("make", PATTERNS, ids=lambda make: make.__name__)
def test_one_difference_in_a_pattern(make: Make) -> None:
    check(network(make), 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_one_difference_in_a_random_network(seed: int) -> None:
    check(random_network(seed, steps=6), 1e-9)
    check(random_movement(seed, steps=6), 0)
