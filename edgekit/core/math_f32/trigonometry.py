"""sin, cos, tan for every finite argument, asin, acos, atan: the twins of math_trig_f32.h."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from edgekit.core.math_f32.numbers import bits, poly, select, single, split
from edgekit.core.types import Array

_ONE, _TWO, _HALF = single(1), single(2), single(0.5)
_PI_2_HIGH, _PI_2_LOW = np.float32(1.57079637), np.float32(-4.37113883e-08)
_PI_4, _PI_4_LOW = np.float32(0.785398185), np.float32(-2.18556941e-08)
_U = np.uint64
_WORD = _U(0xFFFFFFFF)
# 2/pi, 32 bits a word, as many as the largest float needs.
TWO_OVER_PI = np.array(
    [0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB], _U
)


def _quadrant(a: Array) -> tuple[Array, Array, Array]:
    """q, high, low: a = q pi/2 + high + low, |high| <= pi/4, q modulo 4."""
    u = bits(a)
    whole = ((u & np.uint32(0x7FFFFF)) | np.uint32(0x800000)).astype(_U)
    start = np.maximum(((u >> np.uint32(23)) & np.uint32(0xFF)).astype(np.int64) - 120, 0)
    shift = (start & 31).astype(_U)
    words = [TWO_OVER_PI[(start >> 5) + i] for i in range(4)]
    window = [((w << shift) | (after >> _U(1) >> (_U(31) - shift))) & _WORD for w, after in pairwise(words)]
    turn = ((window[0] * whole & _WORD) << _U(32)) + window[1] * whole + (window[2] * whole >> _U(32))
    q = (turn + (_U(1) << _U(61))) >> _U(62)
    rest = turn - (q << _U(62))
    back = rest >> _U(63) != 0
    size = np.where(back, ~rest + _U(1), rest)
    half_pi = _U(0xC90FDAA2)
    size = (size >> _U(32)) * half_pi + ((size & _WORD) * half_pi >> _U(32))
    a2 = (size >> _U(44)).astype(np.float32) * np.float32(2.0**-17)
    b2 = (size >> _U(22) & _U(0x3FFFFF)).astype(np.float32) * np.float32(2.0**-39)
    c2 = (size & _U(0x3FFFFF)).astype(np.float32) * np.float32(2.0**-61)
    total = a2 + b2
    tail = (b2 - (total - a2)) + c2
    high = total + tail
    low = tail - (high - total)
    near = a <= _PI_4
    return (
        np.where(near, 0, (q & _U(3)).astype(np.int64)),
        select(near, a, select(back, -high, high)),
        select(near, 0, select(back, -low, low)),
    )


def _sin_part(r: Array, low: Array) -> Array:
    z = r * r
    y: Array = r + (r * z * poly("sin", z) + low)
    return y


def _cos_part(r: Array, low: Array) -> Array:
    z = r * r
    half = _HALF * z
    h = _ONE - half
    y: Array = h + (((_ONE - h) - half) + (z * z * poly("cos", z) - r * low))
    return y


def _where_finite(x: Array, y: Array) -> Array:
    return select(np.abs(x) < np.inf, y, x - x)


def sin(x: Array) -> Array:
    q, r, low = _quadrant(np.abs(x))
    y = select(q & 1 != 0, _cos_part(r, low), _sin_part(r, low))
    return _where_finite(x, select(np.signbit(x) != (q >> 1 != 0), -y, y))


def cos(x: Array) -> Array:
    q, r, low = _quadrant(np.abs(x))
    y = select(q & 1 != 0, _sin_part(r, low), _cos_part(r, low))
    return _where_finite(x, select((q + 1) & 2 != 0, -y, y))


def tan(x: Array) -> Array:
    q, r, low = _quadrant(np.abs(x))
    z = r * r
    s = r * z * poly("tan", z) + low
    t = r + s
    first = -_ONE / t
    y12, t12 = split(first), split(t)
    turned = y12 + first * ((_ONE + y12 * t12) + y12 * ((r - t12) + s))
    y = select(q & 1 != 0, turned, t)
    return _where_finite(x, select(np.signbit(x), -y, y))


def _asin_root(z: Array) -> tuple[Array, Array]:
    """asin(s) for s = sqrt(z) <= 1/2 as high + low; high has 12 bits."""
    s = np.sqrt(z)
    s12 = split(s)
    missing = select(z > 0, (z - s12 * s12) / (s + s12), 0)
    return s12, missing + s * z * poly("asin", z)


def asin(x: Array) -> Array:
    a = np.abs(x)
    near = x + x * (x * x) * poly("asin", x * x)
    high, low = _asin_root(_HALF - _HALF * a)
    total = _PI_2_HIGH - _TWO * high
    y = total + (((_PI_2_HIGH - total) - _TWO * high) + (_PI_2_LOW - _TWO * low))
    return select(a < _HALF, near, select(a <= 1, np.copysign(y, x), np.nan))


def acos(x: Array) -> Array:
    a = np.abs(x)
    rest = x * (x * x) * poly("asin", x * x)
    total = _PI_2_HIGH - x
    near = total + (((_PI_2_HIGH - total) - x) + (_PI_2_LOW - rest))
    high, low = _asin_root(_HALF - _HALF * a)
    total = _TWO * (_PI_2_HIGH - high)
    left = total + (((_TWO * _PI_2_HIGH - total) - _TWO * high) + (_TWO * _PI_2_LOW - _TWO * low))
    y = select(a < _HALF, near, select(x > 0, _TWO * (high + low), left))
    return select(a <= 1, y, np.nan)


def atan(x: Array) -> Array:
    """The angle of the point (1, x)."""
    a = np.abs(x)
    turned = a > 1
    most, least = select(turned, a, 1), select(turned, 1, a)
    diagonal = least > np.float32(0.666666687) * most
    t = select(diagonal, (least - most) / (least + most), least / most)
    eighths = np.where(turned, 2 - diagonal, diagonal)
    t = select(turned, -t, t)
    base = np.array([0, _PI_4, _PI_2_HIGH], np.float32)[eighths]
    base_low = np.array([0, _PI_4_LOW, _PI_2_LOW], np.float32)[eighths]
    z = t * t
    total = base + t
    tail = t - (total - base)
    y = np.copysign(total + (tail + (base_low + t * z * poly("atan", z))), x)
    return select(x != x, x + x, y)
