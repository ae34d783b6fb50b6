"""Elementwise operators with a node of their own, and the reshaping family."""

from __future__ import annotations

from math import inf, prod

import numpy as np

from edgekit.converters.tensor import Tensor, concat
from edgekit.ops.activations import Exp, Log, PRelu as PReluOp, Sigmoid as SigmoidOp, Tanh as TanhOp
from edgekit.ops.arithmetic import Abs as AbsOp, Sqrt as SqrtOp
from edgekit.ops.dense import Dense


def Add(a: Tensor, b: Tensor) -> Tensor:
    return a + b


def Sub(a: Tensor, b: Tensor) -> Tensor:
    return a - b


def Mul(a: Tensor, b: Tensor) -> Tensor:
    return a * b


def Div(a: Tensor, b: Tensor) -> Tensor:
    return a / b


def Relu(x: Tensor) -> Tensor:
    return x.clip(0, inf) if x.dtype.is_float else x.max(0)


def Sigmoid(x: Tensor) -> Tensor:
    return x.apply(SigmoidOp())


def Constant(*, value: np.ndarray | None = None, importer: object = None) -> Tensor:  # type: ignore[type-arg]
    return importer.const(value, "constant")  # type: ignore[attr-defined]


def Identity(x: Tensor) -> Tensor:
    return x


def Reshape(x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    dims = [
        x.shape[i] if d == 0 and not allowzero else d for i, d in enumerate(shape.ints("the shape of Reshape"))
    ]
    if -1 in dims:
        known = prod(d for d in dims if d != -1)
        dims[dims.index(-1)] = prod(x.shape) // known if known else 0
    return x.reshape(*dims)


def Flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    axis = axis + x.rank if axis < 0 else axis
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


def Transpose(x: Tensor, *, perm: tuple[int, ...] | None = None) -> Tensor:
    return x.transpose(*(perm if perm is not None else range(x.rank - 1, -1, -1)))


def Concat(*xs: Tensor, axis: int) -> Tensor:
    return concat(xs, axis)
