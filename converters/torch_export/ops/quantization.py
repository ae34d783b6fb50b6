"""quantized_decomposed: what pt2e writes around layers, by which passes find that they are integer layers."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import quantization as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def quantize_per_tensor(
    x: Tensor,
    *,
    scale: Number | Tensor,
    zero_point: Number | Tensor,
    quant_min: int,
    quant_max: int,
    dtype: DType,
) -> Tensor:
    s, z = _scale(x, scale), _zero(x, zero_point, dtype)
    return _onnx.QuantizeLinear(_within(x, s, z, quant_min, quant_max, dtype), s, z)


def dequantize_per_tensor(
    x: Tensor,
    *,
    scale: Number | Tensor,
    zero_point: Number | Tensor,
    quant_min: int,
    quant_max: int,
    dtype: DType,
    out_dtype: DType | None = None,
) -> Tensor:
    y = _onnx.DequantizeLinear(x, _scale(x, scale), _zero(x, zero_point, x.dtype))
    return cast(y, out_dtype or DType.F32)


def quantize_per_channel(
    x: Tensor,
    *,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: DType,
) -> Tensor:
    if (quant_min, quant_max) != fixed.int_range(dtype) and x.data is None:
        raise EdgeKitError("E0205", "channels that are quantized to a part of their type are not supported")
    s, z = _scale(x, scales), _zero(x, zero_points, dtype)
    y = _onnx.QuantizeLinear(x, s, z, axis=axis)
    return y.max(quant_min).min(quant_max) if x.data is not None else y


def dequantize_per_channel(
    x: Tensor,
    *,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: DType,
    out_dtype: DType | None = None,
) -> Tensor:
    zero = None if zero_points is None else _zero(x, zero_points, x.dtype)
    return cast(_onnx.DequantizeLinear(x, _scale(x, scales), zero, axis=axis), out_dtype or DType.F32)


def fake_quantize_per_tensor_affine(
    x: Tensor,
    *,
    scale: Number | Tensor,
    zero_point: Number | Tensor,
    quant_min: int,
    quant_max: int,
    fake_quant_enabled: Tensor | None = None,
) -> Tensor:
    """What training with quantization in mind leaves behind: there and back."""
    if fake_quant_enabled is not None and not fake_quant_enabled.constant("whether to quantize").all():
        return x
    dtype = _stored(quant_min, quant_max)
    s, z = _scale(x, scale), _zero(x, zero_point, dtype)
    q = _onnx.QuantizeLinear(_within(x, s, z, quant_min, quant_max, dtype), s, z)
    return _onnx.DequantizeLinear(q, s, z)


def fake_quantize_per_channel_affine(
    x: Tensor, *, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    dtype = _stored(quant_min, quant_max)
    z = _zero(x, zero_point, dtype)
    q = quantize_per_channel(
        x,
        scales=scale,
        zero_points=z,
        axis=axis,
        quant_min=quant_min,
        quant_max=quant_max,
        dtype=dtype,
    )
    return _onnx.DequantizeLinear(q, _scale(x, scale), z, axis=axis)


# As decomposition calls them: with a second result that only training reads.
fake_quantize_per_tensor_affine_cachemask = fake_quantize_per_tensor_affine
fake_quantize_per_tensor_affine_cachemask_tensor_qparams = fake_quantize_per_tensor_affine
fake_quantize_per_channel_affine_cachemask = fake_quantize_per_channel_affine


def _stored(low: int, high: int) -> DType:
    """The smallest type that holds low ... high."""
    for dtype in (DType.S8, DType.U8, DType.S16, DType.U16):
        least, most = fixed.int_range(dtype)
        if least <= low < high <= most:
            return dtype
    raise EdgeKitError("E0205", f"integers of {low} to {high} are not supported")


def _scale(x: Tensor, scale: Number | Tensor) -> Tensor:
    return cast(scale, DType.F32) if isinstance(scale, Tensor) else x.new(np.asarray(scale, np.float32))


def _zero(x: Tensor, zero: Number | Tensor, dtype: DType) -> Tensor:
    """A zero point in the type of the integers; it is written in a wider one."""
    given = zero.constant("a zero point") if isinstance(zero, Tensor) else np.asarray(zero)
    least, most = fixed.int_range(dtype)
    if given.size and not least <= given.min() <= given.max() <= most:
        raise EdgeKitError("E0401", f"a zero point is outside of {least} to {most}")
    return x.new(given.astype(dtype.numpy), "zero")


def _within(x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int, dtype: DType) -> Tensor:
    """Reals that quantize to low ... high, where this is not all of the type."""
    if (low, high) == fixed.int_range(dtype):
        return x
    s, z = (float(t.constant("scale and zero point").reshape(())) for t in (scale, zero))
    return x.clip((low - z) * s, (high - z) * s)
