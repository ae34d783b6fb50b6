"""Elementwise arithmetic, comparisons, logic, selection and conversions."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce as _reduce

import numpy as np

from edgekit.converters.semantics.aten import arithmetic as _torch
from edgekit.converters.semantics.aten import logic as _logic
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.movement import where as _where
from edgekit.converters.semantics.onnx import elementwise as _math
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensorflow.layouts import Layout
from edgekit.core.ops import Op as _Op
from edgekit.core.ops import arithmetic as _arithmetic
from edgekit.core.ops import logic as _comparisons
from edgekit.core.types import DType


def _function(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def handler(x: Tensor) -> Tensor:
        return apply(x)

    return handler


def _pair(op: _Op) -> Callable[[Tensor, Tensor], Tensor]:
    def handler(a: Tensor, b: Tensor) -> Tensor:
        return a.apply(op, b)

    return handler


Abs = _function(_math.Abs)
Acos = _function(_math.Acos)
Acosh = _function(_math.Acosh)
Asin = _function(_math.Asin)
Asinh = _function(_math.Asinh)
Atan = _function(_math.Atan)
Atanh = _function(_math.Atanh)
Ceil = _function(_math.Ceil)
Cos = _function(_math.Cos)
Cosh = _function(_math.Cosh)
Erf = _function(_math.Erf)
Erfc = _function(lambda x: 1 - _math.Erf(x))
Exp = _function(_math.Exp)
Expm1 = _function(_torch.expm1)
Floor = _function(_math.Floor)
IsInf = _function(_logic.isinf)
IsNan = _function(_logic.isnan)
IsFinite = _function(lambda x: (x - x).apply(_comparisons.Equal(), 0))
Log = _function(_math.Log)
Log1p = _function(_torch.log1p)
Neg = _function(_math.Neg)
Reciprocal = Inv = _function(_math.Reciprocal)
Rint = Round = _function(_math.Round)
Rsqrt = _function(lambda x: 1 / _math.Sqrt(x))
Sign = _function(_math.Sign)
Sin = _function(_math.Sin)
Sinh = _function(_math.Sinh)
Sqrt = _function(_math.Sqrt)
Square = _function(lambda x: x * x)
Tan = _function(_math.Tan)

Add = AddV2 = _pair(_arithmetic.Add())
Sub = _pair(_arithmetic.Sub())
Mul = _pair(_arithmetic.Mul())
RealDiv = _pair(_arithmetic.Div())
Maximum = _pair(_arithmetic.Max())
Minimum = _pair(_arithmetic.Min())
FloorMod = _pair(_arithmetic.Mod())
Mod = TruncateMod = _pair(_arithmetic.Remainder())
Less = _pair(_comparisons.Less())
LessEqual = _pair(_comparisons.LessOrEqual())
LogicalAnd = _pair(_comparisons.And())
LogicalOr = _pair(_comparisons.Or())


def AddN(*xs: Tensor) -> Tensor:
    return _reduce(Tensor.__add__, xs)


def BiasAdd(x: Tensor, bias: Tensor, *, data_format: str = "NHWC") -> Tensor:
    return x + Layout(data_format, 4).channels(bias, x.rank)  # volumes have these layouts, too


def BiasAddV1(x: Tensor, bias: Tensor) -> Tensor:
    return x + bias


def Div(a: Tensor, b: Tensor) -> Tensor:
    """Integers are divided towards minus infinity."""
    return a / b if a.dtype.is_float else FloorDiv(a, b)


def TruncateDiv(a: Tensor, b: Tensor) -> Tensor:
    return a / b


def FloorDiv(a: Tensor, b: Tensor) -> Tensor:
    if a.dtype.is_float:
        return _math.Floor(a / b)
    return (a - a.apply(_arithmetic.Mod(), b)) / b


def DivNoNan(a: Tensor, b: Tensor) -> Tensor:
    """0 where b is 0."""
    is_zero = b.apply(_comparisons.Equal(), 0)
    return _where(is_zero, a.like(0), a / _where(is_zero, b.like(1), b))


def MulNoNan(a: Tensor, b: Tensor) -> Tensor:
    """0 where b is 0."""
    return _where(b.apply(_comparisons.Equal(), 0), a.like(0), a * b)


def Xlogy(a: Tensor, b: Tensor) -> Tensor:
    """a log(b), 0 where a is 0."""
    return MulNoNan(_math.Log(b), a)


def Xdivy(a: Tensor, b: Tensor) -> Tensor:
    """a / b, 0 where a is 0."""
    return _where(a.apply(_comparisons.Equal(), 0), a.like(0), a / b)


def Pow(a: Tensor, b: Tensor) -> Tensor:
    return _math.Pow(a, b)


def SquaredDifference(a: Tensor, b: Tensor) -> Tensor:
    d = a - b
    return d * d


def Atan2(y: Tensor, x: Tensor) -> Tensor:
    """The angle of the point (x, y), from -pi to pi."""
    half = np.pi / 2
    is_zero = x.apply(_comparisons.Equal(), 0)
    angle = _math.Atan(y / _where(is_zero, x.like(1), x))
    behind = x.apply(_comparisons.Less(), 0)
    below = y.apply(_comparisons.Less(), 0)
    turned = _where(behind, angle + _where(below, y.like(-np.pi), y.like(np.pi)), angle)
    return _where(is_zero, _math.Sign(y) * half, turned)


def ClipByValue(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    return x.max(low).min(high)


def Greater(a: Tensor, b: Tensor) -> Tensor:
    return b.apply(_comparisons.Less(), a)


def GreaterEqual(a: Tensor, b: Tensor) -> Tensor:
    return b.apply(_comparisons.LessOrEqual(), a)


def Equal(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(_comparisons.Equal(), b)


def NotEqual(a: Tensor, b: Tensor) -> Tensor:
    return a.apply(_comparisons.Equal(), b).apply(_comparisons.Not())


def LogicalNot(x: Tensor) -> Tensor:
    return x.apply(_comparisons.Not())


def Select(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    if condition.rank == 1 and yes.rank > 1:  # one decision a row
        condition = condition.reshape(condition.shape[0], *(1,) * (yes.rank - 1))
    return _where(condition, yes, no)


def SelectV2(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return _where(condition, yes, no)


def Cast(x: Tensor, *, DstT: DType) -> Tensor:
    return _cast(x, DstT)
