"""sin and cos of every finite float, as in math_trig_f32.h, whose 64-bit integers are two words here."""

from __future__ import annotations

from itertools import pairwise

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.polynomial import polynomial
from edgekit.core.math_f32.trigonometry import TWO_OVER_PI

_PI_4 = 0.785398185
_HALF_PI = 0xC90FDAA2  # in units of 2^-31
_PART = 0x3FFFFF
_BLOCKS = len(TWO_OVER_PI) - 3  # of words where a window may begin


def sin(k: KernelBuilder, x: Expr) -> Expr:
    q, r, low = _quadrant(k, function("abs", x))
    y = k.let("y", select((q & 1).eq(0), _sin_part(k, r, low), _cos_part(k, r, low)))
    is_negative = (x.bits(U32) >> 31).ne(q >> 1)
    return _finite(x, select(is_negative, -y, y))


def cos(k: KernelBuilder, x: Expr) -> Expr:
    q, r, low = _quadrant(k, function("abs", x))
    y = k.let("y", select((q & 1).eq(0), _cos_part(k, r, low), _sin_part(k, r, low)))
    return _finite(x, select(((q + 1) & 2).ne(0), -y, y))


def _finite(x: Expr, y: Expr) -> Expr:
    """NaN of what is not finite, made of bits: compilers take x - x for 0."""
    bits = x.bits(U32)
    return select((bits & 0x7FFFFFFF) < 0x7F800000, y, (bits | 0x7FC00000).bits(F32))


def _sin_part(k: KernelBuilder, r: Expr, low: Expr) -> Expr:
    z = k.let("z", r * r)
    return r + (r * z * polynomial(k, "sin", z) + low)


def _cos_part(k: KernelBuilder, r: Expr, low: Expr) -> Expr:
    z = k.let("z", r * r)
    half = k.let("halved", 0.5 * z)
    h = k.let("h", 1 - half)
    return h + (((1 - h) - half) + (z * z * polynomial(k, "cos", z) - r * low))


def _quadrant(k: KernelBuilder, a: Expr) -> tuple[Expr, Expr, Expr]:
    """q, high, low: a = q pi/2 + high + low, |high| <= pi/4, q modulo 4."""
    bits = k.let("bits", a.bits(U32))
    whole = k.let("whole", (bits & 0x7FFFFF) | 0x800000)
    first, second, third = _window(k, bits)
    low = k.let("low", second * whole)
    more = k.let("more", low + function("mulhi", third, whole))
    high = k.let("high", first * whole + function("mulhi", second, whole) + _carry(more, low))
    q = k.let("q", (high + (1 << 29)) >> 30)
    rest = k.let("rest", high - (q << 30))
    is_back = k.let("is_back", rest >> 31 > 0)
    size_low = k.let("size_low", select(is_back, 0 - more, more))
    borrow = select(more.eq(0), number(1, U32), number(0, U32))
    size_high = k.let("size_high", select(is_back, ~rest + borrow, rest))
    # From quadrants to radians.
    pi = number(_HALF_PI, U32)
    product = k.let("product", size_high * pi)
    angle_low = k.let("angle_low", product + function("mulhi", size_low, pi))
    angle_high = k.let("angle_high", function("mulhi", size_high, pi) + _carry(angle_low, product))
    parts = (angle_high >> 12, ((angle_high << 10) | (angle_low >> 22)) & _PART, angle_low & _PART)
    a2, b2, c2 = (
        k.let("part", part.to(I32).to(F32) * 2.0**-exponent)
        for part, exponent in zip(parts, (17, 39, 61), strict=True)
    )
    total = k.let("total", a2 + b2)
    tail = k.let("tail", (b2 - (total - a2)) + c2)
    near = k.let("near", total + tail)
    lost = k.let("lost", tail - (near - total))
    is_small = k.let("is_small", a <= _PI_4)
    return (
        k.let("quadrant", select(is_small, number(0, U32), q & 3)),
        k.let("r", select(is_small, a, select(is_back, -near, near))),
        k.let("rest", select(is_small, number(0, F32), select(is_back, -lost, lost))),
    )


def _window(k: KernelBuilder, bits: Expr) -> list[Expr]:
    """96 bits of 2/pi, from the first one that matters for such a float on."""
    start = k.let("start", function("max", ((bits >> 23) & 0xFF).to(I32) - 120, 0))
    block, by = k.let("block", start >> 5), k.let("by", (start & 31).to(U32))
    words = []
    for i in range(4):
        word = number(int(TWO_OVER_PI[_BLOCKS - 1 + i]), U32)
        for b in range(_BLOCKS - 1):
            word = select(block.eq(b), number(int(TWO_OVER_PI[b + i]), U32), word)
        words.append(k.let("word", word))
    return [k.let("window", (here << by) | (after >> 1 >> (31 - by))) for here, after in pairwise(words)]


def _carry(total: Expr, addend: Expr) -> Expr:
    return select(total < addend, number(1, U32), number(0, U32))
