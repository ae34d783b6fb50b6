"""TFLite's fixed-point functions on int8: softmax, logistic and tanh, exactly as its reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, exp

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.fixed import Int, clamp, mbqm, quantize_multiplier, rdbpot, round_half_away, srdhm
from edgekit.core.types import Array, Quant

_ONE = 2**31 - 1


def _q(value: float, fraction_bits: int) -> int:
    return int(np.floor(value * 2.0**fraction_bits + 0.5))


def _saturating_left(x: Int, bits: int) -> Int:
    return clamp(x << bits, -(2**31), 2**31 - 1)


def _exp_near_zero(a: Int) -> Int:
    """exp(a) for a in [-1/4, 0), Q0.31: a Taylor polynomial around -1/8."""
    center = _q(exp(-1 / 8), 31)
    x = a + (1 << 28)
    x2 = srdhm(x, x)
    x3 = srdhm(x2, x)
    x4 = srdhm(x2, x2)
    tail = rdbpot(srdhm(rdbpot(x4, 2) + x3, _q(1 / 3, 31)) + x2, 1)
    return clamp(center + srdhm(center, x + tail), -(2**31), 2**31 - 1)


def exp_of_negative(a: Int, fraction_bits: int) -> Int:
    """exp(a) in Q0.31 for a <= 0 with so many fraction bits: a polynomial on the last quarter, then one
    factor for each bit of the rest."""
    quarter = np.int64(1) << (fraction_bits - 2)
    near = (a & (quarter - 1)) - quarter
    result = _exp_near_zero(near << (31 - fraction_bits))
    rest = near - a
    for power in range(-2, 31 - fraction_bits):
        factor = _q(exp(-(2.0**power)), 31)
        result = np.where(rest & (np.int64(1) << (fraction_bits + power)), srdhm(result, factor), result)
    return np.where(a == 0, _ONE, result)


def _newton(half_denominator: Int) -> Int:
    """1 / half_denominator in Q2.29 by three steps from the line 48/17 - 32/17 d."""
    x = _q(48 / 17, 29) + srdhm(half_denominator, _q(-32 / 17, 29))
    for _ in range(3):
        x = x + _saturating_left(srdhm(x, (1 << 29) - srdhm(half_denominator, x)), 2)
    return x


def reciprocal_of_one_plus(a: Int) -> Int:
    """1 / (1 + a) for a in [0, 1), Q0.31."""
    return _saturating_left(_newton((a + _ONE + 1) >> 1), 1)


LONGEST_SOFTMAX = 2**13 - 1  # sums of so many numbers of 2^19 at most have 32 bits


def softmax_table(scale: float) -> Int:
    """exp of the 256 possible differences 0, -1, -2, ... from the maximum, in Q0.31 (int32); 0 where a
    difference is too large to count. The scale may be a product with TFLite's beta, which is not rounded."""
    real = min(scale * 2.0**26, 2.0**31 - 1)
    multiplier, left = quantize_multiplier(real, 31)
    least = -int(np.floor(31.0 * 2.0**26 / 2.0 ** int(left)))
    d = np.arange(0, -256, -1)
    counts = d >= least
    e = exp_of_negative(srdhm(np.where(counts, d, 0) << left, multiplier), 26)
    return np.where(counts, e, 0).astype(np.int32)


def softmax(x: Int, scale: float, bits: int = 8) -> Int:
    """Rows of int8 to integers of 8 or 16 bits whose scale is 2^-bits and whose least one stands for 0."""
    e = softmax_table(scale).astype(np.int64)[x.max(axis=-1, keepdims=True) - x]
    total = rdbpot(e, 12).sum(axis=-1, keepdims=True)
    headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    r = reciprocal_of_one_plus((total << headroom) - 2**31)
    half = 1 << (bits - 1)
    y = rdbpot(srdhm(r, e), 12 - headroom + 31 - bits) - half
    return y.clip(-half, half - 1)


def logistic(x: Int) -> Int:
    """1 / (1 + exp(-x)) for x in Q4.27, result in Q0.31."""
    positive = reciprocal_of_one_plus(exp_of_negative(-np.abs(x), 27))
    return np.where(x == 0, 1 << 30, np.where(x > 0, positive, _ONE - positive))


def tanh(x: Int) -> Int:
    """tanh(x) for x in Q4.27, result in Q0.31."""
    # (1 - e) / (1 + e) with e = exp(-2 |x|): the doubling makes Q5.26 of the same bits.
    e = exp_of_negative(-np.abs(x), 26)
    ratio = _saturating_left(_newton((e + _ONE + 1) >> 1) - (1 << 29), 2)
    return np.where(x == 0, 0, np.where(x > 0, ratio, -ratio))


