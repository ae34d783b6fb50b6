"""The rules of fixed.h give the integers of fixed.py on three million triples each, and those the exact ones.

A rule takes a sum or another number `a`, a multiplier or another number `b`, and a shift or an exponent `c`.
"""

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support import random_cases
from support.runtime_c import load_c, map_c

from edgekit.core import fixed, fixed_tfl
from edgekit.core.types import Array

COMPILERS = ("gcc", "clang")
CHUNK = 1 << 20
CHUNKS = random_cases.same(3)
EXACT = 15_000  # compared with Python's integers, of each rule
LEAST, MOST = -(2**31), 2**31 - 1
FAR = 2**30  # where rules saturate whose results are clamped to 8 or 16 bits


# What the rules mean, in integers without limits


def half_up(x: int, bits: int) -> int:
    """x / 2^bits to the nearest integer, halves upwards."""
    return (2 * x + (1 << bits)) >> (bits + 1)


def half_away(x: int, bits: int) -> int:
    """x / 2^bits to the nearest integer, halves away from zero."""
    return half_up(x, bits) if x >= 0 else -half_up(-x, bits)


def saturated(x: int, limit: int = FAR) -> int:
    return max(-limit, min(limit, x))


def wrapped(x: int) -> int:
    return (x - LEAST) % 2**32 + LEAST


def two_roundings(a: int, b: int, c: int) -> int:
    return half_away(half_up(wrapped(a << max(c, 0)) * b, 31), max(-c, 0))


def high_product(a: int, b: int, c: int) -> int:
    return min(half_up(a * b, 31), MOST)


# Numbers


def magnitudes(bits: int) -> Array:
    """0, powers of two and what is next to them, of both signs."""
    powers = 2 ** np.arange(bits, dtype=np.int64)
    found: Array = np.unique(np.concatenate([powers - 1, powers, powers + 1, [3, 5, 7, 2**bits - 1]]))
    found = found[found < 2**bits]
    return np.unique(np.concatenate([-found, found, [-(2**bits)]]))


