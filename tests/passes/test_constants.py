"""Constants fold unless that costs much flash, constant operands shrink, and equal things exist once."""

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Neg
from edgekit.core.ops.expand import Expand
from edgekit.core.passes.common import common
from edgekit.core.passes.constants import constants
from edgekit.core.types import DType, Type, Value


def expanded(rows: int, columns: int) -> Graph:
    """x + expand(c) where nothing is folded yet; c has one column."""
    c = np.arange(rows, dtype=np.float32).reshape(rows, 1)
    big = Type(DType.F32, (rows, columns))
    values = {"x": Value(big), "c": Value(Type(DType.F32, c.shape), c), "e": Value(big), "y": Value(big)}
    nodes = (Node(Expand(big.shape), ("c",), ("e",)), Node(Add(), ("x", "e"), ("y",)))
    return Graph("net", ("x",), ("y",), nodes, values)


def test_a_node_on_constants_folds_and_its_result_shrinks_again() -> None:
    graph = expanded(3, 4)
    after = constants(graph)
    assert kinds(after) == ["Add"]
    assert {data.shape for _, data in after.constants()} == {(3, 1)}
    assert_same(graph, after, 0)


@pytest.mark.parametrize(("rows", "columns"), [(256, 1024), (256, 9), (1024, 9), (1, 1025)])
def test_a_small_constant_does_not_grow_large(rows: int, columns: int) -> None:
    graph = expanded(rows, columns)
    assert constants(graph) is graph


@pytest.mark.parametrize(("rows", "columns"), [(256, 8), (1024, 8), (1, 1024)])
def test_a_constant_may_take_eight_times_its_bytes_or_four_kilobytes(rows: int, columns: int) -> None:
    assert kinds(constants(expanded(rows, columns))) == ["Add"]


@pytest.mark.parametrize(
    ("constant", "shape"),
    [
        (np.full((2, 3, 4), 5), ()),
        (np.full((1, 1, 1), 5), ()),
        (np.full(4, 5), ()),
        (np.arange(4).reshape(1, 1, 4) + np.zeros((2, 3, 1)), (4,)),
        (np.arange(3).reshape(3, 1) + np.zeros((2, 3, 4)), (3, 1)),
        (np.full((2, 3, 4), np.nan), ()),
        (np.array([0.0, -0.0, 0.0, 0.0]), (4,)),
    ],
)
def test_a_constant_that_repeats_itself_is_broadcast(constant: np.ndarray, shape: tuple[int, ...]) -> None:  # type: ignore[type-arg]
    net = Net()
    graph = net.done(net(Mul(), net.x(2, 3, 4), constant, name="y"))
    after = constants(graph)
    assert [data.shape for _, data in after.constants()] == [shape]
    assert constants(after) is after
    assert_same(graph, after, 0)


def test_a_constant_that_makes_the_shape_stays() -> None:
    net = Net()
    graph = net.done(net(Mul(), net.x(1, 4), np.full((3, 4), 5), name="y"))
    after = constants(graph)
    assert [data.shape for _, data in after.constants()] == [(3, 1)]
    assert_same(graph, after, 0)


def test_two_constants_shrink_together() -> None:
    net = Net()
    graph = net.done(net(Clip(), net.x(2, 2), np.full((2, 2), -1), np.full((2, 2), 1), name="y"))
    after = constants(graph)
    assert {data.shape for _, data in after.constants()} == {()}
    assert_same(graph, after, 0)


def test_equal_nodes_are_computed_once() -> None:
    net = Net()
    x = net.x(3)
    once, again = (net(Neg(), net(Add(), x, 2.0)) for _ in range(2))
    graph = net.done(net(Mul(), once, again, name="y"))
    after = common(graph)
    assert kinds(after) == ["Add", "Neg", "Mul"]
    assert common(after) is after
    assert_same(graph, after, 0)


def test_equal_constants_are_stored_once() -> None:
    net = Net()
    big = np.arange(100, dtype=np.float32)
    other = big.astype(np.int32).view(np.float32)  # not the same bytes
    y = net.x(100)
    for c in (big, big.copy(), other):
        y = net(Add(), y, net.const(c))
    after = common(net.done(y))
    assert len(list(after.constants())) == 2


def test_two_outputs_that_are_equal_keep_their_names() -> None:
    net = Net()
    x = net.x(3)
    graph = net.done(net(Neg(), x, name="y"), net(Neg(), x, name="z"))
    after = common(graph)
    assert kinds(after) == ["Neg", "Reshape"]
    assert_same(graph, after, 0)
