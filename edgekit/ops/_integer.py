"""Quantized tensors: what the integer forms of operators share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit import fixed
from edgekit.errors import EdgeKitError
from edgekit.ir import Array, Quant, Type, Value, type_of
from edgekit.ops import Arg, Param


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


@dataclass(frozen=True)
class Requantization:
    """What a kernel needs to turn sums into integers of the result: operands b, m, e and parameters."""

    args: tuple[Arg, ...]
    params: dict[str, Param]
    suffix: str  # of the kernel instance
    expr: str  # of the rule in C, over acc, m, e and o


def requantization(
    ins: Sequence[Arg], out: Arg, lo: float, hi: float, *, dense: bool = False
) -> Requantization:
    """For a sum of products of x and constant w, plus a constant bias: the input's zero point is folded into
    the bias, scales become multipliers and exponents."""
    x, w, b = ins
    weights, bias = w.value.data, b.value.data
    if weights is None or bias is None:
        raise EdgeKitError(
            "E0207", "quantized weights that are computed at run time are not supported", w.name
        )
    zero_x, y = quant_of(x.type).zero[0], quant_of(out.type)
    wide = weights.astype(np.int64).reshape(weights.shape[0], -1)
    folded = bias.astype(np.int64) - zero_x * wide.sum(axis=1)
    if not fixed.fits_int32(folded, weights):
        raise EdgeKitError(
            "E0208", "sums of this layer may leave 32 bits", w.name, "are its weights or its bias damaged?"
        )
    ratio = np.broadcast_to(fixed.ratio(quant_of(x.type), quant_of(w.type), y), folded.shape)
    if y.rounding == "E":
        multiplier, shift = fixed.rule_e(ratio)
        suffix = "_wide" * (shift < fixed.LEAST_SHIFT)
        exponent, expr = np.asarray([shift]), f"ek_requantize_e{suffix}(acc, m[o], e[0])"
    else:
        multiplier, exponent = fixed.quantize_multiplier(ratio)
        once = dense and y.rounding == "tfl"
        suffix = "_once" if once else "_tfl"
        expr = f"ek_requantize_{'once' if once else 'tfl'}(acc, m[o], e[o])"
    low, high = fixed.bounds(lo, hi, out.type.dtype, y)
    return Requantization(
        args=(
            constant(f"{b.name}#folded", folded.astype(np.int32)),
            constant(f"{w.name}#multiplier", multiplier.astype(np.int32)),
            constant(f"{w.name}#exponent", exponent.astype(np.int8)),
        ),
        params={"zero": y.zero[0], "lo": low, "hi": high},
        suffix=suffix,
        expr=expr,
    )


def constant(name: str, data: Array) -> Arg:
    """A constant that lowering makes."""
    return Arg(name, Value(type_of(data), data))
