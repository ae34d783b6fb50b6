"""Comparisons, logic, bits, and choices between elements."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics import movement
from edgekit.converters.semantics.aten.type_promotion import Number, Operand, promoted
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import logic as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.ops import logic as _ops
from edgekit.core.types import Array, DType


def eq(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.Equal(*promoted(x, other))


def ne(x: Operand, *, other: Operand) -> Tensor:
    return eq(x, other=other).apply(_ops.Not())


def lt(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.Less(*promoted(x, other))


def le(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.LessOrEqual(*promoted(x, other))


def gt(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.Greater(*promoted(x, other))


def ge(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.GreaterOrEqual(*promoted(x, other))


def logical_not(x: Tensor) -> Tensor:
    return _truth(x).apply(_ops.Not())


def logical_and(x: Tensor, *, other: Tensor) -> Tensor:
    return _truth(x).apply(_ops.And(), _truth(other))


def logical_or(x: Tensor, *, other: Tensor) -> Tensor:
    return _truth(x).apply(_ops.Or(), _truth(other))


def logical_xor(x: Tensor, *, other: Tensor) -> Tensor:
    return _truth(x).apply(_ops.Xor(), _truth(other))


def bitwise_not(x: Tensor) -> Tensor:
    return x.apply(_ops.Not())


def bitwise_and(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.And(*promoted(x, other))


def bitwise_or(x: Operand, *, other: Operand) -> Tensor:
    return _onnx.Or(*promoted(x, other))


def isnan(x: Tensor) -> Tensor:
    return x.apply(_ops.IsNaN()) if x.dtype.is_float else x.new(np.zeros(x.shape, np.bool_))


def isinf(x: Tensor) -> Tensor:
    return _onnx.IsInf(x) if x.dtype.is_float else x.new(np.zeros(x.shape, np.bool_))


def where(condition: Tensor, *, self: Operand, other: Operand) -> Tensor:
    yes, no = (
        promoted(self, other)
        if isinstance(self, Tensor) or isinstance(other, Tensor)
        else (condition.new(np.asarray(v, np.float32)) for v in (self, other))
    )
    return movement.where(_truth(condition), yes, no)


def masked_fill(x: Tensor, *, mask: Tensor, value: Operand) -> Tensor:
    fill = cast(value, x.dtype) if isinstance(value, Tensor) else x.new(_number(value, x.dtype))
    return movement.where(_truth(mask), fill, x)


def _number(value: Number, dtype: DType) -> Array:
    return np.asarray(value).astype(dtype.numpy)


def _truth(x: Tensor) -> Tensor:
    return x if x.dtype is DType.BOOL else x.apply(_ops.Equal(), 0).apply(_ops.Not())
