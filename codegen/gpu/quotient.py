"""Quotients and square roots of floats, rounded as IEEE 754 says.

Languages for GPUs promise less, and devices take subnormal numbers for 0.
"""

from __future__ import annotations

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder

INFINITE = 0x7F800000  # the bits of the infinite float
LIFT = 100
TINY = (127 - LIFT) << 23  # of 2^-100: beside a number that is larger, no subnormal one matters
_DIGITS = 25  # of a quotient behind the first one: two more than those of a float
_DOUBT = 6  # of its last digits, when the device has divided: 16 ULP each way


def quotient(k: KernelBuilder, a: Expr, b: Expr, down: Expr | int = 0) -> Expr:
    """The bits of a / b / 2^down, of the bits of positive finite floats. It rounds to the nearest, halves to
    even."""
    of_a, up = _parts(k, a)
    of_b, of_exponent = _parts(k, b)
    is_less = k.let("is_less", of_a < of_b)
    first = k.let("numerator", select(is_less, of_a << 1, of_a))
    exponent = k.let(
        "exponent", up - of_exponent + 127 - down - select(is_less, number(1, I32), number(0, I32))
    )
    # The device divides roughly. What is left then is small, so that 32 bits hold it, though not the product.
    rough = k.let("rough", first.to(F32) / of_b.to(F32) * 2.0**_DIGITS)
    digits = k.var("digits", rough.to(U32) - (1 << _DOUBT))
    rest = k.var("rest", (first << _DIGITS) - digits * of_b)
    for place in reversed(range(_DOUBT + 1)):
        part = k.let("part", of_b << place)
        fits = k.let("fits", rest >= part)
        k.set(rest, select(fits, rest - part, rest))
        k.set(digits, select(fits, digits + (1 << place), digits))
    exact = k.let("exact", digits | select(rest > 0, number(1, U32), number(0, U32)))
    # What has no place: two digits, and more of a result that is subnormal.
    drop = k.let("drop", function("min", 2 + function("max", 1 - exponent, 0), 31).to(U32))
    half = (number(1, U32) << (drop - 1)) - 1
    rounded = k.let("rounded", (exact + half + ((exact >> drop) & 1)) >> drop)
    whole = (function("max", exponent - 1, 0).to(U32) << 23) + rounded
    return select(exponent >= 255, number(INFINITE, U32), whole)


def divided(k: KernelBuilder, a: Expr, b: Expr) -> Expr:
    """a / b: where one of them is 0 or not finite, as the device divides."""
    of_a, of_b = (k.let("size", x.bits(U32) & 0x7FFFFFFF) for x in (a, b))
    is_usual = (of_a > 0) & (of_b > 0) & (of_a < INFINITE) & (of_b < INFINITE)
    one = number(0x3F800000, U32)
    size = quotient(k, *(k.let("usual", select(is_usual, of, one)) for of in (of_a, of_b)))
    sign = (a.bits(U32) ^ b.bits(U32)) & 0x80000000
    return select(is_usual, (size | sign).bits(F32), a / b)


def root(k: KernelBuilder, x: Expr) -> Expr:
    """The square root of a normal float above 0; of others, as the device has it."""
    bits = k.let("bits", x.bits(U32))
    field = k.let("field", (bits >> 23).to(I32))
    digits = k.let("digits", (bits & 0x7FFFFF) | 0x800000)
    is_odd = k.let("is_odd", (field & 1).eq(0))  # the exponent is the field less 127
    left = k.var("left", select(is_odd, digits << 8, digits << 7))
    rest, found = k.var("rest", number(0, U32)), k.var("found", number(0, U32))
    with k.loop("digit", 0, 25):
        k.set(rest, (rest << 2) | (left >> 30))
        k.set(left, left << 2)
        trial = k.let("trial", (found << 2) | 1)
        fits = k.let("fits", rest >= trial)
        k.set(rest, select(fits, rest - trial, rest))
        k.set(found, (found << 1) | select(fits, number(1, U32), number(0, U32)))
    # 25 digits: the last one rounds, and is never half of one.
    rounded = k.let("rounded", (found + 1) >> 1)
    exponent = ((field - 127 - select(is_odd, number(1, I32), number(0, I32))) >> 1) + 126
    y = ((exponent.to(U32) << 23) + rounded).bits(F32)
    return select((field > 0) & (bits < INFINITE), y, function("sqrt", x))


def lifted(k: KernelBuilder, bits: Expr) -> Expr:
    """A float below 2^-100, also a subnormal one, times 2^100."""
    size = k.let("size", bits & 0x7FFFFFFF)
    normal = (size + (LIFT << 23)).bits(F32)
    subnormal = size.to(F32) * 2.0 ** (LIFT - 149)
    up = k.let("up", select(size < 1 << 23, subnormal, normal))
    return select(bits >> 31 > 0, -up, up)


def _parts(k: KernelBuilder, bits: Expr) -> tuple[Expr, Expr]:
    """The 24 digits of a float, and its exponent, also of a subnormal one."""
    field = k.let("field", bits >> 23)
    digits = k.let("digits", (bits & 0x7FFFFF) | select(field > 0, number(1 << 23, U32), number(0, U32)))
    up = k.let("up", function("clz", digits) - 8)
    return k.let("digits", digits << up), function("max", field.to(I32), 1) - up.to(I32)
