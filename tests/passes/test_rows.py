"""Transposes behind dense layers go into the rows of their weights."""

import pytest
from support.nets import Net, assert_same, count, kinds

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import PRelu, Sigmoid
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.rows import rows
from edgekit.core.passes.simplify import simplify

TO_NHWC = (0, 2, 3, 1)


def decoder(
    batch: int, perm: tuple[int, ...] = TO_NHWC, *, activation: bool = True, shown: bool = False
) -> Graph:
    net = Net()
    y = net(Dense(), net.x(batch, 5), net.random(48, 5), net.random(48))
    if activation:
        y = net(PRelu(), net(Sigmoid(), y), 0.1)
    image = net(Reshape((batch, 3, 4, 4)), y)
    result = net(Transpose(perm), image, name="y")
    return net.done(result, image) if shown else net.done(result)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("activation", [False, True])
def test_an_image_made_by_a_dense_layer_is_made_in_order(batch: int, activation: bool) -> None:
    graph = decoder(batch, activation=activation)
    after = rows(graph)
    assert count(after, "Transpose") == 0
    assert kinds(after) == ["Dense", *["Sigmoid", "PRelu"] * activation, "Reshape"]
    assert_same(graph, after, 0)
    assert rows(after) is after


def test_what_others_read_stays_in_its_order() -> None:
    graph = decoder(1, shown=True)
    assert rows(graph) is graph


def test_the_batch_is_not_moved() -> None:
    graph = decoder(2, (1, 0, 2, 3))
    assert rows(graph) is graph


def test_a_decoder_has_no_transpose_inside() -> None:
    net = Net()
    image = net(Reshape((1, 3, 4, 4)), net(Dense(lo=0.0), net.x(1, 5), net.random(48, 5), net.random(48)))
    y = net(Conv2d(), net(Transpose(TO_NHWC), image), net.random(2, 3, 3, 3), net.random(2))
    graph = net.done(net(Transpose((0, 3, 1, 2)), y, name="y"))
    after = simplify(graph)
    assert kinds(after) == ["Dense", "Reshape", "Conv2d", "Transpose"]
    assert_same(graph, after)
