"""Layers all of whose inputs and weights are as low as can be: two products leave 16 bits only there."""

from __future__ import annotations

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType, Quant, Type, Value


def least_weights(least: int) -> tuple[Graph, dict[str, Array]]:
    """Convolutions, depthwise with 3 x 3 taps and 2 x 2, a fully connected layer, and their input."""
    b = Builder()
    padded = Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 16)
    layers: tuple[tuple[tuple[int, ...], Op], ...] = (
        ((5, 3, 3, 16), Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 1)),
        ((16, 3, 3, 1), padded),
        ((16, 2, 2, 1), padded),
        ((9, 16), Dense()),
    )
    of_x, of_w = Quant((0.5,), (0,), None, "tfl"), Quant((0.5,), (0,), None, "tfl")
    result = Quant((300.0,), (3,), None, "tfl")
    x = b.input("x", Type(DType.S8, (1, 4, 4, 16), of_x))
    outputs: list[str] = []
    for shape, op in layers:
        w, bias = b.fresh("w"), b.fresh("b")
        b.values[w] = Value(Type(DType.S8, shape, of_w), np.full(shape, least, np.int8))
        b.values[bias] = Value(Type(DType.S32, shape[:1]), np.arange(shape[0], dtype=np.int32))
        outputs += b.add(op, x, w, bias, quant=result)
    return b.graph("least", ["x"], outputs), {"x": np.full((1, 4, 4, 16), -128, np.int8)}
