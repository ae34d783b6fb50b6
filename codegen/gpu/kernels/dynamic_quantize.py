"""Dynamic quantization of a tensor as a whole, over the range of it and 0: the bits of the simulator.

Each work-group finds the range of all numbers, and stores a part of the bytes: no kernel waits for another
one. Quotients are computed as integers.
"""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import store_word
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.kernels import _rows
from edgekit.codegen.gpu.quotient import INFINITE, LIFT, TINY, lifted, quotient
from edgekit.codegen.gpu.use import GpuCall, groups_for, integer
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("dynamic_quantize",)
_GROUPS = 32  # at most: all of them read all numbers
_ONE, _BYTES = 0x3F800000, 0x437F0000  # the bits of 1.0 and 255.0


def use(call: Call) -> GpuCall:
    n = integer(call, "n")
    words = -(-n // 4)
    groups = min(_GROUPS, groups_for(words))
    values: dict[str, float] = {"n": n, "words": words, "part": -(-words // groups)}
    return GpuCall(_kernel(), (0, 1, 2, 3), values, groups)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("dynamic_quantize")
    x, y = k.buffer("x", U32), k.buffer("y", U32, writes=True)
    scale, zero = (k.buffer(name, U32, writes=True) for name in ("scale", "zero"))
    parts = k.shared("parts", U32, GROUP)
    n, words, part = k.constants("n words part")

    def furthest(is_negative: bool) -> Expr:
        """The bits of the largest magnitude on one side of 0. What is no number is left out."""

        def step(has: Expr, i: Expr) -> Expr:
            bits = k.let("bits", x[i])
            size = k.let("size", bits & 0x7FFFFFFF)
            counts = (size <= INFINITE) & (bits >> 31).eq(int(is_negative))
            return function("max", has, select(counts, size, number(0, U32)))

        own = _rows.over(k, n, number(0, I32), U32, 0, step)
        return _rows.combined(k, parts, own, lambda a, b: function("max", a, b))

    high, low = furthest(is_negative=False), furthest(is_negative=True)
    is_tiny = k.let("is_tiny", (high < TINY) & (low < TINY))
    plain = high.bits(F32) + low.bits(F32)
    range_bits = k.let("range", select(is_tiny, lifted(k, high) + lifted(k, low), plain).bits(U32))
    is_finite = k.let("is_finite", range_bits < INFINITE)
    has_range = k.let("has_range", (range_bits > 0) & is_finite)
    down = select(is_tiny, number(LIFT, I32), number(0, I32))
    dividend = k.let("dividend", select(has_range, range_bits, number(_ONE, U32)))
    smallest = k.let("smallest", quotient(k, dividend, number(_BYTES, U32), down))
    unit = k.let("unit", select(has_range & (smallest > 0), smallest, number(_ONE, U32)))

    def steps(size: Expr) -> Expr:
        """A magnitude in steps, a whole number."""
        counted = quotient(k, k.let("size", select(size.eq(0), number(_ONE, U32), size)), unit)
        return select(size.eq(0), number(0, F32), function("round", counted.bits(F32)))

    bounded = function("min", steps(k.let("least", select(is_finite, low, number(0, U32)))), 255)
    offset = k.let("offset", bounded.to(I32))
    with k.when(k.item.eq(0)):
        k.store(scale, 0, select(is_finite, unit, number(INFINITE, U32)))
        k.store(zero, 0, offset.bits(U32))

    def code(i: Expr) -> Expr:
        bits = k.let("bits", x[i])
        size = k.let("size", bits & 0x7FFFFFFF)
        counts = k.let("counts", is_finite & (size < INFINITE))
        away = k.let("away", steps(k.let("counted", select(counts, size, number(0, U32)))).to(I32))
        moved = offset + select(bits >> 31 > 0, -away, away)
        return select(counts, clamped(moved, 0, 255), number(0, I32))

    first = k.let("first", k.group_number * part)
    with k.loop("w", first + k.within, function("min", first + part, words), GROUP) as w:
        store_word(k, y, DType.U8, w, n, code)
    return k.done()
