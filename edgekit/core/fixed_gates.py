"""Gates of recurrent layers, rule E: sums in units of 2^-12 become sigmoid and tanh in Q0.15, by one table.

The C twin is runtime_c/include/edgekit/gates.h.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.core.fixed import Int, rule_e

SUM_UNIT = 2.0**-12
_MAX_SUM = 2**15 - 1  # symmetric: its magnitude has 15 bits
MAX_INNER = 2**16 - 1  # what a reset gate scales: one bit more, so that the product fits into 32
# tanh at multiples of 1/32, from 0 to 8. Between them lines: less than 4 units off.
TANH = np.floor(2.0**15 * np.tanh(np.arange(257) / 32) + 0.5).clip(max=2**15 - 1).astype(np.int16)


def rule_of_16_bits(ratio: float) -> tuple[int, int]:
    """Multiplier and shift for numbers of 16 bits, products fit into 32: m < 2^15, 1 <= shift <= 30."""
    multipliers, shift = rule_e(np.asarray(ratio, np.float64), 15)
    multiplier = int(multipliers)
    if shift > 30:
        multiplier, shift = int(np.floor(ratio * 2.0**30 + 0.5)), 30
    return multiplier, shift


def scaled(x: Int, multiplier: int, shift: int) -> Int:
    """Numbers of 16 bits by such a rule."""
    return (x * multiplier + (1 << (shift - 1))) >> shift


def saturated(x: Int) -> Int:
    """A sum as a gate takes it."""
    result: Int = np.minimum(np.maximum(x, -_MAX_SUM), _MAX_SUM)  # for a few numbers faster than clip
    return result


def within_16_bits(x: Int) -> Int:
    result: Int = np.minimum(np.maximum(x, -(2**15)), 2**15 - 1)
    return result


def tanh(x: Int) -> Int:
    """tanh of a saturated sum."""
    result: Int = _of_all_sums()[0][x]
    return result


def sigmoid(x: Int) -> Int:
    """(1 + tanh(x / 2)) / 2 of a saturated sum."""
    result: Int = _of_all_sums()[1][x]
    return result


@cache
def _of_all_sums() -> tuple[Int, Int]:
    """tanh and sigmoid, where those of negative sums are at the end, as numpy counts."""
    sums = np.concatenate([np.arange(_MAX_SUM + 1), np.arange(-_MAX_SUM, 0)])
    return _tanh(sums), _sigmoid(sums)


def _tanh(x: Int) -> Int:
    a, table = np.abs(x), TANH.astype(np.int64)
    i = a >> 7
    y = table[i] + (((table[i + 1] - table[i]) * (a & 127) + 64) >> 7)
    result: Int = np.where(x < 0, -y, y)
    return result


def _sigmoid(x: Int) -> Int:
    a, table = np.abs(x), TANH.astype(np.int64)
    i = a >> 8
    half = ((table[i] << 8) + (table[i + 1] - table[i]) * (a & 255) + 256) >> 9
    result: Int = (1 << 14) + np.where(x < 0, -half, half)
    return result


def as_sum(c: Int, bits: int) -> Int:
    """Numbers of 16 bits, so many of them before the point, in units of sums."""
    if bits >= 3:
        return saturated(c << (bits - 3))
    return saturated((c + (1 << (2 - bits))) >> (3 - bits))
