"""Layers on integers: with fixed scales they are float layers between conversions, else they are spelled out.

A float layer between DequantizeLinear and QuantizeLinear is what the specification says that they are, and a
pass makes it a layer on int8. Where scales or weights are known at run time only, or weights do not
fit into int8, integers are computed in 32 bits and scales in float, step by step.
"""

from __future__ import annotations

import numpy as np

from edgekit.converters.onnx.ops.integer_sums import MatMulInteger, channels, integer_conv, one, rows_of
from edgekit.converters.semantics.compose import matmul
from edgekit.converters.semantics.convolution import check_kernel, conv, sliding
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx.quantization import along, rounded
from edgekit.converters.semantics.quantized import centred, check, quant_of, quantized, real
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType, Quant

Ints = tuple[int, ...] | None


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
    check(w_scale, w_zero if w_zero.type.size > 1 else None)
    if b is not None and b.shape != w.shape[:1]:
        raise EdgeKitError("E0401", f"the bias {b.type} does not fit the weights {w.type}")
    x_quant, y_quant = quant_of(x_scale, x_zero, x.dtype), quant_of(y_scale, y_zero, y_zero.dtype)
    weights = _weights(w, w_scale, w_zero, 0)
    if x_quant and y_quant and weights and x.data is None and (b is None or b.data is not None):
        bias = None if b is None else _real_bias(b, x_quant, w_scale)
        return quantized(conv(real(x, x_quant), weights, bias, slide, group), y_quant, y_zero.dtype)
    sums = cast(integer_conv(x, w, x_zero, w_zero, b, slide, group), DType.F32)
    scale = channels(one(x_scale) * w_scale / one(y_scale), w.rank - 1)
    assert scale is not None
    return rounded(sums * one(scale), one(y_zero), y_zero.dtype)


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
    a_quant, y_quant = quant_of(a_scale, a_zero, a.dtype), quant_of(y_scale, y_zero, y_zero.dtype)
    check(b_scale, b_zero, b.dtype)
    right = _right(b, b_scale, b_zero)
    if a_quant and y_quant and right and a.data is None:
        return quantized(matmul(real(a, a_quant), right), y_quant, y_zero.dtype)
    product = cast(MatMulInteger(a, b, a_zero, b_zero), DType.F32)
    left = rows_of(a_scale)
    assert left is not None
    scale = cast(one(left), DType.F32) * cast(one(b_scale), DType.F32) / cast(one(y_scale), DType.F32)
    return rounded(product * scale, one(y_zero), y_zero.dtype)


def _right(b: Tensor, scale: Tensor, zero: Tensor) -> Tensor | None:
    """The right matrix as reals, where they have an integer form."""
    if b.data is not None:
        return _weights(b, scale, zero, b.rank - 1) if b.rank == 2 else None
    quant = quant_of(scale, zero, b.dtype)
    return None if quant is None else real(b, quant)


def _weights(w: Tensor, scale: Tensor, zero: Tensor, axis: int) -> Tensor | None:
    """Constant weights as reals; None where there are none, or where they do not fit into signed bytes around
    0, as those of an asymmetric calibration do not."""
    if w.data is None or scale.data is None or zero.data is None or scale.dtype is not DType.F32:
        return None
    integers = centred(w, along(zero, w, axis, 0)).constant("the weights")
    if integers.size and not -128 <= integers.min() <= integers.max() <= 127:
        return None
    return cast(w.new(integers), DType.F32) * along(scale, w, axis, 0)


def _real_bias(b: Tensor, x: Quant, w_scale: Tensor) -> Tensor:
    """The bias of a layer, which has the scales of its input and its weights."""
    if b.dtype is not DType.S32:
        raise EdgeKitError("E0401", f"the bias is {b.type}, not int32")
    scale = w_scale.constant("the scale of the weights").astype(np.float64).reshape(-1)
    wide: np.ndarray = b.constant("the bias") * (x.scale[0] * scale)
    return b.new(wide.astype(np.float32))
