"""Constants keep the name of the tensor of the model that they were made of."""

import numpy as np

from edgekit.core.builder import Builder
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Type


def test_a_transposed_weight_is_called_as_in_the_model() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (3, 2)))
    w = b.const(np.ones((2, 3), np.float32), hint="0.weight")
    y = b.one(Mul(), x, b.one(Transpose((1, 0)), w))
    assert [name for name, _ in b.graph("m", [x], [y]).constants()] == ["0.weight"]


def test_the_name_stays_with_the_tensor_that_still_has_it() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (2, 2)))
    w = b.const(np.arange(4, dtype=np.float32).reshape(2, 2), hint="w")
    y = b.one(Mul(), b.one(Mul(), x, w), b.one(Transpose((1, 0)), w))
    graph = b.graph("m", [x], [y])
    assert {name: value.data[0, 1] for name, value in graph.constants() if value.data is not None} == {
        "w": 1.0,
        "w_1": 2.0,
    }
