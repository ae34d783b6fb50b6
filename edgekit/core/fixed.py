"""Scales to integers: the requantization rules and the rounding of the integer specification, in numpy.

Rule "E" is what EdgeKit quantizes to; rules "tfl" and "tflm" reproduce imported TFLite models as LiteRT and
as TFLite Micro compute them: docs/cli.md says where these differ. The C twin is
runtime_c/include/edgekit/math/fixed.h; nothing else turns scales into integers.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType, Quant

Int = Array  # of int64
_INT32_MAX = 2**31 - 1
_INT32_MIN = -(2**31)
_MIN_SCALE = 2.0**-60  # of what is nearly 0 everywhere


_FAR_UNITS = 2.0**40


def int_range(dtype: DType) -> tuple[int, int]:
    """The smallest and largest value of an integer type."""
    bits = dtype.bits
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.is_signed else (0, 2**bits - 1)


def activation_quant(low: float, high: float) -> Quant:
    """Asymmetric int8 of a range; 0 is exact."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low) / 255))
    if scale < _MIN_SCALE:
        return Quant((1.0,), (0,))
    return Quant((scale,), (int(np.clip(np.rint(-128 - low / scale), -128, 127)),))


def round_half_away(x: Array | float) -> Array:
    """To the nearest integer, halves away from zero, as C's round()."""
    whole = np.trunc(x)  # x + 0.5 may round up where x is just below a half
    with np.errstate(invalid="ignore"):
        return whole + np.where(np.abs(x - whole) < 0.5, 0, np.copysign(np.ones_like(x), x))


def clamp(x: Int, low: int, high: int) -> Int:
    """x within [low, high]. numpy compares limits of Python's with those of the type first, which takes
    longer than few integers do."""
    y: Int = x.clip(np.int64(low), np.int64(high))
    return y


@lru_cache(maxsize=1024)  # asked for each sample
def bounds(lo: float, hi: float, dtype: DType, quant: Quant) -> tuple[int, int]:
    """A clamp on reals as a clamp on the integers that stand for them."""
    low, high = int_range(dtype)
    scale, zero = np.float32(quant.scale[0]), quant.zero[0]

    def integer(x: float, other: int) -> int:
        return min(max(zero + _in_units(x, scale), low), high) if math.isfinite(x) else other

    return integer(lo, low), integer(hi, high)


def _in_units(x: float, scale: np.float32) -> int:
    """A real in units of a scale that may be tiny. Far beyond the integers of a tensor, all are one."""
    with np.errstate(over="ignore"):
        units = float(np.float32(x) / scale)
    units = min(max(units, -_FAR_UNITS), _FAR_UNITS)
    whole = math.trunc(units)
    return whole if abs(units - whole) < 0.5 else whole + (1 if units > 0 else -1)


def _check_ratio(ratio: Array, bits: int) -> None:
    """Refuse factors between scales of more bits: only damaged models have them."""
    if not (ratio < 2.0**bits).all():
        raise EdgeKitError("E0209", f"scales are too far apart: one is {ratio.max():g} times the other")


# Rule E
MIN_SHIFT = 33  # of ratios below 1/4; larger ones shift less, and their products may leave 32 bits


def rule_e(ratio: Array, bits: int = 31) -> tuple[Int, int]:
    """Multipliers of so many bits and the common shift for ratios (input scales over output scale, float64),
    one per channel."""
    _check_ratio(ratio, bits - 2)
    shift = int(np.clip(bits - 1 - np.floor(np.log2(ratio.max())), 1, 54))
    if np.floor(ratio.max() * 2.0**shift + 0.5) >= 2**bits:  # just below a power of two
        shift -= 1
    multiplier = np.floor(ratio * 2.0**shift + 0.5).astype(np.int64)
    assert multiplier.min() >= 0, f"ratio {ratio.min()} is out of range"
    assert multiplier.max() < 2**bits, f"ratio {ratio.max()} is out of range"
    return multiplier, shift


def multiplier_bits(acc_bits: int) -> int:
    """Bits of multipliers for sums of so many bits: 31, or what keeps products of wide sums in 63."""
    return 31 if acc_bits <= 31 else 62 - acc_bits


def requantize_e(acc: Int, multiplier: Int, shift: int, zero: int, low: int, high: int) -> Int:
    """y = clamp(zero + ((acc * M + 2^(s-1)) >> s), low, high)"""
    # Python's integers would do; float128 would not. acc * M fits int64: |acc| < 2^31, M < 2^31.
    y: Int = acc * multiplier  # from here on in place: images are large
    y += 1 << (shift - 1)
    y >>= shift
    y += zero
    return clamp(y, low, high)


LONGEST_SOFTMAX = 2**17 - 1  # sums of so many numbers of 2^15 at most have 32 bits


def softmax_table(scale: float) -> Int:
    """exp of the 256 possible differences 0, -1, -2, ... from the maximum, 2^15 for 1."""
    d = np.arange(256)
    table: Int = np.floor(2.0**15 * np.exp(-float(np.float32(scale)) * d) + 0.5).astype(np.int64)
    return table


