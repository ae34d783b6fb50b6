"""x to the power y, in integers: the twin of math_pow_f32.h."""

from __future__ import annotations

import numpy as np

from edgekit.core.math_f32.numbers import bits, fixed_poly, floats, select, table
from edgekit.core.types import Array

_U = np.uint64
_MAX_EXPONENT = 1 << 40  # of an exponent in units of 2^-32: far outside the floats


def _log2(a: Array) -> tuple[Array, Array]:
    """log2(a) for a positive, finite a, and its unit: 2^-55, or 2^-66 near 1."""
    tiny = a < np.float32(2.0**-126)
    scaled = select(tiny, a * np.float32(2.0**24), a)
    u = bits(scaled).astype(np.int64) + (0x3F800000 - 0x3F3504F3)
    k = (u >> 23) - np.where(tiny, 151, 127)
    m = (u & 0x7FFFFF) + 0x3F3504F3
    whole = ((m & 0x7FFFFF) | 0x800000) << (m >> 23 & 1)
    cell = (whole + 0x80000) >> 20
    f = whole * table("pow_inverse")[cell - 11] - 0x80000000
    slope = (0x5C551D94AE0C >> 11) + (f * fixed_poly("pow_log2", f, 31) >> 27)
    fraction = f * slope
    near = (k == 0) & (cell == 16)
    far = k * (1 << 55) + table("pow_offset")[cell - 11] + (fraction >> 11)
    return np.where(near, fraction, far), np.where(near, 66, 55)


def _exp2(e: Array, sign: Array) -> Array:
    """2^e with sign, e in units of 2^-32."""
    n = e >> 32
    r = (e & 0xFFFFFFFF).astype(_U)
    whole = (_U(1) << _U(31)) + (r * fixed_poly("pow_exp2", r, _U(32)) >> _U(32))
    lost = np.maximum(-126 - n, 0)
    shift = np.minimum(lost, 31).astype(_U)
    kept = np.where(lost < 32, (whole + (_U(128) << shift)) >> (_U(8) + shift), _U(0)).astype(np.int64)
    exponent = np.where(n < -126, 0, np.minimum(n + 126, 255) << 23)
    return floats(sign | np.where(n > 127, 0x7F800000, exponent + kept).astype(np.uint32))


def _size(logarithm: Array, unit: Array, b: Array) -> Array:
    """|logarithm| b in units of 2^-32, up to _MAX_EXPONENT: where it would be shifted left, b is large."""
    size = np.abs(logarithm).astype(_U)
    low = bits(b).astype(np.int64)
    exponent = low >> 23
    factor = np.where(exponent > 0, (low & 0x7FFFFF) | 0x800000, low).astype(_U)
    product = ((size >> _U(32)) * factor << _U(8)) + ((size & _U(0xFFFFFFFF)) * factor >> _U(24))
    shift = np.maximum(exponent, 1) - 150 + 24 - unit + 32
    down = np.clip(-shift, 0, 63).astype(_U)
    right = np.where(shift > -64, product >> down, _U(0))
    return np.where(shift > 0, _U(_MAX_EXPONENT), np.minimum(right, _U(_MAX_EXPONENT))).astype(np.int64)


def _finite(x: Array, a: Array, b: Array, down: Array, odd: Array) -> Array:
    """The power of positive finite a, with the sign that x has where y is odd."""
    sign = np.where(odd, bits(x) & np.uint32(0x80000000), np.uint32(0))
    size = _size(*_log2(a), b)
    return _exp2(np.where(down, -size, size), sign)


def pow(x: Array, y: Array) -> Array:
    x, y = (np.ascontiguousarray(v) for v in np.broadcast_arrays(x, y))
    a, b = np.abs(x), np.abs(y)
    small = np.where(b < np.float32(2.0**23), b, np.float32(0))
    whole = (b >= np.float32(2.0**23)) | (np.trunc(small) == b)
    odd = (b < np.float32(2.0**24)) & whole & (np.fmod(b, np.float32(2)) == 1)
    down = np.signbit(y) != (a < 1)
    edge = (a == 0) | (a == np.inf) | (b == np.inf)
    plain = ~(edge | (x != x) | (y != y))
    result = _finite(x, select(plain, a, 1), select(plain, b, 0), down, odd)
    result = select((x < 0) & ~whole, np.nan, result)
    ends = np.copysign(select(down, 0, np.inf), select(odd, x, 1))
    result = select(edge, ends, result)
    result = select((a == 1) & (whole | (b == np.inf)), select(odd, x, 1), result)
    result = select((x != x) | (y != y), x + y, result)
    return select((y == 0) | (x == 1), 1, result)
