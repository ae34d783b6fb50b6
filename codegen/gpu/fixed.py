"""The requantization rules in 32-bit integers: the third spelling of edgekit/core/fixed.py and fixed.h.

Products of 64 bits are a high and a low word. All of it works on four numbers at once, too.
"""

from __future__ import annotations

from edgekit.codegen.gpu.ast import Expr, Kind, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder

RULES = ("e", "e_wide", "tfl", "tfl_wide", "once")
_MAX_MAGNITUDE = 1 << 30  # what is further from zero than this is outside of every result


def requantized(k: KernelBuilder, rule: str, acc: Expr, m: Expr, e: Expr) -> Expr:
    """Sums as integers of the result, before its zero point is added: by multiplier and exponent."""
    match rule:
        case "e":  # 33 <= e <= 54: the low word never matters
            down = (e - 33).to(_unsigned(acc))
            return (function("mulhi", acc, m) + (_one(acc) << down)) >> (down + 1)
        case "e_wide":
            return _rounded(k, *_product(k, acc, m), e)
        case "tfl" | "tfl_wide":
            y = _tfl(k, acc, m, e)
            return _within(y) if rule == "tfl_wide" else y
        case "once":
            high, low = _product(k, acc, m)
            high, low = _added(k, high, low, high >> 31)
            return _rounded(k, high, low, 31 - e)
    raise AssertionError(f"no rule {rule}")


def high_product(k: KernelBuilder, a: Expr, b: Expr) -> Expr:
    """(a b + 2^30) >> 31."""
    high, low = _product(k, a, b)
    low2 = k.let("low", low + (1 << 30))
    carry = select(low2 < low, number(1, a.kind), number(0, a.kind))
    return ((high + carry) << 1) | (low2 >> 31).bits(a.kind)


def shift_away(k: KernelBuilder, x: Expr, by: Expr) -> Expr:
    """x / 2^by, halves away from zero, 0 <= by <= 31."""
    moved = k.let("moved", x + (x >> 31))
    half = function("max", by - 1, number(0, by.kind)).to(_unsigned(x))
    return select(by.eq(0), x, ((moved >> half) + 1) >> 1)


def rounded_product(k: KernelBuilder, a: Expr, b: Expr, shift: Expr) -> Expr:
    """(a b + 2^(shift - 1)) >> shift, cut off at 30 bits."""
    return _rounded(k, *_product(k, a, b), shift)


def _tfl(k: KernelBuilder, acc: Expr, m: Expr, e: Expr) -> Expr:
    up = function("max", e, number(0, e.kind)).to(_unsigned(acc))
    high = k.let("y", high_product(k, k.let("scaled", acc << up), m))
    return shift_away(k, high, function("max", -e, number(0, e.kind)))


def _product(k: KernelBuilder, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """a b in 64 bits."""
    unsigned = _unsigned(a)
    high = k.let("high", function("mulhi", a, b))
    return high, k.let("low", a.bits(unsigned) * b.bits(unsigned))


def _added(k: KernelBuilder, high: Expr, low: Expr, sign: Expr) -> tuple[Expr, Expr]:
    """Less one, where sign is -1 and not 0."""
    borrow = select(low.eq(0), sign, number(0, sign.kind))
    return k.let("high", high + borrow), k.let("low", low + sign.bits(low.kind))


def _rounded(k: KernelBuilder, high: Expr, low: Expr, shift: Expr) -> Expr:
    """(the number + 2^(shift - 1)) >> shift, 1 <= shift <= 62; what leaves 30 bits is cut off there."""
    unsigned = low.kind
    down = k.let("down", (shift - 1).to(unsigned))
    far = down >= 32
    rest = down & 31
    crossed = select(rest.eq(0), number(0, unsigned), high.bits(unsigned) << ((32 - rest) & 31))
    near_low = (low >> rest) | crossed
    down_high = k.let("high", select(far, high >> 31, high >> rest))
    down_low = k.let("low", select(far, (high >> rest).bits(unsigned), near_low))
    more = k.let("low", down_low + 1)
    carry = select(more.eq(0), number(1, high.kind), number(0, high.kind))
    top = k.let("high", down_high + carry)
    y = k.let("y", (more >> 1).bits(high.kind) | (top << 31))
    fits = (top >> 1).eq(y >> 31)
    end = select(top < 0, number(-_MAX_MAGNITUDE, y.kind), number(_MAX_MAGNITUDE, y.kind))
    return select(fits, _within(y), end)


def _within(y: Expr) -> Expr:
    return function("min", function("max", y, -_MAX_MAGNITUDE), _MAX_MAGNITUDE)


def _unsigned(x: Expr) -> Kind:
    return Kind("u32", x.kind.lanes)


def _one(x: Expr) -> Expr:
    return number(1, x.kind)


def clamped(y: Expr, lo: Expr | int, hi: Expr | int) -> Expr:
    return function("min", function("max", y, lo), hi)
