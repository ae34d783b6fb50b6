"""TFLite's fixed-point logistic and tanh of 16 bits, exactly: of its LSTM on integers, and by tables."""

from __future__ import annotations

from math import exp

import numpy as np

from edgekit.core.fixed import Int, clamp, rdbpot

_ONE = 2**15 - 1


def _q(value: float, fraction_bits: int) -> int:
    return int(np.floor(value * 2.0**fraction_bits + 0.5))


def _high_product(a: Int, b: Int | int) -> Int:
    """a b / 2^15, halves rounded up, the one overflow saturated. TFLite rounds by the sign and then divides
    as C does, by truncation: that is the same."""
    product: Int = a * b
    result: Int = np.minimum((product + (1 << 14)) >> 15, _ONE)
    return result


def _up(x: Int, bits: int) -> Int:
    return clamp(x << bits, -(2**15), _ONE)


def _exp_near_zero(a: Int) -> Int:
    """exp(a) for a in [-1/4, 0), Q0.15: a Taylor polynomial around -1/8."""
    center = np.asarray(_q(exp(-1 / 8), 15))
    x = a + (1 << 12)
    x2 = _high_product(x, x)
    x3 = _high_product(x2, x)
    x4 = _high_product(x2, x2)
    tail = rdbpot(_high_product(rdbpot(x4, 2) + x3, _q(1 / 3, 15)) + x2, 1)
    return clamp(center + _high_product(center, x + tail), -(2**15), _ONE)


def exp_of_negative(a: Int, integer_bits: int) -> Int:
    """exp(a) in Q0.15 for a <= 0 with so many integer bits: a polynomial on the last quarter, then one factor
    for each bit of the rest."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    near = (a & (quarter - 1)) - quarter
    result = _exp_near_zero(_up(near, integer_bits))
    rest = near - a
    for power in range(-2, min(integer_bits, 5)):
        factor = _q(exp(-(2.0**power)), 15)
        result = np.where(rest & (1 << (fraction + power)), _high_product(result, factor), result)
    if integer_bits > 5:
        result = np.where(a < -(32 << fraction), 0, result)
    return np.where(a == 0, _ONE, result)


def _newton(a: Int) -> Int:
    """2 / (1 + a) for a in [0, 1), in Q2.13, by three steps from the line 48/17 - 32/17 d."""
    half = (a + _ONE + 1) >> 1
    x = _q(48 / 17, 13) + _high_product(half, _q(-32 / 17, 13))
    for _ in range(3):
        x = x + _up(_high_product(x, (1 << 13) - _high_product(half, x)), 2)
    return x


def logistic(x: Int) -> Int:
    """1 / (1 + exp(-x)) for x in Q3.12, result in Q0.15."""
    positive = _up(_newton(exp_of_negative(-np.abs(x), 3)), 1)
    return np.where(x == 0, 1 << 14, np.where(x > 0, positive, _ONE - positive))


def tanh(x: Int, integer_bits: int) -> Int:
    """tanh(x) for x with 0 to 6 integer bits, result in Q0.15."""
    # (1 - e) / (1 + e) with e = exp(-2 |x|): the doubling is one more integer bit for the same number.
    e = exp_of_negative(-np.abs(x), integer_bits + 1)
    ratio = _up(_newton(e) - (1 << 13), 2)
    return np.where(x == 0, 0, np.where(x > 0, ratio, -ratio))


def sigmoid_table() -> Int:
    """LOGISTIC and TANH of int16 interpolate 65536 / (1 + exp(-i / 24)), i from 0 to 255: half of the error
    in the middle of two entries, where the curve bends, is added to each."""
    s = 1 / (1 + np.exp(-np.arange(256) / 24))
    bend = s * (1 - s) * (2 * s - 1) / 24**2
    table = np.floor(65536 * (s + bend / 16) + 0.5).astype(np.int64)
    table[255] = 65535
    return table


def table_scale(scale: float, most_left: int) -> tuple[int, int]:
    """The multiplier and the shift to the right that bring inputs to a third of Q3.12: three and no shift for
    the scale 2^-12, and, where `most_left` is 1, twice as much for 2^-11."""
    mantissa, exponent = np.frexp(scale)
    left = 11 + int(exponent)
    if mantissa == 0.5 and 0 <= left <= most_left:
        return 3 << left, 0
    multiplier, right = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and right <= 30:
        multiplier, right = multiplier * 2.0, right + 1
    return int(multiplier), right
