"""Attention to the filled rows of a cache of int8: the bits of the simulator.

A work-group has a query. It takes 64 keys at a time: an item has the weight of one of them, and afterwards,
of the weighted sum of values, every 64th element. Sums are integers, and what joins them is exact.
"""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuKernel, dot4, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import elements, indices
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.quotient import quotient
from edgekit.codegen.gpu.use import GpuCall, integer, integers, real
from edgekit.core.ops import Call
from edgekit.core.ops.attention import LAST
from edgekit.core.ops.quantized_attention import FRACTION, LARGEST, MAX_SCORE, POWERS
from edgekit.core.types import DType

CALLS = ("cached_attention_s8",)
_ONE = 0x3F800000  # the bits of 1.0


def use(call: Call) -> GpuCall:
    heads, queries, size = (integer(call, name) for name in ("heads", "queries", "size"))
    window = integer(call, "window")
    has_fours = size % 4 == 0
    values = integers(call, "repeat queries keys values") | {"scale": real(call, "scale")}
    values |= {"most": window or integer(call, "keys"), "width": size // 4 if has_fours else size}
    pieces = -(-integer(call, "values") // GROUP)
    kernel = _kernel(call.types["I"], has_fours, pieces, bool(window))
    return GpuCall(kernel, tuple(range(8)), values, heads * queries)


@cache
def _kernel(of_index: DType, has_fours: bool, pieces: int, has_window: bool) -> GpuKernel:
    """`pieces`: how many elements of a result an item has."""
    kind = f"{'_window' * has_window}{'_fours' * has_fours}_{of_index.value}"
    k = KernelBuilder(f"cached_attention_s8{kind}_{pieces}")
    q, q_scale = elements(k, "q", DType.S8), k.buffer("q_scale", F32)
    key, k_scale = elements(k, "k", DType.S8), k.buffer("k_scale", F32)
    v, v_scale = elements(k, "v", DType.S8), k.buffer("v_scale", U32)
    at, y = indices(k, "at", of_index), k.buffer("y", F32, writes=True)
    repeat, queries, keys, values, most, width = k.constants("repeat queries keys values most width")
    exponents, ups, weights, factors = (
        k.shared(name, I32, GROUP) for name in ("exponents", "ups", "weights", "factors")
    )
    filled = k.shared("filled", I32, 1)

    query = k.let("query", k.group_number)
    head_row = k.let("row", query // queries // repeat * keys)
    last = k.let("last", clamped(at[query % queries], 0, LAST))
    seen = k.let("seen", select(last < most, last + 1, most))
    first = k.let("first", (last - (seen - 1)) % keys if has_window else number(0, I32))
    before = k.let("before", function("min", seen, keys - first))  # up to the end of a ring
    blocks = k.let("blocks", (before + (GROUP - 1)) // GROUP)
    k.store(filled, 0, blocks + (seen - before + (GROUP - 1)) // GROUP)
    end = k.uniform("end", filled)
    factor = k.let("factor", q_scale[query] * k.constant("scale", F32))
    top = k.var("top", number(-MAX_SCORE, I32))
    total = k.var("total", number(0, F32))
    results = [k.var("result", number(0, F32)) for _ in range(pieces)]

    with k.loop("block", 0, end) as block:
        is_behind = k.let("is_behind", block >= blocks)
        begin = k.let("begin", select(is_behind, block - blocks, block) * GROUP)
        count = k.let("count", function("min", select(is_behind, seen - before, before) - begin, GROUP))
        start = k.let("start", head_row + select(is_behind, begin, first + begin))
        is_seen = k.let("is_seen", k.within < count)
        own = k.let("own", start + function("min", k.within, count - 1))
        dot = k.var("dot", number(0, I32))
        with k.loop("c", 0, width) as c:
            if has_fours:
                k.set(dot, dot4(q.buffer[query * width + c], key.buffer[own * width + c], dot))
            else:
                k.set(dot, dot + q[query * width + c] * key[own * width + c])
        score = _score(k, dot, k_scale[own], factor)
        bits = k.let("bits", v_scale[own])
        exponent = k.let("exponent", score >> FRACTION)
        k.store(exponents, k.within, select(is_seen, exponent, number(-MAX_SCORE, I32)))
        k.store(ups, k.within, ((bits >> 23) & 255).to(I32))
        k.barrier()
        highest, up = k.var("highest", exponents[number(0, I32)]), k.var("up", ups[number(0, I32)])
        with k.loop("other", 1, count) as other:
            k.set(highest, function("max", highest, exponents[other]))
            k.set(up, function("max", up, ups[other]))
        down = k.let("down", function("min", highest - exponent, 31).to(U32))
        weight = k.let("weight", select(is_seen, ((_power(k, score) >> down) + 1) >> 1, number(0, I32)))
        drop = k.let("drop", function("min", up + 9 - ((bits >> 23) & 255).to(I32), 31).to(U32))
        ratio = k.let("ratio", (((bits & 0x7FFFFF) | 0x800000) >> drop).to(I32))
        k.store(weights, k.within, weight)
        k.store(factors, k.within, (weight * ratio + (1 << 14)) >> 15)
        k.barrier()
        above = k.let("above", function("max", top, highest))
        shrink = k.let("shrink", _pow2(top - above).bits(F32))
        grow = k.let("grow", select(up.eq(255), up << 23, _pow2(up - (126 + FRACTION) + highest - above)))
        k.set(top, above)
        whole = k.var("whole", number(0, I32))
        sums = [k.var("sum", number(0, I32)) for _ in results]
        places = [
            k.let("place", function("min", k.within + piece * GROUP, values - 1)) for piece in range(pieces)
        ]
        with k.loop("i", 0, count) as i:
            k.set(whole, whole + weights[i])
            share = k.let("share", factors[i])
            for part, place in zip(sums, places, strict=True):
                k.set(part, part + share * v[(start + i) * values + place])
        unit = k.let("unit", _pow2(highest - above - FRACTION).bits(F32))
        k.set(total, total * shrink + whole.to(F32) * unit)
        for result, part in zip(results, sums, strict=True):
            k.set(result, result * shrink + _floats.nearest(part) * grow.bits(F32))
    part_of_one = k.let("part", quotient(k, number(_ONE, U32), total.bits(U32)).bits(F32))
    for piece, result in enumerate(results):
        place = k.let("place", k.within + piece * GROUP)
        with k.when(place < values):
            k.store(y, query * values + place, result * part_of_one)
    return k.done()


def _score(k: KernelBuilder, dot: Expr, scale: Expr, factor: Expr) -> Expr:
    """In whole units, within 30 bits."""
    product = k.let("product", dot.to(F32) * scale * factor)
    limited = function("max", function("min", product, float(MAX_SCORE)), float(-MAX_SCORE))
    return k.let("score", function("min", limited.to(I32), MAX_SCORE - 1))


def _power(k: KernelBuilder, score: Expr) -> Expr:
    """2 to the fraction of a score, of 16 bits."""
    part = k.let("fraction", score & ((1 << FRACTION) - 1))
    power = number(POWERS[-1], I32)
    for c in (*POWERS[-2::-1], LARGEST):
        power = k.let("power", ((power * part) >> 16) + c)
    return power


def _pow2(n: Expr) -> Expr:
    """The bits of a power of 2; 0 where it is not normal."""
    return select(n < -126, number(0, I32), (n + 127) << 23)
