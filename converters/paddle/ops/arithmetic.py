"""Arithmetic on single elements, and functions of them."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.paddle.arguments import Setting, Tensors, number, several
from edgekit.converters.semantics.aten import arithmetic as _torch
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.onnx import elementwise as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def subtract(x: Tensor, y: Tensor) -> Tensor:
    return x - y


def multiply(x: Tensor, y: Tensor) -> Tensor:
    return x * y


def divide(x: Tensor, y: Tensor) -> Tensor:
    return x / y


def maximum(x: Tensor, y: Tensor) -> Tensor:
    return x.max(y)


def minimum(x: Tensor, y: Tensor) -> Tensor:
    return x.min(y)


def remainder(x: Tensor, y: Tensor) -> Tensor:
    return _torch.remainder(x, other=y)


def floor_divide(x: Tensor, y: Tensor) -> Tensor:
    return _torch.floor_divide(x, other=y)


def elementwise_pow(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return _torch.pow(x, exponent=_along(y, x, axis))


def elementwise_add(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return x + _along(y, x, axis)


def elementwise_sub(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return x - _along(y, x, axis)


def elementwise_mul(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return x * _along(y, x, axis)


def elementwise_div(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return x / _along(y, x, axis)


def elementwise_max(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return x.max(_along(y, x, axis))


def elementwise_min(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return x.min(_along(y, x, axis))


def elementwise_mod(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return remainder(x, _along(y, x, axis))


def elementwise_floordiv(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    return floor_divide(x, _along(y, x, axis))


def scale(x: Tensor, scale: Setting = 1.0, *, bias: Setting = 0.0, bias_after_scale: bool = True) -> Tensor:
    factor, offset = number(scale, "a factor"), number(bias, "what is added")
    offset = offset if bias_after_scale else offset * factor
    y = x if factor == 1 else x * factor
    return y if offset == 0 else y + offset


def lerp(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
    return x + weight * (y - x)


def add_n(inputs: Tensors) -> Tensor:
    first, *rest = several(inputs)
    for other in rest:
        first = first + other
    return first


def pow(x: Tensor, *, y: Setting = None, factor: Setting = 1.0) -> Tensor:
    return _torch.pow(x, exponent=number(factor if y is None else y, "the exponent"))


def clip(x: Tensor, min: Setting = None, max: Setting = None) -> Tensor:
    return x.clip(number(min, "the lower bound"), number(max, "the upper bound"))


def cast(
    x: Tensor, *, dtype: DType | None = None, in_dtype: DType | None = None, out_dtype: DType | None = None
) -> Tensor:
    wanted = dtype or out_dtype
    if wanted is None:
        raise EdgeKitError("E0204", "a cast to a type that is not supported")
    return _cast(x, wanted)


def round(x: Tensor, *, decimals: int | None = None) -> Tensor:
    """Of two integers as near it is the even one since Paddle has `decimals`, and was the larger one."""
    if decimals is not None:
        return _torch.round(x, decimals=decimals)
    if not x.dtype.is_float:
        return x
    return _onnx.Sign(x) * _torch.floor(_onnx.Abs(x) + 0.5)


def log1p(x: Tensor) -> Tensor:
    return _torch.log1p(x)


def _function(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def handler(x: Tensor) -> Tensor:
        return apply(x)

    return handler


abs = _function(_onnx.Abs)
acos = _function(_torch.acos)
acosh = _function(_torch.acosh)
asin = _function(_torch.asin)
asinh = _function(_torch.asinh)
atan = _function(_torch.atan)
atanh = _function(_torch.atanh)
ceil = _function(_torch.ceil)
cos = _function(_torch.cos)
cosh = _function(_torch.cosh)
erf = _function(_torch.erf)
exp = _function(_torch.exp)
expm1 = _function(_torch.expm1)
floor = _function(_torch.floor)
log = _function(_torch.log)
log10 = _function(_torch.log10)
log2 = _function(_torch.log2)
reciprocal = _function(_torch.reciprocal)
rsqrt = _function(_torch.rsqrt)
sign = _function(_onnx.Sign)
sin = _function(_torch.sin)
sinh = _function(_torch.sinh)
sqrt = _function(_torch.sqrt)
square = _function(_torch.square)
tan = _function(_torch.tan)
trunc = _function(_torch.trunc)


def _along(y: Tensor, x: Tensor, axis: int) -> Tensor:
    """y with dimensions behind, so that it begins at that axis of x; ones at its end count for nothing."""
    if axis == -1 or y.rank == 0 or y.rank == x.rank:
        return y
    shape = list(y.shape)
    while len(shape) > 1 and shape[-1] == 1:
        shape.pop()
    behind = x.rank - x.axis(axis) - len(shape)
    if behind < 0:
        raise EdgeKitError("E0401", f"{y.type} does not fit {x.type} at axis {axis}")
    return y.reshape(*shape, *(1,) * behind)
