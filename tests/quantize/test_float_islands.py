"""Cheap layers between layers of floats stay floats."""

import numpy as np
from support.nets import Net, kinds

from edgekit.api import quantize_model
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Div, Mul
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array
from edgekit.quantize.measure import real, sqnr
from edgekit.quantize.mixed_precision.float_islands import FloatIslands


def data(count: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(count, 1, 8)).astype(np.float32)


def quotients() -> Graph:
    """Two quotients, which are moved, added and multiplied on the way to a third."""
    net = Net()
    x = net.x(1, 8)
    a = net(Dense(lo=1.0), x, net.random(6, 8), net.random(6))
    b = net(Dense(lo=1.0), x, net.random(6, 8), net.random(6))
    first, second = net(Div(), a, b), net(Div(), b, a)
    total = net(Add(), net(Reshape((6,)), first), net(Reshape((6,)), net(Mul(), second, 0.5)))
    peak = net(Reduce("max", (0,)), total)
    return net.done(net(Div(), total, peak, name="y"))


def islands(graph: Graph, *, has_float_ports: bool = True) -> list[str]:
    found = FloatIslands(graph, has_float_ports=has_float_ports).among(frozenset())
    return [type(node.op).__name__ for node in graph.nodes if node.outputs[0] in found]


def test_what_only_floats_are_made_of_and_become_stays_float() -> None:
    graph = quotients()
    assert sorted(islands(graph)) == ["Add", "Mul", "Reduce", "Reshape", "Reshape"]
    made, report = quantize_model(graph, data(32))
    assert kinds(made).count("Quantize") == 1  # of the input
    assert kinds(made).count("Dequantize") == 2  # of a and b
    assert all("Add" not in warning for warning in report.warnings)


def test_integers_are_not_left_for_floats() -> None:
    net = Net()
    x = net.x(1, 8)
    a, b = (net(Dense(lo=1.0), x, net.random(6, 8), net.random(6)) for _ in range(2))
    quotient = net(Reshape((6,)), net(Div(), a, b))
    mixed = net(Mul(), quotient, net(Reshape((6,)), a))  # half of it is int8
    graph = net.done(net(Dense(), net(Mul(), mixed, 2.0), net.random(3, 6), net.random(3)))
    assert islands(graph) == ["Reshape"]  # which costs nothing in either form
    assert kinds(quantize_model(graph, data(16))[0]).count("Mul") == 2


def test_functions_have_tables() -> None:
    net = Net()
    x = net.x(1, 8)
    a, b = (net(Dense(lo=1.0), x, net.random(6, 8), net.random(6)) for _ in range(2))
    graph = net.done(net(Sigmoid(), net(Div(), a, b)))
    assert islands(graph) == []


def moved_out() -> Graph:
    net = Net()
    x = net.x(1, 8)
    a, b = (net(Dense(lo=1.0), x, net.random(6, 8), net.random(6)) for _ in range(2))
    return net.done(net(Mul(), net(Div(), a, b), 3.0))


def test_outputs_in_floats_are_not_rounded_on_the_way() -> None:
    graph = moved_out()
    assert islands(graph) == ["Mul"]
    assert islands(graph, has_float_ports=False) == []
    assert kinds(quantize_model(graph, data(16), io="int8")[0])[-2:] == ["Quantize", "Mul"]
    made, _ = quantize_model(graph, data(32))
    assert kinds(made)[-2:] == ["Div", "Mul"]
    strict = quantize_model(graph, data(32), io="int8")[0]
    (y,), fresh = graph.outputs, data(50, seed=3)
    exact, ours = ([simulate.run(one, {"x": x})[y] for x in fresh] for one in (graph, made))
    ends = strict.type("x").quant
    assert ends is not None
    before = []
    for x in fresh:
        integers = (np.rint(x / ends.scale[0]) + ends.zero[0]).clip(-128, 127).astype(np.int8)
        before.append(real(simulate.run(strict, {"x": integers})[y], strict.type(y)))
    assert sqnr(exact, ours) > sqnr(exact, before) + 0.5
