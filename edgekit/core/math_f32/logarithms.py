"""log, log2, log1p, asinh, acosh, atanh: the twins of math_log_f32.h."""

from __future__ import annotations

import numpy as np

from edgekit.core.math_f32.numbers import LN2_HIGH, LN2_LOW, LOG2_E, bits, floats, poly, select, single
from edgekit.core.types import Array

_ONE, _TWO, _HALF = single(1), single(2), single(0.5)
_MIN_NORMAL = np.float32(2.0**-126)
_ROOT_HALF, _ONE_BITS = np.uint32(0x3F3504F3), np.uint32(0x3F800000)
_MIN_ASYMPTOTIC = np.float32(1e9)  # from here on the inverse hyperbolic functions are log(2 x)


def _split(x: Array) -> tuple[Array, Array]:
    """x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), for a positive normal x."""
    u = bits(x) + (_ONE_BITS - _ROOT_HALF)
    k = (u >> np.uint32(23)).astype(np.int32) - 127
    return k, floats((u & np.uint32(0x7FFFFF)) + _ROOT_HALF) - _ONE


def _split_any(x: Array) -> tuple[Array, Array]:
    """The same for subnormal x, too."""
    tiny = x < _MIN_NORMAL
    k, f = _split(select(tiny, x * np.float32(2.0**23), x))
    return np.where(tiny, k - 23, k).astype(np.int32), f


def _join(k: Array, f: Array, tail: Array) -> Array:
    """k ln 2 + log(1 + f) + tail."""
    n = k.astype(np.float32)
    whole = n * LN2_HIGH
    square = f * f
    high = whole + f
    low = f - (high - whole)
    rest = square * f * poly("log", f) - _HALF * square
    y: Array = high + (low + (rest + (n * LN2_LOW + tail)))
    return y


def _ends(u: Array, y: Array) -> Array:
    """The value of a logarithm at the ends of its domain, y elsewhere."""
    y = select(u < 0, np.nan, y)
    y = select(u == 0, -np.inf, y)
    return select(u < np.inf, y, u + u)


def log(x: Array) -> Array:
    k, f = _split_any(x)
    return _ends(x, _join(k, f, single(0)))


def log2(x: Array) -> Array:
    k, f = _split_any(x)
    n = k.astype(np.float32)
    square = f * f
    high = n + f
    low = f - (high - n)
    low = low + (square * f * poly("log", f) - _HALF * square) * LOG2_E
    return _ends(x, high + (low + f * np.float32(0.442695041)))


def _log1p_parts(high: Array, low: Array) -> Array:
    """log(1 + high + low) for a small low."""
    u = _ONE + high
    lost = select(high > 1, (high - u) + _ONE, (_ONE - u) + high) + low
    k, f = _split(u)
    return _join(k, f, lost / u)


def log1p(x: Array) -> Array:
    inside = (x > -1) & (x < np.inf)
    y = _ends(_ONE + x, _log1p_parts(select(inside, x, 0), single(0)))
    return select(np.abs(x) < np.float32(2.0**-24), x, y)


def _log_double(x: Array) -> Array:
    """log(2 x), also where 2 x overflows."""
    k, f = _split(x)
    return _ends(x, _join(k + 1, f, single(0)))


def asinh(x: Array) -> Array:
    a = np.abs(x)
    large = ~(a < _MIN_ASYMPTOTIC)
    square = select(large, 0, a * a)
    q = square / (_ONE + np.sqrt(_ONE + square))
    high = a + q
    near = _log1p_parts(select(large, 0, high), select(large, 0, (a - high) + q))
    return np.copysign(select(large, _log_double(a), near), x)


def acosh(x: Array) -> Array:
    near = (x >= 1) & (x < _MIN_ASYMPTOTIC)
    t = select(near, x - _ONE, 0)
    s = np.sqrt(_TWO * t + t * t)
    high = s + t
    y = _log1p_parts(high, (s - high) + t)
    return select(near, y, select(x < 1, np.nan, _log_double(x)))


def atanh(x: Array) -> Array:
    a = np.abs(x)
    inside = select(a < 1, a, 0)
    d = _ONE - inside
    t = _TWO * inside / d
    y = _HALF * _log1p_parts(t, -t * ((_ONE - d) - inside) / d)
    end = select(a == 1, np.inf, select(a > 1, np.nan, a))
    return np.copysign(select(a < 1, y, end), x)
