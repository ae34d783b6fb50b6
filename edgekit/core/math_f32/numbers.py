"""What the functions share: bits of floats, powers of two, and the constants of the C headers."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from edgekit.core.types import Array

_POLYNOMIAL = re.compile(r"static inline float ek_(\w+)_poly_f32\(float \w+\)\n\{\n(.*?)\n\}", re.DOTALL)
_FIXED = re.compile(r"static inline u?int32_t ek_(\w+)_poly\(u?int32_t \w+\)\n\{\n(.*?)\n\}", re.DOTALL)
_TABLE = re.compile(r"ek_(\w+)\(uint32_t i\)\n\{\n    static const \w+ \w+\[\d+\] = \{(.*?)\};", re.DOTALL)
_ADDEND = re.compile(r"(?:p =|([+-])) (-?\d[\d.e+-]*)[fu]?;")

LN2_HIGH, LN2_LOW, LOG2_E = (np.float32(c) for c in (0.693145752, 1.42860677e-06, 1.44269502))


@cache
def _header() -> str:
    path = files("edgekit.runtime_c") / "include" / "edgekit" / "math" / "math_poly_f32.h"
    return path.read_text(encoding="utf-8")


@cache
def _coefficients(pattern: re.Pattern[str]) -> dict[str, list[str]]:
    """The numbers of each polynomial, that of the highest power first."""
    return {
        name: [("-" if sign == "-" else "") + number for sign, number in _ADDEND.findall(body)]
        for name, body in pattern.findall(_header())
    }


def coefficients(name: str) -> tuple[float, ...]:
    """Of the polynomial of that name, that of the highest power first."""
    return tuple(float(np.float32(c)) for c in _coefficients(_POLYNOMIAL)[name])


def poly(name: str, x: Array) -> Array:
    """The polynomial of that name, by Horner's rule."""
    first, *rest = (np.float32(c) for c in coefficients(name))
    p: Array = np.full_like(x, first)
    for c in rest:
        p = p * x + c
    return p


def fixed_poly(name: str, x: Array, bits: int | np.uint64) -> Array:
    """The same in integers, x in units of 2^-bits."""
    first, *rest = (int(c) for c in _coefficients(_FIXED)[name])
    p: Array = np.full_like(x, first)
    for c in rest:
        p = (p * x >> bits) + c
    return p


@cache
def table(name: str) -> Array:
    """The table of integers of that name."""
    return np.array([int(c) for c in dict(_TABLE.findall(_header()))[name].split(",")], np.int64)


def bits(x: Array) -> Array:
    return x.view(np.uint32)


def floats(u: Array) -> Array:
    """Of these bits."""
    return u.astype(np.uint32, copy=False).view(np.float32)


def select(condition: Array, x: Array | float, y: Array | float) -> Array:
    """x where the condition holds, else y; numbers become float32."""
    yes, no = (v if isinstance(v, np.ndarray) else np.float32(v) for v in (x, y))
    result: Array = np.where(condition, yes, no)
    return result


def pow2(n: Array) -> Array:
    """2^n for -127 <= n <= 128; 0 and infinity at the ends."""
    return floats((n + 127) << 23)


def split(x: Array) -> Array:
    """The leading 12 bits of the significand: products of two such are exact."""
    return floats(bits(x) & np.uint32(0xFFFFF000))


def scale(x: Array, n: Array) -> Array:
    """x 2^n with one rounding, also where the result is subnormal."""
    half = ((n + 256) >> 1) - 128
    y: Array = x * pow2(half) * pow2(n - half)
    return y


def nearest(x: Array) -> Array:
    """The whole number nearest to x, for |x| < 2^22."""
    return (bits(x + np.float32(12582912.0)) - np.uint32(0x4B400000)).view(np.int32)


def single(x: Any) -> Array:
    return np.asarray(x, np.float32)
