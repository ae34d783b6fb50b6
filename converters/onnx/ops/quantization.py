"""QuantizeLinear and DequantizeLinear: quantized tensors where a scale is fixed, else floats spelled out."""

from __future__ import annotations

from edgekit.converters.semantics.onnx import quantization as shared
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.dynamic_quantize import DynamicQuantize


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
    return shared.QuantizeLinear(
        x,
        scale,
        zero,
        axis=axis,
        block_size=block_size,
        output_dtype=output_dtype,
        precision=precision,
        saturate=saturate,
    )


def DynamicQuantizeLinear(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    y, scale, zero = x.apply_all(DynamicQuantize())
    return y, scale, zero


def DequantizeLinear(
    x: Tensor,
    scale: Tensor,
    zero: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
) -> Tensor:
    return shared.DequantizeLinear(
        x, scale, zero, axis=axis, block_size=block_size, output_dtype=output_dtype
    )
