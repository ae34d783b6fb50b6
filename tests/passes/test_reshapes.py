"""Reshapes go behind what is computed number by number."""

from collections.abc import Callable

import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ops.activations import HardSwish
from edgekit.core.ops.arithmetic import Add, Clip, Mul
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes.reshapes import reshapes
from edgekit.core.passes.simplify import simplify


def line_of(net: Net, x: str, channels: int, length: int) -> str:
    """A convolution over a line, as frameworks write it: over an image of one row."""
    image = net(Conv2d((1, 1), (0, 1, 0, 1)), x, net.random(channels, 1, 3, channels), net.random(channels))
    return net(Reshape((1, length, channels)), image)


@pytest.mark.parametrize("shape", [(6,), (1, 6), (1, 1, 6)])
def test_norms_and_clips_between_convolutions_of_lines_fold(shape: tuple[int, ...]) -> None:
    net = Net()
    x = net.x(1, 1, 9, 6)
    y = net(Add(), net(Mul(), line_of(net, x, 6, 9), net.random(*shape)), net.random(*shape))
    y = net(Reshape((1, 1, 9, 6)), net(Clip(), y, 0.0, 6.0))
    y = net(Reshape((1, 9, 6)), net(Conv2d(), y, net.random(6, 1, 1, 6), net.random(6)), name="y")
    graph = net.done(y)
    after = simplify(graph)
    assert kinds(after) == ["Conv2d", "Conv2d", "Reshape"]
    assert_same(graph, after)


def test_sums_of_lines_are_sums_of_images() -> None:
    net = Net()
    x = net.x(1, 1, 9, 6)
    a, b = line_of(net, x, 6, 9), line_of(net, x, 6, 9)
    graph = net.done(net(HardSwish(), net(Add(), a, b), name="y"))
    after = reshapes(graph)
    assert kinds(after) == ["Conv2d", "Conv2d", "Add", "HardSwish", "Reshape"]
    assert_same(graph, after, 0)
    assert reshapes(after) is after


def test_a_reshape_that_others_read_stays_for_them() -> None:
    net = Net()
    line = net(Reshape((9, 6)), net(Pool2d("max", (2, 2), (2, 2)), net.x(1, 6, 18, 2)), name="line")
    graph = net.done(net(Mul(), line, 2.0, name="y"), line)
    after = reshapes(graph)
    assert sorted(kinds(after)) == ["Mul", "Pool2d", "Reshape", "Reshape"]
    assert_same(graph, after, 0)


def other_channels(net: Net) -> str:
    y = net(Reshape((1, 6, 9)), net(Dense(), net.x(1, 54), net.random(54, 54), net.random(54)))
    return net(Mul(), y, net.random(9), name="y")


def one_number_for_each_row(net: Net) -> str:
    return net(Mul(), line_of(net, net.x(1, 1, 9, 6), 6, 9), net.random(9, 1), name="y")


def rows_of_another(net: Net) -> str:
    return net(Add(), line_of(net, net.x(1, 1, 9, 6), 6, 9), net.x(1, 9, 6), name="y")


def results_that_grow(net: Net) -> str:
    y = net(Reshape((1, 6)), net(Dense(), net.x(6, 3), net.random(1, 3), net.random(1)))
    return net(Add(), y, net.random(5, 6), name="y")


def inputs_of_the_network(net: Net) -> str:
    return net(Mul(), net(Reshape((9, 6)), net.x(1, 9, 6)), 2.0, name="y")


@pytest.mark.parametrize(
    "make",
    [other_channels, one_number_for_each_row, rows_of_another, results_that_grow, inputs_of_the_network],
    ids=lambda make: make.__name__,
)
def test_what_would_not_be_the_same_or_not_fold_stays(make: Callable[[Net], str]) -> None:
    net = Net()
    graph = net.done(make(net))
    assert reshapes(graph) is graph
