"""Convolutions, transposed ones, and those over integers."""

from __future__ import annotations

from edgekit.converters.semantics.convolution import (
    check_kernel,
    conv,
    sliding,
)
from edgekit.converters.semantics.onnx import conv as shared
from edgekit.converters.semantics.onnx.conv import Ints
from edgekit.converters.tensor import Tensor


def Conv(
    x: Tensor,
    w: Tensor,
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
    return conv(x, w, b, sliding(x, w, auto_pad, dilations, pads, strides), group)


def ConvTranspose(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    output_padding: Ints = None,
    output_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> Tensor:
    return shared.ConvTranspose(
        x,
        w,
        b,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        output_padding=output_padding,
        output_shape=output_shape,
        pads=pads,
        strides=strides,
    )
