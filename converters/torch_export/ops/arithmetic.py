"""Elementwise arithmetic on numbers: sums, products, powers, rounding, transcendental functions."""

from __future__ import annotations

from math import log as _log

from edgekit.converters.semantics.aten import arithmetic as shared
from edgekit.converters.semantics.aten.arithmetic import erf, mul, trunc
from edgekit.converters.semantics.aten.type_promotion import (
    Number,
    Operand,
    real,
)
from edgekit.converters.semantics.onnx import elementwise as _onnx
from edgekit.converters.tensor import Tensor


def add(x: Operand, *, other: Operand, alpha: Number = 1) -> Tensor:
    return shared.add(x, other=other, alpha=alpha)


def sub(x: Operand, *, other: Operand, alpha: Number = 1) -> Tensor:
    return shared.sub(x, other=other, alpha=alpha)


def rsub(x: Operand, *, other: Operand, alpha: Number = 1) -> Tensor:
    return sub(other, other=x, alpha=alpha)


def div(x: Operand, *, other: Operand, rounding_mode: str | None = None) -> Tensor:
    return shared.div(x, other=other, rounding_mode=rounding_mode)


def true_divide(x: Operand, *, other: Operand) -> Tensor:
    return div(x, other=other)


def divide(x: Operand, *, other: Operand, rounding_mode: str | None = None) -> Tensor:
    return div(x, other=other, rounding_mode=rounding_mode)


def abs(x: Tensor) -> Tensor:
    return _onnx.Abs(x)


def sign(x: Tensor) -> Tensor:
    return _onnx.Sign(x)


def sgn(x: Tensor) -> Tensor:
    return _onnx.Sign(x)


def round(x: Tensor, *, decimals: int = 0) -> Tensor:
    return shared.round(x, decimals=decimals)


def fix(x: Tensor) -> Tensor:
    return trunc(x)


def frac(x: Tensor) -> Tensor:
    return x - trunc(x)


def exp2(x: Tensor) -> Tensor:
    return _onnx.Exp(real(x) * _log(2))


def erfc(x: Tensor) -> Tensor:
    return 1 - erf(x)


def clamp(x: Tensor, *, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    return shared.clamp(x, min=min, max=max)


def clip(x: Tensor, *, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    return clamp(x, min=min, max=max)


def clamp_min(x: Tensor, *, min: Operand) -> Tensor:
    return clamp(x, min=min)


def clamp_max(x: Tensor, *, max: Operand) -> Tensor:
    return clamp(x, max=max)


def addcmul(x: Tensor, *, tensor1: Tensor, tensor2: Tensor, value: Number = 1) -> Tensor:
    product = mul(tensor1, other=tensor2)
    return add(x, other=product, alpha=value)


def addcdiv(x: Tensor, *, tensor1: Tensor, tensor2: Tensor, value: Number = 1) -> Tensor:
    return add(x, other=div(tensor1, other=tensor2), alpha=value)
