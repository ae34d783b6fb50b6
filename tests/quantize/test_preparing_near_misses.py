"""What a preparation recognizes, changed in one thing: the results in floats are the same."""

from collections.abc import Callable

import numpy as np
import pytest
from support.near_misses import near_misses
from support.nets import Net, assert_same, kinds

from edgekit.core.ops.arithmetic import Add, Div, Mul, Sqrt, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.logic import Equal, Less, Or, Where
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.quantize.preparation.prepare import prepare

Make = Callable[[Net], str]


def factors(net: Net) -> str:
    return net(Mul(), net.x(1, 2, 3, 4), net.rng.uniform(0.5, 2, 4))


def quotients(net: Net) -> str:
    return net(Div(), net.x(3, 4), net.rng.uniform(0.5, 2, 4))


def offsets_of_a_layer(net: Net) -> str:
    y = net(Dense(), net.x(6, 4), net.random(3, 4), net.random(3))
    return net(Add(), net(Reshape((2, 3, 3)), y), net.random(3))


def offsets_of_an_image(net: Net) -> str:
    y = net(Conv2d(), net.x(1, 2, 3, 2), net.random(3, 1, 1, 2), net.random(3))
    return net(Add(), net(Reshape((6, 3)), y), net.random(3))


def added_mask(net: Net) -> str:
    mask = np.where(net.rng.random((4, 5)) < 0.4, -1e9, 0.0)
    mask[:, 0] = 0.25
    return net(Softmax(), net(Add(), net.x(4, 5), mask))


def chosen_mask(net: Net) -> str:
    seen = net.rng.random((2, 5)) < 0.6
    seen[:, 0] = True
    chosen = net.one(Where(), net.const(seen), net.x(2, 5), net.const(np.float32(-1e30)))
    return net(Softmax(), net(Reshape((1, 2, 5)), chosen))


def computed_mask(net: Net) -> str:
    """With a guard: where all of a row is hidden, the result is 0. The first number is seen in every row."""
    below = net.one(Less(), net.x(4, 5), net.const(np.float32(0)))
    seen = net.one(Or(), below, net.const(np.arange(5) == 0))
    mask = net.one(Where(), seen, net.const(np.float32(0)), net.const(np.float32(-np.inf)))
    scores = net(Add(), net.x(4, 5, name="z"), mask)
    hidden = net.one(Reduce("min", (1,)), net.one(Equal(), scores, net.const(np.float32(-np.inf))))
    return net.one(Where(), hidden, net.const(np.float32(0)), net(Softmax(), scores))


def rows(net: Net) -> str:
    x = net.x(2, 3, 4)
    d = net(Sub(), x, net(Reduce("mean", (1,)), x))
    return net(Div(), d, net(Sqrt(), net(Add(), net(Reduce("mean", (1,)), net(Mul(), d, d)), 1e-3)))


PATTERNS: dict[Make, str] = {
    factors: "Conv2d",
    quotients: "Conv2d",
    offsets_of_a_layer: "Dense Reshape",
    offsets_of_an_image: "Conv2d Reshape",
    added_mask: "Where",
    chosen_mask: "Where",
    computed_mask: "Where Softmax",
    rows: "LayerNorm",
}


@pytest.mark.parametrize("make", PATTERNS, ids=lambda make: make.__name__)
def test_one_difference(make: Make) -> None:
    net = Net()
    graph = net.done(make(net))
    assert PATTERNS[make] in " ".join(kinds(prepare(graph)))
    assert_same(graph, prepare(graph), 1e-4)
    for what, changed in near_misses(graph):
        try:
            assert_same(changed, prepare(changed), 1e-4)
        except Exception as error:
            error.add_note(what)
            raise
