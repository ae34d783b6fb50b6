"""Elementwise arithmetic on numbers: sums, products, powers, rounding, transcendental functions."""

from __future__ import annotations

from math import log as _log

from edgekit.converters.semantics.aten.type_promotion import (
    Number,
    Operand,
    common_type,
    promoted,
    real,
    reals,
)
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import elementwise as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import rounding as _rounding
from edgekit.core.ops.logic import And as _And
from edgekit.core.ops.logic import Less as _Less
from edgekit.core.ops.logic import Or as _Or
from edgekit.core.types import DType


def add(x: Operand, *, other: Operand, alpha: Number = 1) -> Tensor:
    if alpha != 1:
        (other,) = _scaled(x, other, alpha)
    a, b = promoted(x, other)
    return a.apply(_Or(), b) if a.dtype is DType.BOOL else a + b


def sub(x: Operand, *, other: Operand, alpha: Number = 1) -> Tensor:
    if alpha != 1:
        (other,) = _scaled(x, other, alpha)
    a, b = promoted(x, other)
    return a - b


def mul(x: Operand, *, other: Operand) -> Tensor:
    a, b = promoted(x, other)
    return a.apply(_And(), b) if a.dtype is DType.BOOL else a * b


def div(x: Operand, *, other: Operand, rounding_mode: str | None = None) -> Tensor:
    if rounding_mode is None:
        a, b = reals(x, other)
        return a / b
    if rounding_mode == "floor":
        return floor_divide(x, other=other)
    if rounding_mode != "trunc":
        raise EdgeKitError("E0401", f"rounding mode {rounding_mode} is unknown")
    a, b = promoted(x, other)
    return trunc(a / b)


def floor_divide(x: Operand, *, other: Operand) -> Tensor:
    a, b = promoted(x, other)
    return floor(a / b) if a.dtype.is_float else (a - _onnx.Mod(a, b)) / b


def remainder(x: Operand, *, other: Operand) -> Tensor:
    a, b = promoted(x, other)
    return a - floor(a / b) * b if a.dtype.is_float else _onnx.Mod(a, b)


def fmod(x: Operand, *, other: Operand) -> Tensor:
    a, b = promoted(x, other)
    return _onnx.Mod(a, b, fmod=1)


def pow(x: Operand, *, exponent: Operand) -> Tensor:
    if isinstance(x, Tensor) and isinstance(exponent, int | float):
        if exponent == 0.5:
            return sqrt(x)
        if exponent == -1 and x.dtype.is_float:
            return 1 / x
        if exponent == -0.5:
            return rsqrt(x)
    a, b = promoted(x, exponent)
    return _onnx.Pow(a, b)


def square(x: Tensor) -> Tensor:
    return x * x


def neg(x: Tensor) -> Tensor:
    return -x


def sqrt(x: Tensor) -> Tensor:
    return _onnx.Sqrt(real(x))


def rsqrt(x: Tensor) -> Tensor:
    return 1 / sqrt(x)


def reciprocal(x: Tensor) -> Tensor:
    return 1 / real(x)


def floor(x: Tensor) -> Tensor:
    return x.apply(_rounding.Floor()) if x.dtype.is_float else x


def ceil(x: Tensor) -> Tensor:
    return x.apply(_rounding.Ceil()) if x.dtype.is_float else x


def round(x: Tensor, *, decimals: int = 0) -> Tensor:
    if not x.dtype.is_float:
        return x
    if not decimals:
        return x.apply(_rounding.Round())
    return (x * 10.0**decimals).apply(_rounding.Round()) / 10.0**decimals


def trunc(x: Tensor) -> Tensor:
    if not x.dtype.is_float:
        return x
    return cast(cast(x.apply(_Less(), 0), x.dtype) * (ceil(x) - floor(x)) + floor(x), x.dtype)


def exp(x: Tensor) -> Tensor:
    return _onnx.Exp(real(x))


def expm1(x: Tensor) -> Tensor:
    return _onnx.Exp(real(x)) - 1


def log(x: Tensor) -> Tensor:
    return _onnx.Log(real(x))


def log2(x: Tensor) -> Tensor:
    return log(x) * (1 / _log(2))


def log10(x: Tensor) -> Tensor:
    return log(x) * (1 / _log(10))


def log1p(x: Tensor) -> Tensor:
    return log(real(x) + 1)


def erf(x: Tensor) -> Tensor:
    return _onnx.Erf(real(x))


def sin(x: Tensor) -> Tensor:
    return _onnx.Sin(real(x))


def cos(x: Tensor) -> Tensor:
    return _onnx.Cos(real(x))


def tan(x: Tensor) -> Tensor:
    return _onnx.Tan(real(x))


def asin(x: Tensor) -> Tensor:
    return _onnx.Asin(real(x))


def acos(x: Tensor) -> Tensor:
    return _onnx.Acos(real(x))


def atan(x: Tensor) -> Tensor:
    return _onnx.Atan(real(x))


def sinh(x: Tensor) -> Tensor:
    return _onnx.Sinh(real(x))


def cosh(x: Tensor) -> Tensor:
    return _onnx.Cosh(real(x))


def asinh(x: Tensor) -> Tensor:
    return _onnx.Asinh(real(x))


def acosh(x: Tensor) -> Tensor:
    return _onnx.Acosh(real(x))


def atanh(x: Tensor) -> Tensor:
    return _onnx.Atanh(real(x))


def maximum(x: Operand, *, other: Operand) -> Tensor:
    a, b = promoted(x, other)
    return a.max(b)


def minimum(x: Operand, *, other: Operand) -> Tensor:
    a, b = promoted(x, other)
    return a.min(b)


def clamp(x: Tensor, *, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    bounds = [bound for bound in (min, max) if bound is not None]
    dtype = common_type([x, *bounds])
    y = cast(x, dtype)
    low, high = (None if b is None else promoted(y, b)[1] for b in (min, max))
    return _onnx.Clip(y, low, high)


def lerp(x: Tensor, *, end: Tensor, weight: Operand) -> Tensor:
    a, b, w = promoted(x, end, weight)
    return a + w * (b - a)


def _scaled(x: Operand, other: Operand, alpha: Number) -> tuple[Operand]:
    """other * alpha in the type of the sum."""
    if not isinstance(other, Tensor):
        return (other * alpha,)
    a = promoted(x, other)[1]
    return (a * alpha,)
