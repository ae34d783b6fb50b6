"""What quantized models have around layers, by which passes find that they are layers on integers."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.onnx import quantization as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def quantize_linear(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor | None = None,
    in_accum: Tensor | None = None,
    in_state: Tensor | None = None,
    *,
    quant_axis: int = 0,
    bit_length: int = 8,
    qmin: int = -128,
    qmax: int = 127,
    round_type: int = 0,
    is_test: bool = True,
    only_observer: bool = False,
) -> Tensor:
    """Paddle keeps the integers as floats, we do not; its scale is the largest number, not a step."""
    if not is_test or only_observer:
        hint = "convert the quantized model, and call eval(), before it is saved"
        raise EdgeKitError("E0205", "quantization that still observes is not supported", hint=hint)
    if round_type:
        raise EdgeKitError("E0203", f"rounding of the kind {round_type} is not supported")
    step, zero = _grid(scale, zero_point, bit_length, qmin, qmax)
    return _onnx.QuantizeLinear(x, step, zero, axis=max(quant_axis, 0))


def dequantize_linear(
    x: Tensor,
    scale: Tensor,
    zero_point: Tensor | None = None,
    in_accum: Tensor | None = None,
    in_state: Tensor | None = None,
    *,
    quant_axis: int = 0,
    bit_length: int = 8,
    qmin: int = -128,
    qmax: int = 127,
    round_type: int = 0,
    is_test: bool = True,
    only_observer: bool = False,
) -> Tensor:
    if only_observer:
        raise EdgeKitError("E0205", "quantization that still observes is not supported")
    step, zero = _grid(scale, zero_point, bit_length, qmin, qmax)
    return _onnx.DequantizeLinear(_integers(x), step, zero, axis=max(quant_axis, 0))


def _grid(scale: Tensor, zero_point: Tensor | None, bits: int, low: int, high: int) -> tuple[Tensor, Tensor]:
    """The step from one integer to the next, and zeros for zero points."""
    if (bits, low, high) != (8, -128, 127):
        raise EdgeKitError("E0203", f"quantization to {bits} bits, {low} to {high}, is not supported")
    if zero_point is not None and zero_point.constant("a zero point").any():
        raise EdgeKitError("E0203", "zero points other than 0 are not supported")
    largest = scale.constant("a scale")
    return scale.new((largest / high).astype(np.float32)), scale.new(np.zeros(largest.shape, np.int8))


def _integers(x: Tensor) -> Tensor:
    """Weights are integers that are stored as floats."""
    if x.dtype is DType.S8:
        return x
    if x.data is None or not np.array_equal(x.data, x.data.astype(np.int8)):
        raise EdgeKitError("E0205", f"{x.type} to be scaled is no tensor of integers of 8 bits")
    return x.new(x.data.astype(np.int8), "integers")
