"""MatMulInteger and ConvInteger: sums of products of integers, whose constant weights stay bytes.

Matrices that are quantized in this run are multiplied as bytes (DynamicQuantizeDense). Convolutions, and
matrices whose weights do not fit into int8, are layers of floats where float32 holds every sum exactly, in
whatever order: their integers are the same.

Weights around a zero point span nine bits. Where they do not fit into eight, the zero point is left out of
them, and so many times the sum of what each output reads is subtracted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgekit.converters.semantics.compose import matmul, reduce
from edgekit.converters.semantics.convolution import SlidingWindow, check_kernel, conv, sliding
from edgekit.converters.semantics.movement import cast, repeat_along
from edgekit.converters.semantics.quantized import centred
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.dynamic_quantize import MAX_INPUTS, DynamicQuantizeDense
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.types import Array, DType, Quant, Value

Ints = tuple[int, ...] | None
_BYTES = (DType.S8, DType.U8)


def MatMulInteger(a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Tensor:
    return cast(integer_product(a, b, a_zero, b_zero), DType.S32)


def integer_product(a: Tensor, b: Tensor, a_zero: Tensor | None, b_zero: Tensor | None) -> Tensor:
    """The sums, as int32 or as whole numbers in float32."""
    rows = rows_of(a_zero)
    weights = _bytes(b, b_zero) if b.rank == 2 and a.rank >= 1 and a.data is None else None
    if weights is None:
        return matmul(centred(a, rows), centred(b, b_zero))
    w, zero = weights
    is_exact = _is_exact(a, w, zero, 0)
    sums = scaled_product(a, b, a_zero, b_zero) if is_exact else None
    if sums is not None:
        return sums
    x, w = (_reals(a, rows), _of_reals(w)) if is_exact else (centred(a, rows), w)
    y = x.apply(Dense(), w.transpose(1, 0), x.like(np.zeros(b.shape[1])))
    return y if zero is None else y - cast(zero, y.dtype) * reduce(x, "sum", [-1])


def scaled_product(
    a: Tensor,
    b: Tensor,
    a_zero: Tensor | None,
    b_zero: Tensor | None,
    a_scale: Tensor | None = None,
    b_scale: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor | None:
    """The product of what bytes stand for, and a bias, as one layer. None where weights are not constant or
    do not fit into int8 around their zero points, or where rows have zero points or scales of their own."""
    if b.rank != 2 or a.rank < 1 or a.data is not None or a.dtype not in _BYTES or 0 in b.shape:
        return None
    ones = b.new(np.array(1, np.float32)) if a_scale is None else a_scale
    others = [t for t in (b_scale, bias) if t is not None]
    if ones.dtype is not DType.F32 or any(t.data is None or t.dtype is not DType.F32 for t in others):
        return None
    if any(t is not None and t.type.size != 1 for t in (a_zero, ones)) or b.shape[0] > MAX_INPUTS:
        return None
    weights = _bytes(b, b_zero)
    if weights is None or weights[1] is not None:
        return None
    w, count = weights[0].transpose(1, 0), b.shape[1:]
    zero = a.like(0) if a_zero is None else one(a_zero)
    scale, shift = (
        b.new(np.broadcast_to(np.float32(default) if t is None else t.constant("a scale").reshape(-1), count))
        for t, default in ((b_scale, 1), (bias, 0))
    )
    return _signed(a).apply(DynamicQuantizeDense(), one(ones), _signed(zero), w, scale, shift)


def _signed(x: Tensor) -> Tensor:
    return x if x.dtype is DType.S8 else x.apply(FlipSign())


def ConvInteger(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None = None,
    w_zero: Tensor | None = None,
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
    return cast(integer_conv(x, w, x_zero, w_zero, None, slide, group), DType.S32)


def integer_conv(
    x: Tensor,
    w: Tensor,
    x_zero: Tensor | None,
    w_zero: Tensor | None,
    b: Tensor | None,
    slide: SlidingWindow,
    group: int,
) -> Tensor:
    """The sums, as int32 or as whole numbers in float32."""
    x_zero, w_zero = None if x_zero is None else one(x_zero), channels(w_zero, w.rank)
    weights = _bytes(w, w_zero) if x.data is None else None
    if weights is None:
        return conv(centred(x, x_zero), centred(w, w_zero), b, slide, group)
    if b is not None:
        sums = cast(integer_conv(x, w, x_zero, w_zero, None, slide, group), DType.S32)
        return sums + b.reshape(*b.shape, *(1,) * (w.rank - 2))
    narrow, zero = weights
    ones = w.new(np.ones((group, *w.shape[1:]), np.int8))
    if _is_exact(x, narrow, zero, tuple(range(1, w.rank))):
        image, narrow, ones = _reals(x, x_zero), _of_reals(narrow), _of_reals(ones)
    else:
        image = centred(x, x_zero)
    y = conv(image, narrow, None, slide, group)
    if zero is None:
        return y
    windows = repeat_along(conv(image, ones, None, slide, group), 1, w.shape[0] // group if group > 1 else 1)
    return y - _first(cast(zero, y.dtype)) * windows


def _is_exact(x: Tensor, w: Tensor, zero: Tensor | None, axes: int | tuple[int, ...]) -> bool:
    """Does float32 hold every sum over `axes` of weights exactly, in whatever order?"""
    magnitudes = np.abs(w.constant("the weights").astype(np.int64))
    if zero is not None:
        magnitudes = magnitudes + np.abs(zero.constant("the zero point").astype(np.int64)).max(initial=0)
    return x.dtype in _BYTES and int(magnitudes.sum(axis=axes).max(initial=0)) * 255 < 1 << 24


def _reals(x: Tensor, zero: Tensor | None) -> Tensor:
    """x - zero as whole numbers in float32, whose kernels are the fastest."""
    real = cast(x, DType.F32)
    return real if zero is None else real - cast(zero, DType.F32)


def _of_reals(w: Tensor) -> Tensor:
    """Bytes as weights of layers of floats, in units of 1."""
    name = w.builder.fresh("weights")
    w.builder.values[name] = Value(replace(w.type, quant=Quant((1.0,), (0,))), w.data)
    return Tensor(w.builder, name)


def _bytes(w: Tensor, zero: Tensor | None) -> tuple[Tensor, Tensor | None] | None:
    """Constant weights as int8, and the zero points that are left, as int32; None for weights that are known
    at run time only."""
    if w.data is None or (zero is not None and zero.data is None) or w.dtype not in _BYTES:
        return None
    integers = centred(w, None if zero is None else one(zero)).constant("the weights")
    if not integers.size or -128 <= integers.min() <= integers.max() <= 127:
        return w.new(integers.astype(np.int8)), None
    assert zero is not None, "only bytes without a sign span nine bits"
    middle = 0 if w.dtype.is_signed else 128
    return w.new(_less(w, middle).astype(np.int8)), w.new(_less(one(zero), middle))


def _less(x: Tensor, middle: int) -> Array:
    integers: Array = x.constant("the weights").astype(np.int32) - np.int32(middle)
    return integers


def _first(zero: Tensor) -> Tensor:
    """Zero points of outputs [O, 1, ..., 1] as results have them, [O, 1, ...]."""
    return zero if zero.rank == 0 else zero.reshape(*zero.shape[:-1])


def rows_of(p: Tensor | None) -> Tensor | None:
    """A parameter of the left matrix: one, or one a row."""
    return p if p is None or p.type.size == 1 or p.rank != 1 else p.reshape(p.shape[0], 1)


def one(p: Tensor) -> Tensor:
    return p.reshape() if p.type.size == 1 else p


def channels(p: Tensor | None, rank: int) -> Tensor | None:
    """A parameter of weights or results: one, or one an output."""
    return p if p is None or p.type.size == 1 else p.reshape(p.type.size, *(1,) * (rank - 1))
