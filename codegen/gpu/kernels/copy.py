"""Strided copies: transposes, slices, padding; what they do not reach of a whole stays as it is."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import BOOL, I32, U32, Expr, GpuKernel, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.use import (
    GpuCall,
    UnsupportedError,
    groups_for,
    integer,
    integers,
    listed,
    numbered,
)
from edgekit.core.ops import Call
from edgekit.core.ops._strided import RANK

CALLS = ("copy",)


def use(call: Call) -> GpuCall:
    dtype = call.args[-1].type.dtype  # bits are bits: a float that is no number keeps them
    per, words = max(1, 4 // dtype.bytes), max(1, dtype.bytes // 4)  # elements of a word, or the reverse
    shape, of_y = listed(call, "n"), listed(call, "y")
    values = numbered(call, "n x") | integers(call, "x0 y0")
    total = 1
    for n in shape:
        total *= n
    if per == 1:
        values |= numbered(call, "y") | {"items": total}
        return GpuCall(_words(words), (0, 1), values, groups_for(total))
    # The element of y that belongs to a part of a word is found by division, from the longest stride down.
    order = sorted(range(RANK), key=lambda d: -of_y[d] if shape[d] > 1 else 0)
    sizes, steps_x, steps_y = ([list(v)[d] for d in order] for v in (shape, listed(call, "x"), of_y))
    reach = 1
    for n, step in reversed(list(zip(sizes, steps_y, strict=True))):
        if n > 1 and step < reach:
            raise UnsupportedError("copies that write an element twice")
        reach += (n - 1) * step
    for d in range(RANK):
        values |= {f"n_{d}": sizes[d], f"x_{d}": steps_x[d], f"y_{d}": max(steps_y[d], 1)}
    first = integer(call, "y0")
    values |= {"first": first // per, "items": (first + reach - 1) // per - first // per + 1}
    return GpuCall(_parts(per), (0, 1), values, groups_for(int(values["items"])))


@cache
def _words(count: int) -> GpuKernel:
    """Of elements that are so many words."""
    k = KernelBuilder({1: "copy_words", 2: "copy_pairs"}[count])
    x, y = k.buffer("x", U32), k.buffer("y", U32, writes=True)
    items, x0, y0 = k.constants("items x0 y0")
    with k.when(k.item < items):
        rest, of_x, of_y = k.item, x0, y0
        for d in reversed(range(RANK)):
            n = k.constant(f"n_{d}")
            at = k.let("at", rest % n)
            rest = k.let("rest", rest // n)
            of_x, of_y = of_x + at * k.constant(f"x_{d}"), of_y + at * k.constant(f"y_{d}")
        for w in range(count):
            k.store(y, of_y * count + w, x[of_x * count + w])
    return k.done()


@cache
def _parts(per: int) -> GpuKernel:
    """Of so many in a word. An item owns a word of y: parts of it that no element belongs to stay."""
    k = KernelBuilder({4: "copy_bytes", 2: "copy_halves"}[per])
    x, y = k.buffer("x", U32), k.buffer("y", U32, writes=True)
    bits, which, mask = 32 // per, per.bit_length() - 1, (1 << 32 // per) - 1
    items, first, x0, y0 = k.constants("items first x0 y0")
    with k.when(k.item < items):
        at = k.let("at", first + k.item)
        word = k.var("word", y[at])
        with k.loop("lane", 0, per) as lane:
            rest: Expr = k.let("rest", at * per + lane - y0)
            is_mine, source = rest >= 0, x0
            for d in range(RANK):
                n, step = k.constant(f"n_{d}"), k.constant(f"y_{d}")
                # Of a dimension of one element, the stride says nothing.
                index = k.let("index", select(n > 1, rest // step, number(0, I32)))
                rest = k.let("rest", rest - index * step)
                is_mine = is_mine & (index < n)
                source = source + index * k.constant(f"x_{d}")
            is_mine = k.let("is_mine", is_mine & rest.eq(0))
            assert is_mine.kind == BOOL, "a condition"
            with k.when(is_mine):
                source = k.let("source", source)
                part = (x[source >> which] >> ((source & (per - 1)) * bits)) & mask
                k.set(word, (word & ~(number(mask, U32) << (lane * bits))) | (part << (lane * bits)))
        k.store(y, at, word)
    return k.done()
