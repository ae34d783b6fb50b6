"""QuantizeLinear and DequantizeLinear: quantized tensors where a scale is fixed, else floats spelled out."""

from __future__ import annotations

from edgekit.converters.semantics.groupwise import note_groups, note_rows
from edgekit.converters.semantics.movement import cast, part, repeat_along
from edgekit.converters.semantics.onnx.cast import element_type
from edgekit.converters.semantics.quantized import centred, quant_of, quantized, real
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import cast as casts
from edgekit.core.ops.reduce import integer_range
from edgekit.core.ops.rounding import Round
from edgekit.core.types import DType


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
    divide = element_type(precision, "precision of QuantizeLinear") if precision else scale.dtype
    quant = quant_of(scale, zero, to)
    if quant is not None and x.data is None and x.dtype is divide is DType.F32:
        return quantized(x, quant, to)
    if zero is not None:
        zero = along(zero, x, axis, block_size)
    return rounded(
        cast(x, divide) / cast(along(scale, x, axis, block_size), divide), zero, to, bool(saturate)
    )


def rounded(x: Tensor, zero: Tensor | None, to: DType, saturate: bool = True) -> Tensor:
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
    quant = quant_of(scale, zero, x.dtype)
    if quant is not None and x.data is None and to is DType.F32:
        return real(x, quant)
    wide = DType.F64 if to is DType.F64 else DType.F32
    integers, of_groups = x, (scale, zero)
    if zero is not None:
        zero = along(zero, x, axis, block_size)
        x = cast(x, wide) - cast(zero, wide) if x.dtype.is_float else centred(x, zero)
    y = cast(cast(x, wide) * cast(along(scale, x, axis, block_size), wide), to)
    if block_size and y.data is not None:
        note_groups(integers, *of_groups, y, axis, block_size)
    elif y.data is not None and zero is not None and _leaves_bytes(x):
        note_rows(integers, scale, of_groups[1] or zero, y, axis)
    return y


def _leaves_bytes(x: Tensor) -> bool:
    """Do integers around their zero point take more than eight bits?"""
    return x.data is not None and bool(x.data.size) and not -128 <= x.data.min() <= x.data.max() <= 127


def along(p: Tensor, x: Tensor, axis: int, block_size: int) -> Tensor:
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
