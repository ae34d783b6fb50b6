"""Arithmetic, comparisons, logic and conversions, element by element."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.semantics.aten import arithmetic as _torch
from edgekit.converters.semantics.aten import logic as _bits
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.movement import where as _where
from edgekit.converters.semantics.onnx import elementwise as _onnx
from edgekit.converters.semantics.onnx import logic as _logic
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import arithmetic as _arithmetic
from edgekit.core.types import DType


def _function(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def handler(x: Tensor) -> Tensor:
        return apply(x)

    return handler


def _pair(apply: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    def handler(a: Tensor, b: Tensor) -> Tensor:
        return apply(a, b)

    return handler


Add, Multiply = _pair(_onnx.Add), _pair(_onnx.Mul)
Power, FloorMod = _pair(_onnx.Pow), _pair(_onnx.Mod)
Equal, Less, LessEqual = _pair(_logic.Equal), _pair(_logic.Less), _pair(_logic.LessOrEqual)
Greater, GreaterEqual = _pair(_logic.Greater), _pair(_logic.GreaterOrEqual)
LogicalAnd, LogicalOr, LogicalXor = _pair(_logic.And), _pair(_logic.Or), _pair(_logic.Xor)
LogicalNot = _function(_bits.logical_not)
Negative, Abs, Sign = _function(_onnx.Neg), _function(_onnx.Abs), _function(_onnx.Sign)
Floor, Ceiling = _function(_onnx.Floor), _function(_onnx.Ceil)
Sqrt, Exp, Log, Erf = map(_function, (_onnx.Sqrt, _onnx.Exp, _onnx.Log, _onnx.Erf))
Sin, Cos, Tan = map(_function, (_onnx.Sin, _onnx.Cos, _onnx.Tan))
Asin, Acos, Atan = map(_function, (_onnx.Asin, _onnx.Acos, _onnx.Atan))
Sinh, Cosh = map(_function, (_onnx.Sinh, _onnx.Cosh))
Asinh, Acosh, Atanh = map(_function, (_onnx.Asinh, _onnx.Acosh, _onnx.Atanh))
IsNaN = _function(_bits.isnan)


def Subtract(a: Tensor, b: Tensor) -> Tensor:
    return a - b


def Divide(a: Tensor, b: Tensor, *, m_pythondiv: bool = True) -> Tensor:
    """Of integers rounded down, or towards zero."""
    is_rounded = a.dtype.is_integer and m_pythondiv
    return _torch.floor_divide(a, other=b) if is_rounded else a / b


def Maximum(a: Tensor, b: Tensor) -> Tensor:
    return a.max(b)


def Minimum(a: Tensor, b: Tensor) -> Tensor:
    return a.min(b)


def Mod(a: Tensor, b: Tensor) -> Tensor:
    """With the sign of the dividend."""
    return a.apply(_arithmetic.Remainder(), b)


def SquaredDifference(a: Tensor, b: Tensor) -> Tensor:
    d = a - b
    return d * d


def NotEqual(a: Tensor, b: Tensor) -> Tensor:
    return LogicalNot(_logic.Equal(a, b))


def IsInf(x: Tensor, *, detect_negative: bool = True, detect_positive: bool = True) -> Tensor:
    return _logic.IsInf(x, detect_negative=int(detect_negative), detect_positive=int(detect_positive))


def IsFinite(x: Tensor) -> Tensor:
    return LogicalNot(_logic.Or(_logic.IsInf(x), _bits.isnan(x)))


def Select(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return _where(condition, yes, no)


def Round(x: Tensor, *, mode: str = "half_to_even") -> Tensor:
    if mode not in ("half_to_even", "half_away_from_zero"):
        raise EdgeKitError("E0401", f"rounding by {mode[:20]}")
    if mode == "half_to_even" or not x.dtype.is_float:
        return _onnx.Round(x)
    return _onnx.Sign(x) * _onnx.Floor(_onnx.Abs(x) + 0.5)


def Convert(x: Tensor, *, destination_type: DType) -> Tensor:
    return _cast(x, destination_type)


def ConvertLike(x: Tensor, like: Tensor) -> Tensor:
    return _cast(x, like.dtype)


def Clamp(x: Tensor, *, min: float, max: float) -> Tensor:
    return x.clip(min, max)