def softmax(x: Int, scale: float) -> Int:
    """Rows of int8 to int8 of scale 1/256, zero point -128, in 32 bits without sign: one division a row."""
    e = softmax_table(scale)[x.max(axis=-1, keepdims=True) - x]
    total = e.sum(axis=-1, keepdims=True)
    k = np.maximum(0, np.frexp(total.astype(np.float64))[1].astype(np.int64) - 16)
    reciprocal = (1 << 31) // ((total + ((1 << k) >> 1)) >> k)
    p = (e * reciprocal) >> np.maximum(0, k - 8)
    h = np.minimum(23 + k, 31)
    y: Int = ((p + (np.int64(1) << (h - 1))) >> h) - 128
    return y.clip(max=127)


# Rule T
def quantize_multiplier(ratio: Array | float, bits: int = 30) -> tuple[Int, Int]:
    """(M, e) with ratio = M / 2^31 * 2^e, as TFLite rounds it; of ratios of so many bits at most."""
    ratio = np.asarray(ratio, np.float64)
    _check_ratio(ratio, bits)
    fraction, exponent = np.frexp(ratio)
    multiplier = round_half_away(fraction * 2.0**31).astype(np.int64)
    exponent = exponent.astype(np.int64)
    overflow = multiplier == 2**31
    multiplier, exponent = np.where(overflow, multiplier // 2, multiplier), exponent + overflow
    tiny = exponent < -31
    return np.where(tiny, 0, multiplier), np.where(tiny, 0, exponent)


def srdhm(a: Any, b: Any) -> Int:
    """Saturating rounding doubling high multiplication: (a b + 2^30) >> 31, the one overflow saturated."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    result: Int = a * b
    result += 1 << 30
    result >>= 31
    is_least = b == _INT32_MIN
    return np.where((a == _INT32_MIN) & is_least, _INT32_MAX, result) if is_least.any() else result


def rdbpot(x: Any, exponent: Any) -> Int:
    """x / 2^exponent, rounded half away from zero."""
    x, exponent = np.asarray(x, np.int64), np.asarray(exponent, np.int64)
    half = (np.int64(1) << exponent) >> 1
    result: Int = (x >> 63) & -(exponent > 0).astype(np.int64)  # -1 below 0
    result += x
    result += half
    result >>= exponent
    return result


def mbqm(x: Int, multiplier: Any, exponent: Any) -> Int:
    """x * M / 2^31 * 2^e with TFLite's two roundings."""
    exponent = np.asarray(exponent, np.int64)
    left, right = np.maximum(exponent, 0), np.maximum(-exponent, 0)
    shifted = (x << left if left.any() else x).astype(np.int32)  # wraps, as C's int32 does
    return rdbpot(srdhm(shifted, multiplier), right)


def mbqm_once(x: Int, multiplier: Any, exponent: Any) -> Int:
    """x * M / 2^31 * 2^e with a single rounding, halves away from zero; what leaves 30 bits is saturated."""
    exponent = np.asarray(exponent, np.int64)
    product = np.asarray(x * multiplier, np.int64)
    half = np.int64(1) << (30 - exponent)
    return clamp((product + (product >> 63) + half) >> (31 - exponent), -(2**30), 2**30)


def requantize(
    acc: Int, ratio: Array, out: Quant, low: int, high: int, *, dense: bool = False, acc_bits: int = 31
) -> Int:
    """Sums of so many bits, in units of the input scales, as integers of `out`, by the rule that `out` asks
    for. `ratio` is s_x s_w[c] / s_y in float64."""
    return requantize_by(factors(ratio, out, acc_bits), acc, out, low, high, dense=dense)


Factors = tuple[Int, Any]  # multipliers, and the shift or exponents


def factors(ratio: Array, out: Quant, acc_bits: int = 31) -> Factors:
    """What `requantize` multiplies sums by, and shifts them."""
    return rule_e(ratio, multiplier_bits(acc_bits)) if out.rounding == "E" else quantize_multiplier(ratio)


def requantize_by(factors: Factors, acc: Int, out: Quant, low: int, high: int, *, dense: bool = False) -> Int:
    """`requantize` by factors that are known."""
    multiplier, exponent = factors
    if out.rounding == "E":
        return requantize_e(acc, multiplier, exponent, out.zero[0], low, high)
    rule = mbqm_once if dense and out.rounding == "tfl" else mbqm
    return clamp(rule(acc, multiplier, exponent) + out.zero[0], low, high)


def ratio(x: Quant, w: Quant, y: Quant, *, dense: bool = False) -> Array:
    """s_x s_w[c] / s_y: scales are float32 in the model, and nearly everybody multiplies them in float64."""
    s_x, s_w, s_y = np.float32(x.scale[0]), np.asarray(w.scale, np.float32), np.float32(y.scale[0])
    if dense and y.rounding == "tflm" and s_w.size == 1:  # TFLite Micro's fully connected layers
        return (s_x * s_w).astype(np.float64) / np.float64(s_y)
    return np.float64(s_x) * s_w.astype(np.float64) / np.float64(s_y)


def acc_bits(bias: Int, weights: Array, reach: int) -> int:
    """Bits of the largest sum, its sign apart: |b| + reach sum |w| over all outputs, the first axis of
    `weights`, where `reach` is the largest magnitude of an operand."""
    sums = np.abs(weights.astype(np.int64)).reshape(weights.shape[0], -1).sum(axis=1)
    return int((np.abs(bias.astype(np.int64)) + reach * sums).max(initial=0)).bit_length()


# Normalization of rows, rule E
ROOT_SEED = (np.floor(2**8 / np.sqrt((np.arange(64, 256) + 0.5) / 256) + 0.5) - 2**8).astype(np.uint8)
MAX_NORMED = 2**14  # integers of a row: sums of squares have 30 bits, and all numbers below fit
MAX_EPSILON = 2**30


def reciprocal_root(v: Int) -> tuple[Int, Int]:
    """(R, s) with R / 2^s = 1 / sqrt(v) for 1 <= v < 2^62: R of 31 bits, to 27 of them. From a table by the
    first eight bits of v, two steps of Newton's."""
    bits = np.frexp(v.astype(np.float64))[1].astype(np.int64)
    bits -= (v >> np.maximum(bits - 1, 0)) == 0  # the float was rounded up to a power of two
    half = (bits - 31) >> 1
    m = (v << np.maximum(-2 * half, 0)) >> np.maximum(2 * half, 0)  # of 31 or 32 bits
    root = (2**8 + ROOT_SEED.astype(np.int64)[(m >> 24) - 64]) << 22
    for _ in range(2):
        rest = (3 << 28) - ((m * ((root * root) >> 32)) >> 32)
        root = ((root * (rest << 2)) >> 32) << 1
    return np.minimum(root, _INT32_MAX), 46 + half


def norm_digits(n: int, *, centre: bool) -> int:
    """Binary digits of a normalized number: 11, or as many as leave 16 bits to the largest that a row of n
    can have, sqrt(n), or sqrt(n - 1) where the mean is taken off."""
    most = max(n - 1 if centre else n, 1)
    return min(11, next(d for d in range(15, -1, -1) if most << (2 * d) < 1 << 30))


def norm_epsilon(epsilon: float, n: int, scale: float) -> int:
    """What is added to a mean square, as an addend of the sum of the squares of n integers of this scale."""
    value = np.floor(n * epsilon / np.float64(np.float32(scale)) ** 2 + 0.5)
    if not value <= MAX_EPSILON:
        raise EdgeKitError("E0209", f"a scale of {scale:g} is too small beside an epsilon of {epsilon:g}")
    return int(value)


def normalized(u: Int, epsilon: int, digits: int, *, centre: bool) -> Int:
    """Rows of differences u from the zero point, divided by the root of their mean square; where `centre`,
    their mean is taken off before. z = d / sqrt(v), d = n u - sum u, v = n (epsilon + sum u u) - (sum
    u)^2."""
    n = u.shape[-1]
    total = u.sum(axis=-1, keepdims=True) * int(centre)
    v = n * ((u * u).sum(axis=-1, keepdims=True) + epsilon) - total * total
    root, shift = reciprocal_root(np.maximum(v, 1))
    shift -= digits
    z: Int = ((n * u - total) * root + (np.int64(1) << (shift - 1))) >> shift
    return z


def norm_factors(gamma: Array, beta: Array, digits: int, out: Quant) -> tuple[Int, Int, int]:
    """(G, B, e) with y = (z G[c] + B[c]) >> e: G of 16 bits, products and B of 30."""
    scale = np.float64(np.float32(out.scale[0]))
    g = gamma.astype(np.float64) / (scale * 2.0**digits)
    b = beta.astype(np.float64) / scale + out.zero[0]
    largest, reach = float(np.abs(g).max(initial=2.0**-30)), float(np.abs(b).max(initial=0.0)) + 1
    exponent = min(14 - int(np.floor(np.log2(largest))), 29 - int(np.floor(np.log2(reach))))
    if exponent < 1:
        raise EdgeKitError("E0209", f"a factor of {largest * 2.0**digits:g} is too large for int8 results")
    factor = np.floor(g * 2.0**exponent + 0.5).clip(-(2**15) + 1, 2**15 - 1).astype(np.int64)
    constant = np.floor(b * 2.0**exponent + 0.5).astype(np.int64) + (1 << (exponent - 1))
    return factor, constant, exponent


# Filters, rule E
def filter_weights(weights: Array) -> tuple[Int, int]:
    """Weights [results, taps] as integers of 16 bits, and how many binary digits they have. They are
    differences of rounded running sums: those that add up to 1 still do, so that what is even stays so."""
    exact = weights.astype(np.float64)
    magnitude = np.abs(exact)
    largest = max(
        float(magnitude.max(initial=0.0)), float(magnitude.sum(axis=1).max(initial=0.0)) / 2**8, 2.0**-16
    )
    digits = 13 - int(np.floor(np.log2(largest)))  # sums of products with 9 bits stay within 32
    running = np.floor(np.cumsum(exact, axis=1) * 2.0**digits + 0.5).astype(np.int64)
    return np.diff(running, axis=1, prepend=0), digits
