"""Linear quantization, spelled out: integers are computed in 32 bits, scales in float."""

from __future__ import annotations

from edgekit.converters.compose import matmul
from edgekit.converters.convolution import Sliding, check_kernel, conv, sliding
from edgekit.converters.movement import cast, part, repeat_along
from edgekit.converters.onnx_ops.cast import element_type
from edgekit.converters.tensor import Tensor
from edgekit.errors import EdgeKitError
from edgekit.ir import DType
from edgekit.ops import cast as casts
from edgekit.ops.reduce import integer_range
from edgekit.ops.rounding import Round

Ints = tuple[int, ...] | None


def QuantizeLinear(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Tensor:
    to = DType.U8
    if output_dtype:
        to = element_type(output_dtype, "output_dtype of QuantizeLinear")
    if zero is not None:
        to = zero.dtype
        zero = _along(zero, x, axis, block_size)
    divide = element_type(precision, "precision of QuantizeLinear") if precision else scale.dtype
    return _quantize(
        cast(x, divide) / cast(_along(scale, x, axis, block_size), divide), zero, to, bool(saturate)
    )


def _quantize(x: Tensor, zero: Tensor | None, to: DType, saturate: bool = True) -> Tensor:
    """x, already divided by its scale, as integers around `zero` or as small floats."""
    x = cast(x, DType.F32) if x.dtype.bytes < 4 else x
    if to.is_float:
        return (x if zero is None else x + cast(zero, x.dtype)).apply(casts.Cast(to, saturate))
    low, high = integer_range(to)
    whole = x.apply(Round())
    return cast((whole if zero is None else whole + cast(zero, x.dtype)).clip(low, high), to)


def DequantizeLinear(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    to = element_type(output_dtype, "output_dtype of DequantizeLinear") if output_dtype else scale.dtype
    wide = DType.F64 if to is DType.F64 else DType.F32
    if zero is not None:
        zero = _along(zero, x, axis, block_size)
        x = cast(x, wide) - cast(zero, wide) if x.dtype.is_float else _centered(x, zero)
    return cast(cast(x, wide) * cast(_along(scale, x, axis, block_size), wide), to)


def _along(p: Tensor, x: Tensor, axis: int, block_size: int) -> Tensor:
    """A scale or zero point in a shape that broadcasts to x: one, one a cell of an axis, or one a block."""
    if p.type.size == 1:
        return p.reshape()
    axis = x.axis(axis)
    n = x.shape[axis]
    if p.rank == 1 and p.shape[0] == n:
        return p.reshape(*(n if i == axis else 1 for i in range(x.rank)))
    if p.rank != x.rank or not block_size:
        raise EdgeKitError("E0401", f"scale or zero point {p.type} does not fit {x.type} along axis {axis}")
    return part(repeat_along(p, axis, block_size), axis, 0, n)


def _centered(x: Tensor, zero: Tensor | None) -> Tensor:
    """x - zero in 32 bits."""
    wide = cast(x, DType.S32)
    return wide if zero is None else wide - cast(zero, DType.S32)


def _rows(p: Tensor | None) -> Tensor | None:
    """A parameter of the left matrix: one, or one a row."""
    return p if p is None or p.type.size == 1 or p.rank != 1 else p.reshape(p.shape[0], 1)


def _one(p: Tensor) -> Tensor:
    return p.reshape() if p.type.size == 1 else p


def MatMulInteger(a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Tensor:
    return matmul(_centered(a, _rows(a_zero)), _centered(b, b_zero))


def QLinearMatMul(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
) -> Tensor:
    product = cast(MatMulInteger(a, b, a_zero, b_zero), DType.F32)
    left, right = _rows(a_scale), b_scale
    assert left is not None
    scale = cast(_one(left), DType.F32) * cast(_one(right), DType.F32) / cast(_one(y_scale), DType.F32)
    return _quantize(product * scale, _one(y_zero), y_zero.dtype)


def _channels(p: Tensor | None, rank: int) -> Tensor | None:
    """A parameter of weights or results: one, or one an output."""
    return p if p is None or p.type.size == 1 else p.reshape(p.type.size, *(1,) * (rank - 1))


def ConvInteger(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> Tensor:
    check_kernel(w, kernel_shape)
    slide = sliding(x, w, auto_pad, dilations, pads, strides)
    return _integer_conv(x, w, x_zero, w_zero, None, slide, group)


def _integer_conv(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None,
    w_zero: Tensor | None,
    b: Tensor | None,
    slide: Sliding,
    group: int,
) -> Tensor:
    centered = _centered(x, None if x_zero is None else _one(x_zero))
    return conv(centered, _centered(w, _channels(w_zero, w.rank)), b, slide, group)


def QLinearConv(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> Tensor:
    check_kernel(w, kernel_shape)
    slide = sliding(x, w, auto_pad, dilations, pads, strides)
    sums = cast(_integer_conv(x, w, x_zero, w_zero, b, slide, group), DType.F32)
    scale = _channels(_one(x_scale) * w_scale / _one(y_scale), w.rank - 1)
    assert scale is not None
    return _quantize(sums * _one(scale), _one(y_zero), y_zero.dtype)
