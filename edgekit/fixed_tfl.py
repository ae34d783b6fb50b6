"""TFLite's fixed-point functions on int8: softmax, logistic and tanh, exactly as its reference kernels."""

from __future__ import annotations

from math import exp

import numpy as np

from edgekit.fixed import Int, quantize_multiplier, rdbpot, srdhm

_ONE = 2**31 - 1


def _q(value: float, fraction_bits: int) -> int:
    return int(np.floor(value * 2.0**fraction_bits + 0.5))


def _saturating_left(x: Int, bits: int) -> Int:
    return (x << bits).clip(-(2**31), 2**31 - 1)


def _exp_near_zero(a: Int) -> Int:
    """exp(a) for a in [-1/4, 0), Q0.31: a Taylor polynomial around -1/8."""
    center = _q(exp(-1 / 8), 31)
    x = a + (1 << 28)
    x2 = srdhm(x, x)
    x3 = srdhm(x2, x)
    x4 = srdhm(x2, x2)
    tail = rdbpot(srdhm(rdbpot(x4, 2) + x3, _q(1 / 3, 31)) + x2, 1)
    y: Int = center + srdhm(center, x + tail)
    return y.clip(-(2**31), 2**31 - 1)


def exp_of_negative(a: Int, fraction_bits: int) -> Int:
    """exp(a) in Q0.31 for a <= 0 with so many fraction bits: a polynomial on the last quarter, then one factor
    for each bit of the rest."""
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


def softmax_table(beta: float, scale: float) -> tuple[Int, int]:
    """exp of the 256 possible differences 0, -1, -2, ... from the maximum, in Q0.31 (int32), and the least one
    that counts."""
    real = min(float(np.float64(np.float32(beta)) * np.float64(np.float32(scale)) * 2.0**26), 2.0**31 - 1)
    multiplier, left = quantize_multiplier(real)
    least = -int(np.floor(31.0 * 2.0**26 / 2.0 ** int(left)))
    d = np.arange(0, -256, -1)
    shifted = np.where(d >= least, d, 0) << left
    return exp_of_negative(srdhm(shifted, multiplier), 26).astype(np.int32), least


def softmax(x: Int, beta: float, scale: float) -> Int:
    """Rows of int8 to int8 with scale 1/256 and zero point -128."""
    table, least = softmax_table(beta, scale)
    d = x - x.max(axis=-1, keepdims=True)
    counts = d >= least
    e = table.astype(np.int64)[-d]
    total = np.where(counts, rdbpot(e, 12), 0).sum(axis=-1, keepdims=True)
    headroom = 32 - np.frexp(total.astype(np.float64))[1].astype(np.int64)
    r = reciprocal_of_one_plus((total << headroom) - 2**31)
    y = rdbpot(srdhm(r, e), 12 - headroom + 31 - 8) - 128
    return np.where(counts, np.clip(y, -128, 127), -128)


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
