"""com.microsoft: integer layers with channels last, as ONNX Runtime's optimizer lays them out."""

from __future__ import annotations

from edgekit.converters.onnx.ops import pool, quantized_layers
from edgekit.converters.onnx.ops.quantized_layers import Ints
from edgekit.converters.tensor import Tensor

DOMAIN = "com.microsoft"


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
    channels_last: int = 0,
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> Tensor:
    """Weights keep the channels first."""
    y = quantized_layers.QLinearConv(
        x.to_nchw() if channels_last else x,
        x_scale,
        x_zero,
        w,
        w_scale,
        w_zero,
        y_scale,
        y_zero,
        b,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return y.to_nhwc() if channels_last else y


def NhwcMaxPool(
    x: Tensor,
    *,
    kernel_shape: tuple[int, ...],
    strides: Ints = None,
    pads: Ints = None,
    dilations: Ints = None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Tensor:
    y, *_ = pool.MaxPool(
        x.to_nchw(),
        kernel_shape=kernel_shape,
        strides=strides,
        pads=pads,
        dilations=dilations,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    return y.to_nhwc()
