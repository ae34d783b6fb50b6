"""Layers whose outputs are read in slices become layers of these."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.api import quantize_model
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.passes.split_layers import split_layers

ROWS = 5


def dense(net: Net, outputs: int, rows: int = ROWS, lo: float = -np.inf) -> str:
    return net(Dense(lo=lo), net.x(1, rows, 8), net.random(outputs, 8), net.random(outputs))


def part(net: Net, x: str, axis: int, start: int, size: int = 1, step: int = 1, name: str = "") -> str:
    shape = net.type(x).shape
    starts, steps = [0] * len(shape), [1] * len(shape)
    starts[axis], steps[axis] = start, step
    return net(Slice(tuple(starts), tuple(steps), (*shape[:axis], size, *shape[axis + 1 :])), x, name=name)


def of_columns(net: Net) -> list[str]:
    """As torch.chunk cuts."""
    y = dense(net, 96, lo=0.0)
    return [part(net, y, 2, 32 * i, 32, name=f"y{i}") for i in range(3)]


def of_unequal_columns(net: Net) -> list[str]:
    """Some of which nothing reads."""
    y = dense(net, 112)
    return [part(net, y, 2, 80, 32, name="y0"), part(net, y, 2, 0, 48, name="y1")]


def of_every_third(net: Net) -> list[str]:
    y = dense(net, 48)
    return [part(net, y, 2, i, 16, 3, name=f"y{i}") for i in range(3)]


def of_parts(net: Net) -> list[str]:
    """As torch.nn.MultiheadAttention selects."""
    y = net(Reshape((1, ROWS, 3, 16)), dense(net, 48))
    return [part(net, y, 2, i, name=f"y{i}") for i in range(3)]


def of_heads(net: Net) -> list[str]:
    """As vision transformers put heads before tokens."""
    y = net(Transpose((2, 0, 3, 1, 4)), net(Reshape((1, ROWS, 3, 2, 16)), dense(net, 96)))
    return [part(net, y, 0, i, name=f"y{i}") for i in range(3)]


CUT: list[Callable[[Net], list[str]]] = [of_columns, of_unequal_columns, of_every_third, of_parts, of_heads]


def made(cut: Callable[[Net], list[str]]) -> Graph:
    net = Net()
    return net.done(*cut(net))


@pytest.mark.parametrize("cut", CUT)
def test_each_slice_has_its_layer(cut: Callable[[Net], list[str]]) -> None:
    graph = made(cut)
    after = split_layers(graph)
    slices = kinds(graph).count("Slice")
    assert kinds(after).count("Dense") == slices
    assert "Slice" not in kinds(after)
    assert_same(graph, after, 1e-6)
    assert split_layers(after) is after


def test_each_node_says_which_one_of_the_model_it_is_of() -> None:
    graph = made(of_heads)
    named = replace(graph, nodes=tuple(replace(node, origin=node.outputs[0]) for node in graph.nodes))
    layer = next(node.origin for node in named.nodes if isinstance(node.op, Dense))
    after = split_layers(named)
    for node in after.nodes:
        is_layer = isinstance(node.op, Dense)
        assert node.origin == layer if is_layer else node.origin in graph.outputs
    assert [node.origin for node in map(after.producer, after.outputs) if node] == list(graph.outputs)


@pytest.mark.parametrize("cut", CUT)
def test_integers_are_the_same(cut: Callable[[Net], list[str]]) -> None:
    graph = made(cut)
    samples = np.random.default_rng(1).standard_normal((8, 1, ROWS, 8)).astype(np.float32)
    whole, _ = quantize_model(graph, samples, calibrate="minmax", strict_int8=True)
    assert "Slice" in kinds(whole)
    after = simplify(whole)
    assert "Slice" not in kinds(after)
    for x in samples:
        before, now = (simulate.run(g, {"x": x}) for g in (whole, after))
        for name in whole.outputs:
            assert before[name].tobytes() == now[name].tobytes()


def one_row(net: Net) -> list[str]:
    """Where slices are no copies."""
    y = dense(net, 64, rows=1)
    return [part(net, y, 2, 0, 32), part(net, y, 2, 32, 32)]


def twice(net: Net) -> list[str]:
    y = dense(net, 64)
    return [part(net, y, 2, 0, 48), part(net, y, 2, 32, 32)]


def whole_too(net: Net) -> list[str]:
    y = dense(net, 64)
    return [part(net, y, 2, 0, 32), net(Mul(), y, 2.0)]


def an_output(net: Net) -> list[str]:
    y = dense(net, 64)
    return [part(net, y, 2, 0, 32), y]


def of_rows(net: Net) -> list[str]:
    y = dense(net, 64)
    return [part(net, y, 1, 0, 2), part(net, y, 1, 2, 3)]


def backwards(net: Net) -> list[str]:
    y = dense(net, 64)
    return [part(net, y, 2, 31, 32, -1), part(net, y, 2, 63, 32, -1)]


def of_few(net: Net) -> list[str]:
    """Which kernels would pad."""
    y = dense(net, 20)
    return [part(net, y, 2, 0, 4), part(net, y, 2, 4, 16)]


@pytest.mark.parametrize("cut", [one_row, twice, whole_too, an_output, of_rows, backwards, of_few])
def test_other_layers_stay_whole(cut: Callable[[Net], list[str]]) -> None:
    graph = made(cut)
    assert split_layers(graph) is graph


def test_a_scale_of_one_part_is_in_its_weights() -> None:
    net = Net()
    q, k, v = of_parts(net)
    graph = net.done(net(Mul(), q, 0.5, name="q"), k, v)
    after = simplify(graph)
    assert set(kinds(after)) <= {"Dense", "Reshape"}
    assert_same(graph, after)
