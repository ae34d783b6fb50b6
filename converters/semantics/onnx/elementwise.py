"""Elementwise arithmetic of numbers: operators of one, two and any number of operands."""

from __future__ import annotations

from functools import reduce

from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.ops import activations, arithmetic, rounding, trigonometry
from edgekit.core.types import DType


def Add(a: Tensor, b: Tensor) -> Tensor:
    return a + b


def Mul(a: Tensor, b: Tensor) -> Tensor:
    return a * b


def Mod(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    return a.apply(arithmetic.Remainder() if fmod else arithmetic.Mod(), b)


def Pow(a: Tensor, b: Tensor) -> Tensor:
    power = b.data.item() if b.data is not None and b.type.size == 1 and b.rank <= a.rank else None
    if power in (1, 2, 3):
        return reduce(Mul, [a] * int(power))
    if a.dtype.is_float or not b.dtype.is_float:
        return a.apply(arithmetic.Pow(), cast(b, a.dtype))
    wide = DType.F64 if a.dtype.bits >= 32 else DType.F32
    return cast(cast(a, wide).apply(arithmetic.Pow(), cast(b, wide)), a.dtype)


def Sum(*xs: Tensor) -> Tensor:
    return reduce(Add, xs)


def Clip(
    x: Tensor,
    low: Tensor | None = None,
    high: Tensor | None = None,
    *,
    min: float | None = None,
    max: float | None = None,
) -> Tensor:
    low = low if low is not None or min is None else x.like(min)
    high = high if high is not None or max is None else x.like(max)
    x = x if low is None else x.max(low)
    return x if high is None else x.min(high)


def Neg(x: Tensor) -> Tensor:
    return -x


def Abs(x: Tensor) -> Tensor:
    return x.apply(arithmetic.Abs()) if x.dtype.is_float or x.dtype.is_signed else x


def Sign(x: Tensor) -> Tensor:
    return x.apply(arithmetic.Sign()) if x.dtype.is_float or x.dtype.is_signed else x.min(1)


def Sqrt(x: Tensor) -> Tensor:
    return x.apply(arithmetic.Sqrt())


def Reciprocal(x: Tensor) -> Tensor:
    return 1 / x


def Floor(x: Tensor) -> Tensor:
    return x.apply(rounding.Floor())


def Ceil(x: Tensor) -> Tensor:
    return x.apply(rounding.Ceil())


def Round(x: Tensor) -> Tensor:
    return x.apply(rounding.Round())


def Exp(x: Tensor) -> Tensor:
    return x.apply(activations.Exp())


def Log(x: Tensor) -> Tensor:
    return x.apply(activations.Log())


def Erf(x: Tensor) -> Tensor:
    return x.apply(activations.Erf())


def Sin(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Sin())


def Cos(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Cos())


def Tan(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Tan())


def Asin(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Asin())


def Acos(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Acos())


def Atan(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Atan())


def Sinh(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Sinh())


def Cosh(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Cosh())


def Asinh(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Asinh())


def Acosh(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Acosh())


def Atanh(x: Tensor) -> Tensor:
    return x.apply(trigonometry.Atanh())
