"""Sums by TFLite's rule as sums of products, where that is proven to give the same integers.

TFLite rounds both operands and their sum, each in 64 bits. There are 65,536 pairs of int8, so that one can
try them all: y = (first a + second b + constant) >> shift gives the same for the right numbers of 32 bits,
nearly always.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from edgekit.core import fixed
from edgekit.core.ops import Call
from edgekit.core.types import Array

_NEAR = (0, 1, -1, 2, -2, 3, -3)  # what is tried beside the nearest factors
_NEAR_PAIRS = sorted(product(_NEAR, _NEAR), key=lambda pair: abs(pair[0]) + abs(pair[1]))
_PARAMS = (
    *("a_zero", "a_multiplier", "a_exponent", "b_zero", "b_multiplier", "b_exponent", "sign"),
    *("multiplier", "exponent", "zero", "lo", "hi"),
)


def as_affine(call: Call) -> Call | None:
    """The call of an add_s8 kernel as one of affine_s8, if there are numbers for it."""
    numbers = _factors(tuple(_number(call, name) for name in _PARAMS))
    if numbers is None:
        return None
    kept = {name: call.params[name] for name in ("n", "sa", "sb", "a0", "b0", "y0", "lo", "hi")}
    return replace(call, kernel="affine_s8", label="affine_s8", params={**kept, **numbers})


@lru_cache(maxsize=1024)  # builds of one model for several targets ask for the same sums
def _factors(params: tuple[int, ...]) -> Mapping[str, int] | None:
    """The factors, constant and shift of a sum by TFLite's rule, if there are any."""
    a_zero, a_multiplier, a_exponent, b_zero, b_multiplier, b_exponent, sign, *result = params
    multiplier, exponent, zero, low, high = result
    a, b = np.arange(-128, 128)[:, None], np.arange(-128, 128)[None, :]
    parts = [
        fixed.mbqm((a - a_zero) << 20, a_multiplier, a_exponent),
        fixed.mbqm((b - b_zero) << 20, b_multiplier, b_exponent),
    ]
    wanted = (zero + fixed.mbqm(parts[0] + sign * parts[1], multiplier, exponent)).clip(low, high)
    last = multiplier * 2.0 ** (exponent - 31)
    ratios = [
        last * 2.0**20 * a_multiplier * 2.0 ** (a_exponent - 31),
        last * sign * 2.0**20 * b_multiplier * 2.0 ** (b_exponent - 31),
    ]
    exact = ratios[0] * a + ratios[1] * b
    lowest, highest = _End.of(wanted, exact, wanted > low), _End.of(wanted, -exact, wanted < high)
    for shift in range(24, 15, -1):  # the finest first whose sums have 32 bits
        nearest = [round(ratio * 2.0**shift) for ratio in ratios]
        if 128 * sum(map(abs, nearest)) >= 2**31:
            continue
        off = 128 * 2 * (max(_NEAR) + 1) * 2.0**-shift  # how far sums are from the exact ones, at most
        lower, upper = lowest.within(2 * off), highest.within(2 * off)
        for one, other in _NEAR_PAIRS:
            first, second = nearest[0] + one, nearest[1] + other
            least = ((lower.wanted << shift) - lower.sums(first, second)).max(initial=-(2**40))
            most = (((upper.wanted + 1) << shift) - 1 - upper.sums(first, second)).min(initial=2**40)
            constant = int((least + most) // 2)
            if least <= most and _fits(first, second, constant):
                return {"first": first, "second": second, "constant": constant, "shift": shift}
    return None


@dataclass(frozen=True)
class _End:
    """What is wanted of each pair of operands, and how far its exact sum is from the least of all sums that
    want the same. For factors near the exact ratios, all others follow from the pairs that are least, or
    nearly."""

    wanted: Array
    distance: Array  # infinite where nothing binds

    @classmethod
    def of(cls, wanted: Array, exact: Array, where: Array) -> _End:
        kind = wanted - wanted.min()
        least = np.full(kind.max() + 1, np.inf)
        np.minimum.at(least, kind.ravel(), exact.ravel())
        return cls(wanted, np.where(where, exact - least[kind], np.inf))

    def within(self, distance: float) -> _Pairs:
        a, b = np.nonzero(self.distance <= distance)
        return _Pairs(a - 128, b - 128, self.wanted[a, b])


@dataclass(frozen=True)
class _Pairs:
    """Pairs of operands, and what is wanted of each."""

    a: Array
    b: Array
    wanted: Array

    def sums(self, first: int, second: int) -> Array:
        sums: Array = first * self.a + second * self.b
        return sums


def _number(call: Call, name: str) -> int:
    value = call.params[name]
    assert isinstance(value, int)
    return value


def _fits(first: int, second: int, constant: int) -> bool:
    """Do all sums have 32 bits, in whatever order they are made?"""
    return 128 * (abs(first) + abs(second)) + abs(constant) < 2**31