# Tables: what functions of int8 give for -128 to 127


def _codes(x: Quant) -> Int:
    return np.arange(-128, 128, dtype=np.int64) - x.zero[0]


def rescaled(x: Quant, y: Quant, ratio: float | np.float64) -> Int:
    """x in the scale of y."""
    return _clamped(mbqm(_codes(x), *quantize_multiplier(ratio)) + y.zero[0])


def leaky_relu(x: Quant, y: Quant, identity: np.float64, slope: np.float64) -> Int:
    """x for x >= 0, else a part of x, by these ratios."""
    d = _codes(x)
    above, below = (mbqm(d, *quantize_multiplier(float(r))) for r in (identity, abs(slope)))
    return _clamped(np.where(d >= 0, above, below if slope >= 0 else -below) + y.zero[0])


def magnitude(x: Quant, y: Quant) -> Int:
    """|x|"""
    ratio = float(np.float32(x.scale[0]) / np.float32(y.scale[0]))
    d = np.abs(_codes(x))
    return _clamped((d if ratio == 1 else mbqm(d, *quantize_multiplier(ratio))) + y.zero[0])


def _by_input_in_q4(x: Quant, function: Callable[[Int], Int], bits: int, offset: int) -> Int:
    """A function of Q4.27, saturated beyond +-16, whose Q0.31 result loses that many bits."""
    multiplier, left = quantize_multiplier(float(np.float32(x.scale[0])) * 2.0**27)
    radius = int(np.floor(15.0 * 2.0**27 / 2.0 ** int(left)))
    d = _codes(x)
    inside = np.abs(d) < radius
    y = rdbpot(function(mbqm(np.where(inside, d, 0), multiplier, left)), bits) - offset
    return np.where(inside, _clamped(y), np.where(d < 0, -128, 127))


def logistic_table(x: Quant, y: Quant) -> Int:
    """1 / (1 + exp(-x)), with scale 1/256 and zero point -128: TFLite Micro's fixed point, LiteRT's floats.
    They differ where the result is next to the middle of two integers."""
    if y.rounding == "tflm":
        return _by_input_in_q4(x, logistic, 23, 128)
    return _by_floats(x, y, lambda v: np.float32(1) / (np.float32(1) + _single(np.exp, -v)))


def tanh_table(x: Quant, y: Quant) -> Int:
    """tanh(x), with scale 1/128 and zero point 0."""
    if y.rounding == "tflm":
        return _by_input_in_q4(x, tanh, 24, 0)
    return _by_floats(x, y, lambda v: _single(np.tanh, v))


def _single(function: Callable[[Array], Array], x: Array) -> Array:
    """A function of float32 whose result is rounded once, as good libraries do; numpy's is further off."""
    return function(x.astype(np.float64)).astype(np.float32)


def _by_floats(x: Quant, y: Quant, function: Callable[[Array], Array]) -> Int:
    """In float32, halves away from zero."""
    real = np.float32(x.scale[0]) * _codes(x).astype(np.float32)
    with np.errstate(all="ignore"):
        scaled: Array = function(real).astype(np.float32) * (np.float32(1) / np.float32(y.scale[0]))
    return _clamped(round_half_away(np.clip(scaled.astype(np.float64), -1e9, 1e9)) + y.zero[0])


def elu(x: Quant, y: Quant) -> Int:
    return _by_floats(x, y, lambda v: np.where(v < 0, _single(np.expm1, v), v))


def exp_table(x: Quant, y: Quant) -> Int:
    return _by_floats(x, y, lambda v: _single(np.exp, v))


def log_table(x: Quant, y: Quant) -> Int:
    """What is not positive gives the least number that y holds."""
    least = np.float32(y.scale[0]) * np.float32(-128 - y.zero[0])
    return _by_floats(x, y, lambda v: np.where(v > 0, _single(np.log, v), least))


def sqrt_table(x: Quant, y: Quant) -> Int:
    """The root of what is not negative, rounded down."""
    root = np.sqrt(np.float32(x.scale[0]) * np.maximum(_codes(x), 0).astype(np.float32))
    return _clamped(np.floor(root / np.float32(y.scale[0])) + y.zero[0])


def negative(x: Quant, y: Quant) -> Int:
    """-x, of the integers themselves: TFLite looks at neither scales nor zero points."""
    return np.append(-128, np.arange(127, -128, -1))


