"""Convolutions, fully connected layers and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgekit.converters.semantics.compose import matmul
from edgekit.converters.semantics.movement import cast, transposed
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.layer import (
    TfliteLayer,
    bias_or_zeros,
    centred,
    dequantized,
    moved_axis,
    single,
)
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array, DType


def same_pads(
    size: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int] = (1, 1)
) -> tuple[int, int, int, int]:
    """Padding SAME: as many results as the stride leaves, the odd cell after."""
    before, after = [], []
    for n, k, s, d in zip(size, kernel, strides, dilations, strict=True):
        if s < 1:
            raise EdgeKitError("E0401", f"a stride of {s} makes no sense")
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        before.append(total // 2)
        after.append(total - total // 2)
    return before[0], before[1], after[0], after[1]


def _strides(layer: TfliteLayer) -> tuple[int, int]:
    """Those of rows and columns, which the schema leaves at 0 where a file says nothing."""
    strides = layer.options.integer(2), layer.options.integer(1)
    if min(strides) < 1:
        raise EdgeKitError("E0401", f"strides of {strides[0]} and {strides[1]} make no sense")
    return strides


def _check_ranks(kind: str, x: Tensor, w: Tensor, rank: int) -> None:
    if w.rank != rank or (rank == 4 and x.rank != 4) or not x.rank:
        raise EdgeKitError("E0401", f"{kind} of {x.type} with weights {w.type}")
    if 0 in w.shape:
        raise EdgeKitError("E0401", f"{kind} with empty weights {w.type}")


def is_fused(x: Tensor, w: Tensor) -> bool:
    """Is there a kernel for these operands: int8, with constant weights around zero?"""
    quant = w.type.quant
    symmetric = quant is not None and not any(quant.zero)
    return x.dtype is DType.S8 and w.dtype is DType.S8 and w.data is not None and symmetric


def _has_kernel(layer: TfliteLayer, x: Tensor, w: Tensor, b: Tensor | None) -> bool:
    return is_fused(x, w) and (b is None or b.data is not None) and layer.outs[0].dtype is DType.S8


def _ratio(layer: TfliteLayer, x: Tensor, w: Tensor, *, dense: bool = False) -> Array:
    if w.type.quant is None:
        raise EdgeKitError("E0401", f"the weights {w.type} of a quantized layer have no scale")
    ratio = fixed.ratio(layer.quant_of(x), w.type.quant, layer.out_quant, dense=dense)
    return ratio if ratio.size > 1 else ratio.reshape(())


def _sum_type(x: Tensor, b: Tensor | None) -> DType:
    """Sums of two bytes have 64 bits, unless the bias says otherwise."""
    if x.dtype is DType.S16:
        return DType.S64 if b is None else b.dtype
    return DType.S32


def _channels_first(layer: TfliteLayer, w: Tensor) -> None:
    if w.type.quant is not None and w.type.quant.axis not in (None, 0):
        raise EdgeKitError("E0401", f"the scales of weights {w.type} lie along axis {w.type.quant.axis}")


def _layer(
    layer: TfliteLayer, x: Tensor, w: Tensor, b: Tensor | None, op: Conv2d | Dense, activation: int
) -> Tensor:
    """A convolution or a dense layer: floats, int8 by its own kernel, all else from plain integers."""
    low, high = layer.clamp(activation)
    if x.dtype.is_float:
        w = dequantized(w)
        b = dequantized(b) if b is not None else bias_or_zeros(x, None, w.shape[0])
        return x.apply(replace(op, lo=low, hi=high), w, b)
    _channels_first(layer, w)
    dense = isinstance(op, Dense)
    ratio = _ratio(layer, x, w, dense=dense)
    if _has_kernel(layer, x, w, b):
        bounded = replace(op, lo=low, hi=high)
        return layer.apply(bounded, x, w, bias_or_zeros(x, b, w.shape[0]))
    wide = _sum_type(x, b)
    bias = x.new(np.zeros(w.shape[0], wide.numpy)) if b is None else cast(b, wide)
    left, right = centred(x, wide), centred(w, wide)
    if isinstance(op, Dense):
        sums = left.apply(MatMul((), (1, 0)), right) + bias
    else:
        sums = left.apply(op, right, bias)
    return layer.rescaled(sums, ratio, activation, once=dense and layer.out_quant.rounding == "tfl")


def CONV_2D(layer: TfliteLayer, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    _check_ranks("CONV_2D", x, w, 4)
    o = layer.options
    strides = _strides(layer)
    dilations = (o.integer(5, default=1), o.integer(4, default=1))
    same = o.integer(0, "b") == 0
    pads = same_pads(x.shape[1:3], w.shape[1:3], strides, dilations) if same else (0, 0, 0, 0)
    groups = x.shape[3] // w.shape[3]
    return _layer(layer, x, w, b, Conv2d(strides, pads, dilations, groups), o.integer(3, "b"))


def DEPTHWISE_CONV_2D(layer: TfliteLayer, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    _check_ranks("DEPTHWISE_CONV_2D", x, w, 4)
    o = layer.options
    strides = _strides(layer)
    dilations = (o.integer(6, default=1), o.integer(5, default=1))
    same = o.integer(0, "b") == 0
    pads = same_pads(x.shape[1:3], w.shape[1:3], strides, dilations) if same else (0, 0, 0, 0)
    op = Conv2d(strides, pads, dilations, x.shape[3])
    return _layer(layer, x, moved_axis(w, 3, 1, 2, 0), b, op, o.integer(4, "b"))


def FULLY_CONNECTED(layer: TfliteLayer, x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    _check_ranks("FULLY_CONNECTED", x, w, 2)
    o = layer.options
    if o.integer(1, "b"):
        raise EdgeKitError("E0203", "FULLY_CONNECTED with shuffled weights is not supported")
    rows = x.apply(Reshape((x.type.size // w.shape[1], w.shape[1]))) if x.rank != 2 else x
    y = _layer(layer, rows, w, b, Dense(), o.integer(0, "b"))
    return y.reshape(*x.shape[:-1], w.shape[0]) if o.integer(2, "b") else y


def TRANSPOSE_CONV(layer: TfliteLayer, to: Tensor, w: Tensor, x: Tensor, b: Tensor | None = None) -> Tensor:
    o = layer.options
    strides = _strides(layer)
    _check_ranks("TRANSPOSE_CONV", x, w, 4)
    size = _transposed_size(layer, to, w, x, strides)
    if len(size) != 4:
        raise EdgeKitError("E0401", f"TRANSPOSE_CONV of {x.type} to {list(size)}")
    same = o.integer(0, "b") == 0
    top, left = same_pads(size[1:3], w.shape[1:3], strides)[:2] if same else (0, 0)
    op = ConvTranspose2d((size[1], size[2]), strides, (top, left))
    activation = o.integer(3, "b")
    if x.dtype.is_float:
        low, high = layer.clamp(activation)
        w = dequantized(w)
        return x.apply(replace(op, lo=low, hi=high), w, bias_or_zeros(x, b, w.shape[0]))
    _channels_first(layer, w)
    if _has_kernel(layer, x, w, b):
        low, high = layer.clamp(activation)
        return layer.apply(replace(op, lo=low, hi=high), x, w, bias_or_zeros(x, b, w.shape[0]))
    wide = _sum_type(x, b)
    bias = x.new(np.zeros(w.shape[0], wide.numpy)) if b is None else cast(b, wide)
    sums = centred(x, wide).apply(op, centred(w, wide), bias)
    return layer.rescaled(sums, _ratio(layer, x, w), activation)


def _transposed_size(
    layer: TfliteLayer, to: Tensor, w: Tensor, x: Tensor, strides: Sequence[int]
) -> tuple[int, ...]:
    """The size of a transposed convolution; that of the file's result where it is computed from an input, but
    can be no other one: TFLite Micro never reads the operand."""
    declared = layer.outs[0].shape
    if to.data is not None or len(declared) != 4:
        return to.ints("the size of TRANSPOSE_CONV")
    same = layer.options.integer(0, "b") == 0
    for n, k, s, y in zip(x.shape[1:3], w.shape[1:3], strides, declared[1:3], strict=True):
        if n != (-(-y // s) if same else (y - k) // s + 1):
            return to.ints("the size of TRANSPOSE_CONV")
    return declared


def BATCH_MATMUL(layer: TfliteLayer, a: Tensor, b: Tensor) -> Tensor:
    left, right = (bool(layer.options.integer(i, "b")) for i in (0, 1))
    if a.rank < 2 or b.rank < 2:
        raise EdgeKitError("E0401", f"BATCH_MATMUL of {a.type} and {b.type}")
    if a.dtype.is_float:
        b = dequantized(b)
        return matmul(transposed(a, left), transposed(b, right))
    product = np.float32(layer.quant_of(a).scale[0]) * np.float32(layer.quant_of(b).scale[0])
    ratio = np.float64(product) / single(layer.out_quant)
    wide = _sum_type(a, None)
    perms = tuple(
        (*range(x.rank - 2), x.rank - 1, x.rank - 2) if wanted else ()
        for x, wanted in ((a, left), (b, right))
    )
    sums = centred(a, wide).apply(MatMul(*perms), centred(b, wide))
    return layer.rescaled(sums, ratio)
