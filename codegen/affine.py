"""Sums by TFLite's rule as sums of products, where that is proven to give the same integers.

TFLite rounds both operands and their sum, each in 64 bits. There are 65,536 pairs of int8, so that one can
try them all: y = (first a + second b + constant) >> shift gives the same for the right numbers of 32 bits,
nearly always.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from edgekit import fixed
from edgekit.ir import Array
from edgekit.ops import Call

_NEAR = (0, 1, -1, 2, -2, 3, -3)  # what is tried beside the nearest factors


def as_affine(call: Call) -> Call | None:
    """The call of an add_s8 kernel as one of affine_s8, if there are numbers for it."""
    names = ("a_zero", "b_zero", "sign", "multiplier", "exponent", "zero", "lo", "hi")
    a_zero, b_zero, sign, multiplier, exponent, zero, low, high = (_number(call, name) for name in names)
    a, b = np.arange(-128, 128)[:, None], np.arange(-128, 128)[None, :]
    parts = [
        fixed.mbqm((x - z) << 20, _number(call, f"{letter}_multiplier"), _number(call, f"{letter}_exponent"))
        for x, z, letter in ((a, a_zero, "a"), (b, b_zero, "b"))
    ]
    wanted = (zero + fixed.mbqm(parts[0] + sign * parts[1], multiplier, exponent)).clip(low, high)
    last = multiplier * 2.0 ** (exponent - 31)
    ratios = [
        last * factor * 2.0**20 * _number(call, f"{letter}_multiplier")
        * 2.0 ** (_number(call, f"{letter}_exponent") - 31)
        for letter, factor in (("a", 1), ("b", sign))
    ]  # fmt: skip
    for first, second, shift in _candidates(ratios):
        constant = _constant(first * a + second * b, wanted, shift, low, high)
        if constant is not None and _fits(first, second, constant):
            kept = {name: call.params[name] for name in ("n", "sa", "sb", "a0", "b0", "y0", "lo", "hi")}
            numbers = {"first": first, "second": second, "constant": constant, "shift": shift}
            return replace(call, kernel="affine_s8", name="", label="affine_s8", params={**kept, **numbers})
    return None


def _number(call: Call, name: str) -> int:
    value = call.params[name]
    assert isinstance(value, int)
    return value


def _candidates(ratios: list[float]) -> Iterator[tuple[int, int, int]]:
    """Factors and their shift, the finest first whose sums have 32 bits."""
    for shift in range(24, 15, -1):
        first, second = (round(ratio * 2.0**shift) for ratio in ratios)
        if 128 * (abs(first) + abs(second)) < 2**31:
            for one, other in sorted(product(_NEAR, _NEAR), key=lambda pair: abs(pair[0]) + abs(pair[1])):
                yield first + one, second + other, shift


def _constant(sums: Array, wanted: Array, shift: int, low: int, high: int) -> int | None:
    """One that brings all sums to what is wanted of them."""
    least = np.where(wanted > low, (wanted << shift) - sums, -(2**40)).max()
    most = np.where(wanted < high, ((wanted + 1) << shift) - 1 - sums, 2**40).min()
    return int((least + most) // 2) if least <= most else None


def _fits(first: int, second: int, constant: int) -> bool:
    """Do all sums have 32 bits, in whatever order they are made?"""
    return 128 * (abs(first) + abs(second)) + abs(constant) < 2**31
