"""Quantized tensors: what the integer forms of operators share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Arg, Param
from edgekit.core.types import Array, DType, Quant, Type, Value, type_of


def quant_of(type: Type) -> Quant:
    """What the integers of a quantized tensor stand for."""
    assert type.quant is not None, f"{type} is not quantized"
    return type.quant


def centred(x: Array, type: Type, wide: type[np.floating[Any]] = np.float64) -> Array:
    """x - zero in a float that holds it, as float64 holds every integer of an operator; real 0 is 0."""
    result = x.astype(wide)
    result -= quant_of(type).zero[0]
    return result


R = TypeVar("R")
_KNOWN: dict[tuple[object, ...], tuple[ref[Array], ref[Array], Any]] = {}
_MAX_KNOWN = 4096


def _once(function: Callable[[Type, Array, Array], R], x: Type, w: Array, b: Array) -> R:
    """What a function makes of the weights and the bias of a layer, which is the same for each sample that
    goes through it: weights may be more than what is multiplied with them."""
    if w.flags.writeable or b.flags.writeable:
        return function(x, w, b)
    key = (function, x.dtype, quant_of(x).zero, id(w), id(b))
    found = _KNOWN.get(key)
    if found and found[0]() is w and found[1]() is b:
        result: R = found[2]
        return result
    if len(_KNOWN) >= _MAX_KNOWN:
        _KNOWN.clear()
    result = function(x, w, b)
    _KNOWN[key] = ref(w), ref(b), result
    return result


def acc_bits(x: Type, w: Array, b: Array) -> int:
    """Bits of the largest sum of a layer, its sign apart, when the zero point of x is folded into b."""
    return _once(_acc_bits, x, w, b)


def _acc_bits(x: Type, w: Array, b: Array) -> int:
    return _bits(_folded(x, w, b), x, w)


def _bits(folded: Array, x: Type, w: Array) -> int:
    return fixed.acc_bits(folded, w, 1 << (x.dtype.bits - 1))


def _folded(x: Type, w: Array, b: Array) -> Array:
    """The bias less what the zero point of x adds to each sum."""
    wide = w.astype(np.int64).reshape(w.shape[0], -1)
    folded: Array = b.astype(np.int64) - quant_of(x).zero[0] * wide.sum(axis=1)
    return folded


def exact_float(x: Type, w: Array, b: Array) -> type[np.floating[Any]]:
    """The narrowest float that holds every sum of a layer, in whatever order it is computed."""
    return _once(_exact_float, x, w, b)


def _exact_float(x: Type, w: Array, b: Array) -> type[np.floating[Any]]:
    return np.float32 if fixed.acc_bits(b, w, 1 << x.dtype.bits) <= 24 else np.float64


def requantize_sums(
    sums: Array, ins: Sequence[Type], out: Type, lo: float, hi: float, *, bits: int, dense: bool = False
) -> Array:
    """Sums of products of x and w, of so many bits, as integers of the result, clamped to [lo, hi] of the
    reals."""
    x, w, y = quant_of(ins[0]), quant_of(ins[1]), quant_of(out)
    low, high = fixed.bounds(lo, hi, out.dtype, y)
    factors = _factors(x, w, y, dense, bits)
    return fixed.requantize_by(factors, sums.astype(np.int64), y, low, high, dense=dense).astype(
        out.dtype.numpy
    )


@lru_cache(maxsize=1024)
def _factors(x: Quant, w: Quant, y: Quant, dense: bool, bits: int) -> fixed.Factors:
    """Of each layer, once for all samples."""
    return fixed.factors(fixed.ratio(x, w, y, dense=dense), y, bits)


@dataclass(frozen=True)
class _Facts:
    """What conditions of kernels may ask of sums and exponents."""

    acc_bits: int
    least_exponent: int
    most_exponent: int
    weight_shift: int  # by so many bits larger, twice a sum has all that matters in high words of products
    least_weight: int
    one_scale: int  # is it one for all outputs?


FACTS = tuple(field.name for field in fields(_Facts))


@dataclass(frozen=True)
class Requantization:
    """What a kernel needs to turn sums into integers of the result, with operands b, m and e."""

    args: tuple[Arg, ...]
    params: dict[str, Param]
    rule: str  # as fixed.h calls it
    facts: dict[str, int]  # what a kernel may want to know of the sums and exponents
    types: dict[str, DType]  # X, W, Y, and S of the sums
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
    y = quant_of(out.type)
    folded = _folded(x.type, weights, bias)
    bits = _bits(folded, x.type, weights)
    is_long = bits > 31 and x.type.dtype is DType.S16
    if bits > 31 and not is_long:
        raise EdgeKitError(
            "E0208", "sums of this layer may leave 32 bits", w.name, "are its weights or its bias damaged?"
        )
    scales = fixed.ratio(quant_of(x.type), quant_of(w.type), y, dense=dense)
    ratio = np.broadcast_to(scales, folded.shape)
    if y.rounding == "E":
        multiplier, shift = fixed.rule_e(ratio, fixed.multiplier_bits(bits))
        rule = "e_long" if is_long else "e_wide" if shift < fixed.MIN_SHIFT else "e"
        exponent, expr = np.asarray([shift]), f"ek_requantize_{rule}(acc, m[o], e[0])"
        weight_shift = max(0, 32 - shift)
    else:
        assert not is_long, "TFLite's layers of 16 bits are spelled out"
        multiplier, exponent = fixed.quantize_multiplier(ratio)
        once = dense and y.rounding == "tfl"
        rule = "once" if once else "tfl_wide" if _leaves_32_bits(ratio, bits) else "tfl"
        expr = f"ek_requantize_{rule}(acc, m[o], e[o])"
        weight_shift = 0 if exponent.max() < 0 else 32  # two roundings are not one of a larger sum
    low, high = fixed.bounds(lo, hi, out.type.dtype, y)
    formats = [t.dtype for t in (x.type, w.type, out.type)]
    facts = _Facts(
        acc_bits=bits,
        least_exponent=int(exponent.min()),
        most_exponent=int(exponent.max()),
        weight_shift=weight_shift,
        least_weight=int(weights.min()),
        one_scale=int(np.ptp(multiplier) == np.ptp(exponent) == 0),
    )
    return Requantization(
        args=(  # named by the result: layers may share weights, and have other scales
            constant(f"{out.name}#bias", folded.astype(np.int64 if is_long else np.int32), BIAS),
            constant(f"{out.name}#multiplier", multiplier.astype(np.int32), _MULTIPLIER),
            constant(f"{out.name}#exponent", exponent.astype(np.int8), "see #multiplier"),
        ),
        params={"zero": y.zero[0], "lo": low, "hi": high},
        rule=rule,
        facts={**vars(facts)},
        types=dict(zip("XWYS", (*formats, DType.S64 if is_long else DType.S32), strict=True)),
        expr=expr,
    )


def _leaves_32_bits(ratio: Array, acc_bits: int) -> bool:
    """Can a sum of so many bits come out so large that adding a zero point overflows?"""
    return float(np.max(ratio)) * 2.0**acc_bits >= 2.0**30


@dataclass(frozen=True)
class SingleRule:
    """One multiplier for all results, as a kernel takes it: parameters, and the rule in C over acc."""

    params: dict[str, Param]
    name: str  # as fixed.h calls it
    expr: str


def single_rule(ratio: Array, y: Quant, acc_bits: int = 31) -> SingleRule:
    """How sums of so many bits become integers of y by one ratio of scales."""
    if y.rounding == "E":
        multiplier, exponent = fixed.rule_e(ratio, fixed.multiplier_bits(acc_bits))
        rule = "e_long" if acc_bits > 31 else "e_wide" if exponent < fixed.MIN_SHIFT else "e"
    else:
        multiplier, exponents = fixed.quantize_multiplier(ratio)
        rule = "tfl_wide" if _leaves_32_bits(ratio, acc_bits) else "tfl"
        exponent = int(exponents.reshape(-1)[0])
    params: dict[str, Param] = {"multiplier": int(multiplier.reshape(-1)[0]), "exponent": exponent}
    return SingleRule(params, rule, f"ek_requantize_{rule}(acc, p->multiplier, p->exponent)")


BIAS = "the bias in accumulator units, with integers less in_zero times the sum of the weights"
_MULTIPLIER = "scales accumulators to outputs, with #exponent, by the rule in the contract"


def constant(name: str, data: Array, note: str) -> Arg:
    """A constant that lowering makes, and what headers of weights say of it."""
    return Arg(name, Value(type_of(data), data), note)
