"""Layers of nothing but -128: two such products are the one sum of a pair that 16 bits cannot hold."""

import numpy as np
import pytest
from support.tools import require

from edgekit.codegen.compilation.build import run
from edgekit.core import simulate, target
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.types import DType, Quant, Type, Value

X, W, Y = Quant((0.01,), (0,)), Quant((0.01,) * 20, (0,) * 20, 0), Quant((1.0,), (0,))


def layer(op: Conv2d | Dense) -> Graph:
    """Of 20 outputs: a whole block of 16, and a rest."""
    build = Builder()
    is_conv = isinstance(op, Conv2d)
    x = build.input("x", Type(DType.S8, (1, 3, 3, 5) if is_conv else (1, 45), X))
    weights = np.full((20, 2, 2, 5) if is_conv else (20, 45), -128, np.int8)
    w, b = build.const(weights), build.const(np.zeros(20, np.int32))
    build.values[w] = Value(Type(DType.S8, weights.shape, W), weights)
    (y,) = build.add(op, x, w, b, quant=Y)
    return build.graph("lowest", [x], [y])


@pytest.mark.parametrize("op", [Conv2d(), Dense()], ids=["conv2d", "dense"])
def test_c_adds_up_the_lowest_integers(op: Conv2d | Dense) -> None:
    require("gcc")
    graph = layer(op)
    x = {"x": np.full(graph.type("x").shape, -128, np.int8)}
    (name,) = graph.outputs
    expected = simulate.run(graph, x)[name]
    assert len(np.unique(expected)) == 1
    assert 0 < expected.flat[0] < 127
    (found,) = run(graph, target.load("host"), [x])
    np.testing.assert_array_equal(found[name], expected)