def gelu(x: Quant, y: Quant, approximate: bool) -> Int:
    """x (1 + erf(x / sqrt 2)) / 2, or its approximation by a tanh."""

    def real(v: Array) -> Array:
        if approximate:
            inner = np.float32((2 / np.pi) ** 0.5) * (v + np.float32(0.044715) * v * v * v)
            factor: Array = np.float32(1) + _single(np.tanh, inner)
        else:
            factor = np.asarray([erfc(-float(u) * 0.5**0.5) for u in v], np.float32)
        return np.float32(0.5) * v * factor

    return _by_floats(x, y, real)


def inverse_square_root(values: Array) -> tuple[Int, Int]:
    """(m, e) with 1 / sqrt(value) = m / 2^31 2^e for each value >= 0; that of 0 is that of 1."""
    value = np.maximum(values, 2).astype(np.int64)
    shift = np.full(value.shape, 11)
    while (large := value >= 1 << 29).any():
        value = np.where(large, value // 4, value)
        shift += large
    bits = np.frexp(value.astype(np.float64))[1]
    pairs = (31 - bits) // 2 - 1
    shift -= pairs
    half_input = rdbpot((value << (2 * pairs)) >> 1, 1)
    x: Int = np.full(value.shape, 1 << 28)  # Q3.28
    for _ in range(5):
        cube = _saturating_left(srdhm(srdhm(x, x), x), 6)
        x = _saturating_left(srdhm((1 << 28) + (1 << 27), x) - srdhm(half_input, cube), 3)
    root = srdhm(x, 1518500250)  # sqrt(2) / 2
    is_one = values <= 1
    multiplier = np.where(is_one, _ONE, root << np.maximum(-shift, 0))
    return multiplier, np.where(is_one, 0, np.minimum(-shift, 0))


def rsqrt(x: Quant, y: Quant) -> Int:
    """1 / sqrt(x); the most that y holds for 0, and for negative numbers, which TFLite refuses."""
    multiplier, exponent = quantize_multiplier(
        float(1.0 / (np.sqrt(np.float32(x.scale[0])) * np.float32(y.scale[0])))
    )
    results = np.full(256, 127, np.int64)
    codes = _codes(x)
    positive = codes > 0
    m, e = inverse_square_root(codes[positive])
    data = mbqm(np.ones_like(m), m, e + 20)
    results[positive] = mbqm(data, multiplier, exponent - 20) + y.zero[0]
    return _clamped(results)


def hard_swish(x: Quant, y: Quant) -> Int:
    """x clamp(x / 6 + 1 / 2, 0, 1) in 16 bits."""
    hires = np.float32(1 / 128) * np.float32(x.scale[0])
    multiplier, exponent = _in_16_bits(float(hires / np.float32(y.scale[0])))
    reluish_multiplier, reluish_exponent = _in_16_bits(float(hires / np.float32(3 / 32768)))
    value = _codes(x) << 7
    preshift = _srdhm_16(value, multiplier)
    reluish = value
    if reluish_exponent > 0:
        reluish = (reluish << (reluish_exponent - 1)).clip(-(2**15), 2**15 - 1)
    reluish = _srdhm_16(reluish, reluish_multiplier)
    if reluish_exponent > 0:
        reluish = (reluish << 1).clip(-(2**15), 2**15 - 1)
    if reluish_exponent < 0:
        reluish = rdbpot(reluish, -reluish_exponent)
    reluish = (reluish + (1 << 15)) >> 1
    product = reluish * preshift
    high = np.where(product >= 0, product >> 15, -((-product) >> 15)).clip(-(2**15), 2**15 - 1)
    if exponent > 0:
        raise EdgeKitError("E0209", f"HARD_SWISH from scale {x.scale[0]} to {y.scale[0]} is not supported")
    return _clamped(rdbpot(high, -exponent) + y.zero[0])


def _in_16_bits(ratio: float) -> tuple[int, int]:
    multiplier, exponent = (int(v) for v in quantize_multiplier(ratio))
    return (multiplier + (1 << 15)) >> 16 if multiplier < 2**31 - 1 - (1 << 15) else 2**15 - 1, exponent


def _srdhm_16(a: Int, b: int) -> Int:
    """The doubling high product of 16 bits, rounded."""
    product = a * b
    total = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    high = np.where(total >= 0, total >> 15, -((-total) >> 15))
    return np.where((a == -(2**15)) & (b == -(2**15)), 2**15 - 1, high)


def _clamped(y: Int) -> Int:
    return np.asarray(y).astype(np.int64).clip(-128, 127)
