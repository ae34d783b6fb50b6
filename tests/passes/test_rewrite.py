"""The frame of all passes: what a rule sees, which names survive, what is swept."""

from collections.abc import Sequence

import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Abs, Add, Mul, Neg
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import Edit, drop_dead, rewrite, settle, verify
from edgekit.core.passes.simplify import PASSES, simplify
from edgekit.core.types import DType, Quant, Type, Value
from edgekit.core.wellformed import faults


def double_negation(edit: Edit, node: Node) -> Sequence[str] | None:
    """-(-x) -> x"""
    before = edit.producer(node.inputs[0])
    if isinstance(node.op, Neg) and before is not None and isinstance(before.op, Neg):
        return before.inputs
    return None


def chain(length: int) -> Graph:
    net = Net()
    y = net.x(3)
    for _ in range(length):
        y = net(Neg(), y)
    return net.done(net(Abs(), y, name="y"))


@pytest.mark.parametrize(("length", "left"), [(0, 0), (1, 1), (2, 0), (7, 1), (400, 0)])
def test_a_chain_collapses_whatever_its_length(length: int, left: int) -> None:
    graph = chain(length)
    after = rewrite(graph, double_negation)
    assert kinds(after) == ["Neg"] * left + ["Abs"]
    assert_same(graph, after, 0)


def test_nothing_to_do_gives_the_same_object() -> None:
    graph = chain(1)
    assert rewrite(graph, double_negation) is graph
    assert drop_dead(graph) is graph
    assert simplify(graph) is graph
    assert all(each(graph) is graph for each in PASSES)


def test_an_output_keeps_its_name() -> None:
    net = Net()
    x = net(Abs(), net.x(3), name="inner")
    graph = net.done(net(Neg(), net(Neg(), x), name="y"))
    after = rewrite(graph, double_negation)
    assert [n.outputs for n in after.nodes] == [("y",)]
    assert_same(graph, after, 0)


def test_an_output_that_is_an_input_or_another_output_becomes_a_copy() -> None:
    net = Net()
    x = net.x(3)
    y = net(Abs(), x, name="y")
    graph = net.done(y, net(Neg(), net(Neg(), y), name="z"), net(Neg(), net(Neg(), x), name="w"))
    after = rewrite(graph, double_negation)
    assert kinds(after) == ["Abs", "Reshape", "Reshape"]
    assert_same(graph, after, 0)
    assert simplify(after) is after


def test_an_output_has_the_scale_of_what_becomes_it() -> None:
    exact, coarse = (Type(DType.S8, (3,), Quant((scale,), (0,))) for scale in (0.5, 2.0))
    nodes = (Node(Abs(), ("x",), ("a",)), Node(Neg(), ("a",), ("b",)), Node(Neg(), ("b",), ("y",)))
    values = {"x": Value(exact), "a": Value(exact), "b": Value(exact), "y": Value(coarse)}
    after = rewrite(Graph("net", ("x",), ("y",), nodes, values), double_negation)
    assert [(kind, after.type("y").quant) for kind in kinds(after)] == [("Abs", exact.quant)]


def test_results_keep_the_names_of_layers() -> None:
    def square(edit: Edit, node: Node) -> Sequence[str] | None:
        x = node.inputs[0]
        return [edit.one(Mul(), x, x)] if isinstance(node.op, Abs) else None

    net = Net()
    net.origin = "conv1"
    layer = net(Abs(), net.x(3), name="layer")
    net.origin = "relu1"
    after = rewrite(net.done(net(Neg(), layer, name="y")), square)
    assert [(n.outputs, n.origin) for n in after.nodes] == [(("layer",), "conv1"), (("y",), "relu1")]


def test_what_loses_its_last_reader_is_no_reader_either() -> None:
    seen = []

    def negate(edit: Edit, node: Node) -> Sequence[str] | None:
        if isinstance(node.op, Add):
            return [node.inputs[0]]  # now nobody reads Mul, and only one reads Abs
        if isinstance(node.op, Neg):
            seen.append(edit.used_once(node.inputs[0]))
        return None

    net = Net()
    a = net(Abs(), net.x(3))
    graph = net.done(net(Neg(), net(Add(), a, net(Mul(), a, 2.0)), name="y"))
    rewrite(graph, negate)
    assert seen == [True, True]  # in the sweep that fires, and in the one that finds nothing


def test_dead_nodes_and_constants_go() -> None:
    net = Net()
    x = net.x(3)
    net(Add(), net(Neg(), x), 7.0)
    after = drop_dead(net.done(net(Abs(), x, name="y")))
    assert kinds(after) == ["Abs"]
    assert set(after.values) == {"x", "y"}


def test_rules_that_undo_each_other_are_our_mistake() -> None:
    def back_and_forth(edit: Edit, node: Node) -> Sequence[str] | None:
        op = Abs() if isinstance(node.op, Neg) else Neg()
        return [edit.one(op, *node.inputs)]

    with pytest.raises(AssertionError, match="back_and_forth"):
        rewrite(chain(1), back_and_forth)
    with pytest.raises(AssertionError, match="do not settle"):
        settle(chain(1), lambda g: g.with_name(g.name + "!"))


def test_verify_sees_a_wrong_type() -> None:
    net = Net()
    graph = net.done(net(Transpose((1, 0)), net.x(2, 3), name="y"))
    (node,) = graph.nodes
    wrong = Graph(
        "net", graph.inputs, graph.outputs, (Node(Reshape((2, 3)), node.inputs, node.outputs),), graph.values
    )
    assert list(faults(wrong))
    with pytest.raises(AssertionError, match=r"y is f32\[3,2\]"):
        verify(wrong)
