"""Quantized tensors: what the integer forms of operators share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit import fixed
from edgekit.ir import Array, Quant, Type


def quant_of(type: Type) -> Quant:
    """What the integers of a quantized tensor stand for."""
    assert type.quant is not None, f"{type} is not quantized"
    return type.quant


def centred(x: Array, type: Type) -> Array:
    """x - zero in float64, which holds every integer of an operator exactly; real 0 is 0."""
    return x.astype(np.float64) - quant_of(type).zero[0]


def requantize_sums(
    sums: Array, ins: Sequence[Type], out: Type, lo: float, hi: float, *, dense: bool = False
) -> Array:
    """Sums of products of x and w as integers of the result, clamped to [lo, hi] of the reals."""
    x, w, y = quant_of(ins[0]), quant_of(ins[1]), quant_of(out)
    low, high = fixed.bounds(lo, hi, out.dtype, y)
    result = fixed.requantize(sums.astype(np.int64), fixed.ratio(x, w, y), y, low, high, dense=dense)
    return result.astype(out.dtype.numpy)


def add_integers(args: Sequence[Array], ins: Sequence[Type], out: Type) -> Array:
    """a + b on quantized tensors, by TFLite's rule."""
    y = quant_of(out)
    assert y.rounding != "E", "imported models only"
    low, high = fixed.int_range(out.dtype)
    scales = [np.float64(np.float32(quant_of(t).scale[0])) for t in ins]
    twice = 2 * max(scales)
    total = np.int64(0)
    for x, t, scale in zip(args, ins, scales, strict=True):
        multiplier, exponent = fixed.quantize_multiplier(scale / twice)
        total = total + fixed.mbqm(centred(x, t).astype(np.int64) << 20, multiplier, exponent)
    to = twice / ((1 << 20) * np.float64(np.float32(y.scale[0])))
    result = fixed.mbqm(np.asarray(total), *fixed.quantize_multiplier(to)) + y.zero[0]
    return np.clip(result, low, high).astype(out.dtype.numpy)
