"""What is cut off in the end is not computed before."""

from collections.abc import Callable

import pytest
from support.nets import Net, assert_same, count

from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.passes.slices import slices

Make = Callable[[Net, str], str]
SHAPE = (2, 6, 8)


def of_first(axis: int, size: int = 1, step: int = 1, start: int = 0) -> Slice:
    """The first of some cells of SHAPE."""
    n = len(SHAPE)
    shape = tuple(size if a == axis else SHAPE[a] for a in range(n))
    return Slice(
        tuple(start * (a == axis) for a in range(n)), tuple(step if a == axis else 1 for a in range(n)), shape
    )


def cut(make: Make, op: Slice) -> Graph:
    net = Net()
    return net.done(net(op, make(net, net.x(*SHAPE)), name="y"))


ROWS: dict[str, Make] = {
    "map": lambda net, x: net(Tanh(), x),
    "sum with a column": lambda net, x: net(Add(), x, net.random(6, 1)),
    "sum with a row": lambda net, x: net(Add(), x, net.random(8)),
    "sum with less": lambda net, x: net(Add(), net(Reduce("sum", (1,), True), x), net.random(6, 8)),
    "norm": lambda net, x: net(LayerNorm(1e-5), x, net.random(8), net.random(8)),
    "norm of squares": lambda net, x: net(RmsNorm(1e-5), x, net.random(8)),
    "softmax": lambda net, x: net(Softmax(), x),
    "dense": lambda net, x: net(Dense(), x, net.random(8, 8), net.random(8)),
    "rows of a product": lambda net, x: net(MatMul(), x, net.random(2, 8, 8)),
    "turned product": lambda net, x: net(MatMul((0, 2, 1)), net(Transpose((0, 2, 1)), x), net.random(8, 8)),
    "transpose": lambda net, x: net(Transpose((1, 0, 2)), net(Reshape((6, 2, 8)), x)),
    "reshape": lambda net, x: net(Reshape(SHAPE), net(Tanh(), net(Reshape((2, 6, 2, 4)), x))),
}


@pytest.mark.parametrize("op", [of_first(1), of_first(1, 3, -2, 5), of_first(0), of_first(0, start=1)])
@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_rows_are_cut_before_they_are_computed(make: Make, op: Slice) -> None:
    graph = cut(make, op)
    after = slices(graph)
    assert_same(graph, after)
    assert after is not graph
    assert after.type(after.nodes[-1].inputs[0]) == after.type("y")
    assert slices(after) is after


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
def test_whatever_is_cut_the_result_is_the_same(make: Make, axis: int) -> None:
    for op in (of_first(axis), of_first(axis, 2), of_first(axis, 1, 1, SHAPE[axis] - 1)):
        graph = cut(make, op)
        assert_same(graph, simplify(graph))


@pytest.mark.parametrize("make", ["softmax", "norm", "norm of squares", "dense"])
def test_what_depends_on_all_that_is_cut_stays(make: str) -> None:
    graph = cut(ROWS[make], of_first(2))
    assert slices(graph) is graph


def test_dimensions_that_a_reshape_mixes_stay() -> None:
    graph = cut(lambda net, x: net(Reshape(SHAPE), net(Reshape((4, 3, 8)), x)), of_first(1))
    assert slices(graph) is graph


def test_columns_of_a_product_are_cut() -> None:
    graph = cut(ROWS["rows of a product"], of_first(2, 3))
    after = slices(graph)
    (product,) = (node for node in after.nodes if isinstance(node.op, MatMul))
    assert after.type(product.outputs[0]).shape == (2, 6, 3)
    assert_same(graph, after)


def branching(first: Slice, second: Op | None, *, shown: bool = False) -> Graph:
    net = Net()
    x = net(Tanh(), net.x(*SHAPE))
    y0 = net(first, x, name="y0")
    outputs = [y0, *([net(second, x, name="y1")] if second else []), *([x] if shown else [])]
    return net.done(*outputs)


def test_a_value_is_cut_where_all_readers_want_the_same_of_it() -> None:
    same = branching(of_first(1), of_first(1))
    assert slices(same) is not same
    assert_same(same, slices(same))
    for graph in (
        branching(of_first(1), of_first(1, start=1)),
        branching(of_first(1), Softmax()),
        branching(of_first(1), None, shown=True),
        branching(of_first(1, 4), None),  # more than a half
    ):
        assert slices(graph) is graph


def test_residuals_of_any_number_are_cut_at_once() -> None:
    net = Net()
    x = net.x(*SHAPE)
    for _ in range(150):
        x = net(Add(), x, net(Tanh(), net(Dense(), x, 0.3 * net.random(8, 8), net.random(8))))
    graph = net.done(net(of_first(1), x, name="y"))
    after = simplify(graph)
    assert after.nodes[0].op == of_first(1)
    assert count(after, "Slice") == 1
    assert_same(graph, after, 1e-3)


def encoder(net: Net, x: str) -> str:
    """A layer of two heads over six tokens of eight numbers."""

    def dense(x: str, inputs: int, outputs: int) -> str:
        return net(Dense(), x, net.random(outputs, inputs), net.random(outputs))

    z = net(LayerNorm(1e-5), x, net.random(8), net.random(8))
    q, k, v = (net(Reshape((2, 6, 2, 4)), dense(z, 8, 8)) for _ in range(3))
    weights = net(Softmax(), net(MatMul((0, 2, 1, 3), (0, 2, 3, 1)), q, k))
    heads = net(Transpose((0, 2, 1, 3)), net(MatMul((), (0, 2, 1, 3)), weights, v))
    x = net(Add(), x, dense(net(Reshape(SHAPE), heads), 8, 8))
    z = net(LayerNorm(1e-5), x, net.random(8), net.random(8))
    return net(Add(), x, dense(net(Tanh(), dense(z, 8, 32)), 32, 8))


def test_the_last_layer_of_a_classifier_is_computed_for_one_token() -> None:
    net = Net()
    y = net(of_first(1), encoder(net, encoder(net, net.x(*SHAPE))), name="y")
    graph = net.done(y)
    after = simplify(graph)
    assert_same(graph, after)
    rows = [after.type(node.inputs[0]).size // after.type(node.inputs[1]).shape[1] for node in dense(after)]
    # Queries, keys and values, what heads give, and the perceptron.
    assert rows == [*[12] * 6, *sorted(rows[6:9]), *[2] * 3]
    assert sorted(rows[6:9]) == [2, 12, 12]


def dense(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if isinstance(node.op, Dense)]
