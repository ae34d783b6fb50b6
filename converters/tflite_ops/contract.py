"""Convolutions and fully connected layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgekit.converters.from_tflite import Layer, bias_or_zeros, dequantized, moved_axis
from edgekit.converters.tensor import Tensor
from edgekit.ir import Value
from edgekit.ops.conv2d import Conv2d
from edgekit.ops.dense import Dense
from edgekit.ops.reshape import Reshape


def same_pads(
    size: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int] = (1, 1)
) -> tuple[int, int, int, int]:
    """Padding SAME: as many results as the stride leaves, the odd cell after."""
    before, after = [], []
    for n, k, s, d in zip(size, kernel, strides, dilations, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        before.append(total // 2)
        after.append(total - total // 2)
    return before[0], before[1], after[0], after[1]


def _operands(x: Tensor, w: Tensor, b: Tensor | None) -> tuple[Tensor, Tensor]:
    """Weights and bias as the layer computes with them. The bias' scale is s_x s_w by definition: it says nothing."""
    if not x.dtype.is_integer:
        w = dequantized(w)
        return w, dequantized(b) if b is not None else bias_or_zeros(x, None, w.shape[0])
    b = bias_or_zeros(x, b, w.shape[0])
    b.builder.values[b.name] = Value(replace(b.type, quant=None), b.data)
    return w, b


def CONV_2D(layer: Layer, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    o = layer.options
    strides = (o.integer(2, default=1), o.integer(1, default=1))
    dilations = (o.integer(5, default=1), o.integer(4, default=1))
    same = o.integer(0, "b") == 0
    pads = same_pads(x.shape[1:3], w.shape[1:3], strides, dilations) if same else (0, 0, 0, 0)
    w, b = _operands(x, w, b)
    groups = x.shape[3] // w.shape[3]
    op = Conv2d(strides, pads, dilations, groups, *layer.clamp(o.integer(3, "b")))
    return layer.apply(op, x, w, b)


def DEPTHWISE_CONV_2D(layer: Layer, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    o = layer.options
    strides = (o.integer(2, default=1), o.integer(1, default=1))
    dilations = (o.integer(6, default=1), o.integer(5, default=1))
    same = o.integer(0, "b") == 0
    pads = same_pads(x.shape[1:3], w.shape[1:3], strides, dilations) if same else (0, 0, 0, 0)
    w, b = _operands(x, moved_axis(w, 3, 1, 2, 0), b)
    op = Conv2d(strides, pads, dilations, x.shape[3], *layer.clamp(o.integer(4, "b")))
    return layer.apply(op, x, w, b)


def FULLY_CONNECTED(layer: Layer, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    w, b = _operands(x, w, b)
    rows = x.apply(Reshape((x.type.size // w.shape[1], w.shape[1]))) if x.rank != 2 else x
    y = layer.apply(Dense(*layer.clamp(layer.options.integer(0, "b"))), rows, w, b)
    return y.reshape(*layer.outs[0].shape)