@dataclass(frozen=True)
class Rule:
    """A rule in C (by name), in numpy, and in exact integers, with the ranges of its operands."""

    name: str
    compute: Callable[[Array, Array, Array], Array]
    exact: Callable[[int, int, int], int]
    shifts: tuple[int, int]
    acc_bits: int = 31
    bits: int = 31  # of the multiplier
    signed: bool = False  # is the multiplier?

    def extremes(self) -> tuple[Array, Array, Array]:
        """Every extreme sum with every extreme multiplier and every shift."""
        b = magnitudes(self.bits)
        b = b if self.signed else b[b >= 0]
        grid = np.meshgrid(magnitudes(self.acc_bits), b, np.arange(self.shifts[0], self.shifts[1] + 1))
        return tuple(axis.reshape(-1) for axis in grid)  # type: ignore[return-value]  # three of them

    def random(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Magnitudes from all powers of two; half of the multipliers have all their bits, as most have."""
        a = _signs(rng) * _log_uniform(rng, self.acc_bits)
        b = _log_uniform(rng, self.bits)
        b = np.where(rng.random(CHUNK) < 0.5, b, rng.integers(2 ** (self.bits - 1), 2**self.bits, CHUNK))
        return a, _signs(rng) * b if self.signed else b, self._shifts(rng)

    def halves(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Sums whose quotients are as near to a half as the multiplier lets them be, or exactly one."""
        b = 2 ** rng.integers(0, self.bits, CHUNK) * (2 * _log_uniform(rng, 4) + 1)
        b = np.where(rng.random(CHUNK) < 0.5, b, _log_uniform(rng, self.bits)).clip(1, 2**self.bits - 1)
        c = self._shifts(rng)
        bits = c if self.shifts[0] >= 0 else 31 - c  # that the product loses
        half = 0.5 + _signs(rng) * _log_uniform(rng, 8)
        a = np.rint(np.ldexp(half, bits.astype(np.int32)) / b) + rng.integers(-1, 2, CHUNK)
        limit = 2.0**self.acc_bits
        return a.clip(-limit, limit - 1).astype(np.int64), b, c

    def _shifts(self, rng: np.random.Generator) -> Array:
        return rng.integers(self.shifts[0], self.shifts[1] + 1, CHUNK)


def _log_uniform(rng: np.random.Generator, bits: int) -> Array:
    found: Array = np.exp2(rng.uniform(0, bits, CHUNK)).astype(np.int64) - 1
    return found


def _signs(rng: np.random.Generator) -> Array:
    return rng.choice(np.array([-1, 1]), CHUNK)


def rule_e(limit: int) -> Callable[[Array, Array, Array], Array]:
    return lambda a, b, c: fixed.requantize_e(a, b, c, 0, -limit, limit)  # type: ignore[arg-type]  # shifts


RULES = (
    Rule("e", rule_e(2**31), lambda a, b, c: half_up(a * b, c), (33, 54)),
    Rule("e_wide", rule_e(FAR), lambda a, b, c: saturated(half_up(a * b, c)), (1, 32)),
    Rule("e_long", rule_e(FAR), lambda a, b, c: saturated(half_up(a * b, c)), (1, 54), acc_bits=40, bits=22),
    Rule("tfl", fixed.mbqm, two_roundings, (-31, 30)),
    Rule("once", fixed.mbqm_once, lambda a, b, c: saturated(half_away(a * b, 31 - c)), (-31, 30)),
    Rule("shift_away", lambda a, b, c: fixed.rdbpot(a, c), lambda a, b, c: half_away(a, c), (1, 31)),
    Rule("high_product", lambda a, b, c: fixed.srdhm(a, b), high_product, (0, 0), signed=True),
    Rule("product_above", lambda a, b, c: a * b >> c, lambda a, b, c: a * b >> c, (30, 32), acc_bits=30),
)


@pytest.fixture(scope="session")
def libraries(build_folder: Path) -> list[ctypes.CDLL]:
    """requantization.c by each compiler."""
    source = Path(__file__).parent / "requantization.c"
    return [load_c(source, build_folder, "-O2", compiler=compiler) for compiler in COMPILERS]


def triples(rule: Rule) -> Iterator[tuple[Array, Array, Array]]:
    """Extremes, halves and everything."""
    rng = np.random.default_rng(2026 + CHUNKS.start)
    yield rule.extremes()
    for i in CHUNKS:
        yield rule.halves(rng) if i % 2 else rule.random(rng)


def in_c(library: ctypes.CDLL, rule: Rule, a: Array, b: Array, c: Array) -> Array:
    wide = np.int64 if rule.acc_bits > 31 else np.int32
    return map_c(library, rule.name, np.int32, a.astype(wide), b.astype(np.int32), c.astype(np.int32))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_c_gives_the_integers_of_python(rule: Rule, libraries: list[ctypes.CDLL]) -> None:
    count = 0
    for a, b, c in triples(rule):
        # The one overflow of a high product: TFLite saturates it, and no multiplier is that low.
        lowest = (a == LEAST) & (b == LEAST)
        a, b, c = (operand[~lowest] for operand in (a, b, c))
        expected = rule.compute(a, b, c)
        for library, compiler in zip(libraries, COMPILERS, strict=True):
            found = in_c(library, rule, a, b, c)
            off = np.flatnonzero(found != expected)
            assert not off.size, (
                f"{compiler}: {rule.name}({a[off[0]]}, {b[off[0]]}, {c[off[0]]}) is {found[off[0]]} in C, "
                f"{expected[off[0]]} in Python, and {off.size} more"
            )
        count += a.size
    assert count > 0.95 * CHUNK * len(CHUNKS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_python_gives_the_exact_integers(rule: Rule) -> None:
    rng = np.random.default_rng(7)
    ties = 0
    for operands in (rule.extremes(), rule.halves(rng), rule.random(rng)):
        chosen = rng.choice(operands[0].size, min(EXACT // 3, operands[0].size), replace=False)
        a, b, c = (operand[chosen] for operand in operands)
        found = rule.compute(a, b, c)
        for *triple, y in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True):
            assert y == rule.exact(*triple), f"{rule.name}{tuple(triple)} is {y}, not {rule.exact(*triple)}"
        if rule.shifts[0] > 0:
            ties += int((((a * b) & ((1 << c) - 1)) == 1 << (c - 1)).sum())
    assert ties > 100 or rule.shifts[0] <= 0  # or the halves are none


def test_reciprocals(libraries: list[ctypes.CDLL]) -> None:
    rng = np.random.default_rng(0)
    extremes = magnitudes(31)
    a = np.concatenate([extremes[extremes >= 0], rng.integers(0, 2**31, 2 * CHUNK)])
    expected = fixed_tfl.reciprocal_of_one_plus(a)
    assert np.abs(expected - 2.0**31 / (1 + a / 2.0**31)).max() < 8
    for library in libraries:
        found = map_c(library, "reciprocal", np.int32, a.astype(np.int32), a, a)
        assert np.array_equal(found, expected)


def test_leading_zeros(libraries: list[ctypes.CDLL]) -> None:
    bits = 1 << np.arange(32)
    a = np.concatenate([bits, bits[1:] - 1, bits + 1])
    expected = [32 - int(x).bit_length() for x in a]
    for library in libraries:
        found = map_c(library, "leading_zeros", np.int32, a.astype(np.uint32).view(np.int32), a, a)
        assert found.tolist() == expected


def test_inverse_roots(libraries: list[ctypes.CDLL]) -> None:
    rng = np.random.default_rng(0)
    extremes = magnitudes(31)
    a = np.concatenate([extremes[extremes >= 0], _log_uniform(rng, 31)[:4000]])
    expected = fixed_tfl.inverse_square_root(a)
    roots = expected[0] / 2.0**31 * 2.0 ** expected[1]
    assert np.abs(roots * np.sqrt(np.maximum(a, 1)) - 1).max() < 2e-6
    for library in libraries:
        for i, name in enumerate(("inverse_sqrt", "inverse_sqrt_exponent")):
            assert np.array_equal(map_c(library, name, np.int32, a.astype(np.int32), a, a), expected[i])


@pytest.mark.parametrize(("name", "low", "high"), [("clamp_s8", -128, 127), ("clamp_s32", -(2**15), 2**15)])
def test_clamps(name: str, low: int, high: int, libraries: list[ctypes.CDLL]) -> None:
    rng = np.random.default_rng(0)
    y = np.concatenate([magnitudes(31), rng.integers(2 * low, 2 * high, CHUNK)]).astype(np.int32)
    lo = rng.integers(low, high + 1, y.size).astype(np.int32)
    hi = rng.integers(lo, high + 1).astype(np.int32)
    for library in libraries:
        assert np.array_equal(map_c(library, name, np.int32, y, lo, hi), y.clip(lo, hi))


def test_multipliers_are_the_nearest_to_the_ratios() -> None:
    """For both rules: as many bits as there are, and an error of half a unit at most."""
    rng = np.random.default_rng(0)
    near = np.nextafter(2.0 ** np.arange(-40, 20), [[0.0], [np.inf]]).reshape(-1)
    for r in np.concatenate([2.0 ** np.arange(-40.0, 20), near, np.exp2(rng.uniform(-40, 20, 20_000))]):
        m, e = (int(v) for v in fixed.quantize_multiplier(r))
        if r >= 2.0**-31:
            assert 2**30 <= m < 2**31
            assert abs(m - r * 2.0 ** (31 - e)) <= 0.5
        if r < 2.0**-33:
            assert (m, e) == (0, 0)
        if 2.0**-24 <= r < 2.0**28:
            multiplier, shift = fixed.rule_e(np.array([r]))
            assert 2**29 <= multiplier[0] < 2**31
            assert abs(multiplier[0] - r * 2.0**shift) <= 0.5
