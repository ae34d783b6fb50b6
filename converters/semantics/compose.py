"""Compositions of operators that several import handlers share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.activations import Exp, Log
from edgekit.core.ops.arithmetic import Sqrt
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.logic import Equal
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import DType


def reduce(x: Tensor, kind: str, axes: Sequence[int], keepdims: bool = True, narrow: bool = False) -> Tensor:
    """sum, mean, prod, max or min over some dimensions; negative axes count from the back."""
    return x.apply(Reduce(kind, tuple(sorted({x.axis(a) for a in axes})), keepdims, narrow))


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """numpy.matmul: matrices in the last two dimensions; a vector is a row on the left, else a column."""
    if a.rank == 1:
        y = matmul(a.reshape(1, *a.shape), b)
        return y.reshape(*y.shape[:-2], y.shape[-1]) if b.rank > 1 else y.reshape()
    if b.rank == 1:
        y = matmul(a, b.reshape(*b.shape, 1))
        return y.reshape(*y.shape[:-1])
    if b.rank == 2 and b.data is not None and b.dtype.is_float:
        return dense(a, b.transpose(1, 0))
    return a.apply(MatMul(), b)


def dense(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """A fully connected layer with weights w [outputs, inputs]."""
    return x.apply(Dense(), w, b if b is not None else x.like(np.zeros(w.shape[0])))


def rows(x: Tensor, axis: int) -> Tensor:
    """`axis` brought to the back."""
    return x.transpose(*(i for i in range(x.rank) if i != axis), axis)


def unrows(x: Tensor, axis: int) -> Tensor:
    """The last dimension brought back to `axis`."""
    return x.transpose(*range(axis), x.rank - 1, *range(axis, x.rank - 1))


def widened(x: Tensor) -> Tensor:
    """Floats of 16 bits in 32, for what should be computed in more than they hold."""
    return cast(x, DType.F32) if x.dtype.is_float and x.dtype.bytes < 4 else x


def softmax(x: Tensor, axis: int) -> Tensor:
    axis = x.axis(axis)
    if x.dtype.bytes < 4:
        # Each step is rounded, and of bf16 each addition too: ONNX states the precision, and tests it.
        e = (x - reduce(x, "max", [axis])).apply(Exp())
        return e / reduce(e, "sum", [axis], narrow=x.dtype is DType.BF16)
    return unrows(rows(x, axis).apply(Softmax()), axis)


def safe_softmax(x: Tensor, axis: int) -> Tensor:
    """0 where all numbers of a row are -inf, of which the plain softmax makes NaN."""
    hidden = reduce(x, "max", [axis]).apply(Equal(), -np.inf)
    return where(hidden, x.like(0), softmax(x, axis))


def log_softmax(x: Tensor, axis: int) -> Tensor:
    wide = widened(x)
    d = wide - reduce(wide, "max", [axis])
    return cast(d - reduce(d.apply(Exp()), "sum", [axis]).apply(Log()), x.dtype)


def standardize(x: Tensor, axes: Sequence[int], epsilon: float) -> tuple[Tensor, Tensor, Tensor]:
    """x with mean 0 and variance 1 over some dimensions; the mean, and 1 / the standard deviation."""
    mean = reduce(x, "mean", axes)
    d = x - mean
    inverse = 1 / (reduce(d * d, "mean", axes) + epsilon).apply(Sqrt())
    return d * inverse, mean, inverse
