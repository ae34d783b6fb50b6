"""exp, exp2, expm1, sigmoid, gate, tanh, erf, sinh, cosh: the twins of math_exp_f32.h."""

from __future__ import annotations

import numpy as np

from edgekit.core.math_f32.numbers import (
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    nearest,
    poly,
    pow2,
    scale,
    select,
    single,
)
from edgekit.core.types import Array

_ONE, _TWO, _HALF = single(1), single(2), single(0.5)


def _parts(x: Array) -> tuple[Array, Array, Array]:
    """exp(x) = 2^n (high + low)."""
    n = nearest(x * LOG2_E)
    k = n.astype(np.float32)
    a = x - k * LN2_HIGH
    b = k * LN2_LOW
    r = a - b
    high = _ONE + r
    low = ((_ONE - high) + r) + (((a - r) - b) + r * r * poly("exp", r))
    return n, high, low


def _normal(x: Array) -> Array:
    """exp(x) where neither overflow nor a subnormal result is possible."""
    n, high, low = _parts(x)
    y: Array = (high + low) * pow2(n)
    return y


def exp2_below(x: Array) -> Array:
    """As weights of attention have it: for x <= 0, and numbers below -126 count as -126."""
    c = select(x < -126, -126, x)
    n = nearest(c)
    r = c - n.astype(np.float32)
    y: Array = (_ONE + r * poly("exp2", r)) * pow2(n)
    return y


def _within(x: Array, low: float, high: float) -> Array:
    c = select(x < high, x, high)
    return select(c > low, c, low)


def exp(x: Array) -> Array:
    n, high, low = _parts(_within(x, -104, 89))
    return select(x != x, x + x, scale(high + low, n))


def exp2(x: Array) -> Array:
    c = _within(x, -151, 129)
    n = nearest(c)
    r = c - n.astype(np.float32)
    return select(x != x, x + x, scale(_ONE + r * poly("exp2", r), n))


def expm1(x: Array) -> Array:
    c = _within(x, -25, 89)
    n = nearest(c * LOG2_E)
    k = n.astype(np.float32)
    a = c - k * LN2_HIGH
    b = k * LN2_LOW
    r = a - b
    s = r * r * poly("exp", r) + ((a - r) - b)
    half = pow2(n - 1)
    one = half - _HALF
    rest = select(n > 0, (half - one) - _HALF, 0)
    r = r * half
    total = one + r
    rest = rest + select(np.abs(one) > np.abs(r), (one - total) + r, (r - total) + one)
    y = _TWO * (total + (rest + half * s))
    y = select(np.abs(x) < np.float32(1e-8), x, y)
    return select(x != x, x + x, y)


def _decay(x: Array, most: float) -> tuple[Array, Array]:
    """exp(-|x|) = 2^n y."""
    a = np.abs(x)
    near = -select(a > most, most, a)
    n = nearest(near * LOG2_E)
    k = n.astype(np.float32)
    r = (near - k * LN2_HIGH) - k * LN2_LOW
    return n, _ONE + r * (_ONE + r * poly("exp", r))


def _share(x: Array, e: Array) -> Array:
    """1 / (1 + e), or e / (1 + e) where x is below zero."""
    total, q = select(x < 0, e, 1), e / (_ONE + e)
    y: Array = total - total * q
    return y


def sigmoid(x: Array) -> Array:
    n, e = _decay(x, 104)
    return _share(x, scale(e, n))


def gate(x: Array) -> Array:
    """The same for a factor of x, but 0 below -87."""
    n, e = _decay(x, 87)
    return select(x < -87, 0, _share(x, e * pow2(n)))


def tanh(x: Array) -> Array:
    a = np.abs(x)
    e = _normal(_TWO * select(a < 10, a, 10))
    large = _ONE - _TWO / (e + _ONE)
    small = a + a * (a * a) * poly("tanh", a * a)
    return np.copysign(select(a >= np.float32(0.9), large, small), x)


def erf(x: Array) -> Array:
    a = np.abs(x)
    large = _ONE - _normal(poly("log_erfc", select(a < 4, a, 4)))
    small = a + a * poly("erf", a * a)
    return np.copysign(select(a >= 1, large, small), x)


def _quarters(a: Array) -> tuple[Array, Array, Array]:
    """exp(a) / 4 as high + low, and exp(-a) / 4."""
    n, high, low = _parts(select(a < np.float32(89.5), a, 89.5))
    quarter = pow2(n - 2)
    total = high + low
    rest = ((high - total) + low) * quarter
    i = np.float32(0.0625) / (total * quarter)
    return total * quarter, rest, i - np.float32(16) * i * i * rest


def cosh(x: Array) -> Array:
    high, low, part = _quarters(np.abs(x))
    return select(x != x, x + x, _TWO * (high + (low + part)))


def sinh(x: Array) -> Array:
    a = np.abs(x)
    small = a + a * (a * a) * poly("sinh", a * a)
    high, low, part = _quarters(a)
    return np.copysign(select(a >= 1, _TWO * (high + (low - part)), small), x)
