"""Quantized operators of the domain com.microsoft, as onnxruntime writes them: layers between conversions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgekit.converters.onnx.ops import activations, contract, movement, normalize, pool
from edgekit.converters.onnx.ops import quantization as standard
from edgekit.converters.semantics.onnx import activations as shared_activations
from edgekit.converters.semantics.onnx import elementwise
from edgekit.converters.semantics.onnx import pool as shared_pool
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

DOMAIN = "com.microsoft"

Ints = tuple[int, ...] | None


def QuantizeLinear(x: Tensor, scale: Tensor, zero: Tensor | None = None, *, axis: int = 1) -> Tensor:
    return standard.QuantizeLinear(x, scale, zero, axis=axis)


def DequantizeLinear(x: Tensor, scale: Tensor, zero: Tensor | None = None, *, axis: int = 1) -> Tensor:
    return standard.DequantizeLinear(x, scale, zero, axis=axis)


def QLinearAdd(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor | None,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
) -> Tensor:
    y = elementwise.Add(_real(a, a_scale, a_zero), _real(b, b_scale, b_zero))
    return _integers(y, y_scale, y_zero, a)


def QLinearMul(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor | None,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
) -> Tensor:
    y = elementwise.Mul(_real(a, a_scale, a_zero), _real(b, b_scale, b_zero))
    return _integers(y, y_scale, y_zero, a)


def QLinearSigmoid(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, y_scale: Tensor, y_zero: Tensor | None = None
) -> Tensor:
    return _integers(shared_activations.Sigmoid(_real(x, x_scale, x_zero)), y_scale, y_zero, x)


def QLinearLeakyRelu(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
    *,
    alpha: float = 0.01,
) -> Tensor:
    return _integers(activations.LeakyRelu(_real(x, x_scale, x_zero), alpha=alpha), y_scale, y_zero, x)


def QLinearSoftmax(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor,
    *,
    axis: int = -1,
    opset: int = 13,
) -> Tensor:
    y = normalize.Softmax(_real(x, x_scale, x_zero), axis=axis, opset=opset)
    return _integers(y, y_scale, y_zero, x)


def QLinearConcat(y_scale: Tensor, y_zero: Tensor, *parts: Tensor, axis: int) -> Tensor:
    if not parts or len(parts) % 3:
        raise EdgeKitError("E0401", f"QLinearConcat has {len(parts)} operands, not three for each part")
    reals = [_real(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return _integers(movement.Concat(*reals, axis=axis), y_scale, y_zero, parts[0])


def QLinearAveragePool(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
    *,
    kernel_shape: tuple[int, ...],
    strides: Ints = None,
    pads: Ints = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    channels_last: int = 0,
) -> Tensor:
    def mean(image: Tensor) -> Tensor:
        return pool.AveragePool(
            image,
            kernel_shape=kernel_shape,
            strides=strides,
            pads=pads,
            auto_pad=auto_pad,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )

    return _integers(_in_nchw(mean, _real(x, x_scale, x_zero), channels_last), y_scale, y_zero, x)


def QLinearGlobalAveragePool(
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor | None,
    y_scale: Tensor,
    y_zero: Tensor | None = None,
    *,
    channels_last: int = 0,
) -> Tensor:
    y = _in_nchw(shared_pool.GlobalAveragePool, _real(x, x_scale, x_zero), channels_last)
    return _integers(y, y_scale, y_zero, x)


def QGemm(
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor | None,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor | None,
    c: Tensor | None = None,
    y_scale: Tensor | None = None,
    y_zero: Tensor | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    """c is in units of both scales; without a scale for the result, that is real."""
    weights = standard.DequantizeLinear(b, b_scale, b_zero, axis=0 if transB else 1)
    if c is not None:
        if c.dtype is not DType.S32:
            raise EdgeKitError("E0401", f"the bias is {c.type}, not int32")
        scale = a_scale.constant("the scale of a").astype(np.float64) * b_scale.constant("the scale of b")
        c = c.new((c.constant("the bias") * scale.reshape(-1)).astype(np.float32))
    y = contract.Gemm(_real(a, a_scale, a_zero), weights, c, transA=transA, transB=transB)
    y = y * alpha if alpha != 1 else y
    return y if y_scale is None else _integers(y, y_scale, y_zero, a)


def _real(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    return standard.DequantizeLinear(x, scale, zero)


def _integers(y: Tensor, scale: Tensor, zero: Tensor | None, like: Tensor) -> Tensor:
    """Without a zero point, the result has the type of the operand and is around 0."""
    return standard.QuantizeLinear(y, scale, like.like(0) if zero is None else zero)


def _in_nchw(apply: Callable[[Tensor], Tensor], x: Tensor, channels_last: int) -> Tensor:
    return apply(x.to_nchw()).to_nhwc() if channels_last else apply(x)
