"""Attention to the filled rows of a cache, in one pass (online softmax).

A work-group has a query, or four of a head, which read each row of keys and values once. It takes 64 keys
at a time: an item has the scores of one of them, and afterwards, of the weighted sum of values, every 64th
element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from edgekit.codegen.gpu import math_f32
from edgekit.codegen.gpu.ast import F32, F32X4, I32, Expr, GpuBuffer, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import indices
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.kernels import pool2d
from edgekit.codegen.gpu.quotient import divided
from edgekit.codegen.gpu.use import GpuCall, UnsupportedError, integer, integers, real
from edgekit.core.ops import Call
from edgekit.core.ops.attention import LAST
from edgekit.core.types import DType

CALLS = ("cached_attention", "cached_attention_bias")
_QUERIES = 4  # of a work-group


def use(call: Call) -> GpuCall:
    if call.types["T"] is not DType.F32:
        raise UnsupportedError(f"{call.kernel} of {call.types['T'].value}")
    heads, queries, size = (integer(call, name) for name in ("heads", "queries", "size"))
    window = integer(call, "window")
    names = "repeat queries keys values" + " window" * bool(window)
    values = integers(call, names) | {"scale": real(call, "scale")}
    together = _QUERIES if queries >= _QUERIES and not window else 1  # windows of queries differ
    blocks = -(-queries // together)
    has_fours = size % 4 == 0
    values |= {"blocks": blocks, "width": size // 4 if has_fours else size}
    pieces = -(-integer(call, "values") // GROUP)
    form = ""
    if call.kernel == "cached_attention_bias":
        form = "_capped" if real(call, "cap") else "_biased"
        values |= integers(call, "distances") | {"inner": real(call, "inner")}
        values |= {"cap": real(call, "cap")} if form == "_capped" else {}
    kernel = _kernel(call.types["I"], together, has_fours, pieces, bool(window), form)
    return GpuCall(kernel, tuple(range(len(call.args))), values, heads * blocks)


@cache
def _kernel(
    of_index: DType, together: int, has_fours: bool, pieces: int, has_window: bool, form: str
) -> GpuKernel:
    """`pieces`: how many elements of a result an item has; `form`: of scores, if capped or biased."""
    kind = f"{form}{'_window' * has_window}{'_fours' * has_fours}_{of_index.value}"
    k = KernelBuilder(f"cached_attention{kind}_{pieces}_x{together}", is_exact=True)
    q, keys_buffer = (k.buffer(name, F32X4 if has_fours else F32) for name in ("q", "k"))
    v, at = k.buffer("v", F32), indices(k, "at", of_index)
    bias = k.buffer("bias", F32) if form else None
    y = k.buffer("y", F32, writes=True)
    repeat, queries, keys, values, blocks, width = k.constants("repeat queries keys values blocks width")
    scores, weights = (k.shared(name, F32, GROUP * together) for name in ("scores", "weights"))
    filled = k.shared("filled", I32, 1)

    head = k.let("head", k.group_number // blocks)
    first = k.let("first", k.group_number % blocks * together)
    own = [k.let("query", function("min", first + r, queries - 1)) for r in range(together)]
    if has_window:
        window, last = k.constant("window"), k.let("last", clamped(at[own[0]], 0, LAST))
        seen = [k.let("seen", select(last < window, last + 1, window))]
        oldest = k.let("oldest", (last - (seen[0] - 1)) % keys)
        # Tiles end where the ring ends: those behind it begin at row 0.
        ahead = k.let("ahead", function("min", seen[0], keys - oldest))
        behind = k.let("behind", (ahead + GROUP - 1) // GROUP * GROUP)
    else:
        seen = [k.let("seen", clamped(at[i], 0, keys - 1) + 1) for i in own]
    full = seen  # by each query, without the gap of a ring
    most_seen = behind + (seen[0] - ahead) if has_window else seen[0]
    for other in seen[1:]:
        most_seen = function("max", most_seen, other)
    k.store(filled, 0, most_seen)
    end = k.uniform("end", filled)
    starts = [k.let("start", (head * queries + i) * width) for i in own]
    head_row = k.let("row", head // repeat * keys)

    def row(j: Expr) -> Expr:
        """Where the keys and values are that a query sees as number j."""
        return head_row + (select(j < behind, oldest + j, j - behind) if has_window else j)

    tops = [k.var("top", number(-pool2d.LARGEST, F32)) for _ in own]
    sums = [k.var("sum", number(0, F32)) for _ in own]
    totals = [[k.var("total", number(0, F32)) for _ in range(pieces)] for _ in own]
    with k.loop("start_of_tile", 0, end, GROUP) as tile:
        j = k.let("j", tile + k.within)
        limit = k.let("limit", select(tile < behind, ahead, end)) if has_window else end
        seen = [limit] if has_window else seen
        dots = _dots(k, q, starts, keys_buffer, row(function("min", j, limit - 1)) * width)
        for r, dot in enumerate(dots):
            if bias is not None:
                order = select(j < behind, j, ahead + (j - behind)) if has_window else j
                newest = full[r] - 1
                dot = _biased(k, dot, bias, head, newest - order, has_cap=form == "_capped")
            score = select(j < seen[r], dot * k.constant("scale", F32), number(-pool2d.LARGEST, F32))
            k.store(scores, k.within * together + r, score)
        k.barrier()
        shrinks = []
        for r, top in enumerate(tops):
            highest = k.var("highest", top)
            with k.loop("other", 0, GROUP) as other:
                k.set(highest, function("max", highest, scores[other * together + r]))
            shrinks.append(math_f32.exp2_below(k, k.let("below", top - highest)))
            k.set(top, highest)
            own_score = scores[k.within * together + r]
            weight = math_f32.exp2_below(k, k.let("below", own_score - highest))
            k.store(weights, k.within * together + r, select(j < seen[r], weight, number(0, F32)))
        k.barrier()
        for r, shrink in enumerate(shrinks):
            for total in (sums[r], *totals[r]):
                k.set(total, total * shrink)
        with k.loop("i", 0, function("min", limit - tile, GROUP)) as i:
            shares = [k.let("share", weights[i * together + r]) for r in range(together)]
            for total, share in zip(sums, shares, strict=True):
                k.set(total, total + share)
            of_value = k.let("of_value", row(tile + i))
            for piece in range(pieces):
                place = k.let("place", function("min", k.within + piece * GROUP, values - 1))
                value = k.let("value", v[of_value * values + place])
                for r, share in enumerate(shares):
                    k.set(totals[r][piece], totals[r][piece] + share * value)
    for r in range(together):
        for piece, total in enumerate(totals[r]):
            place = k.let("place", k.within + piece * GROUP)
            with k.when((place < values) & (first + r < queries)):
                k.store(y, (head * queries + first + r) * values + place, divided(k, total, sums[r]))
    return k.done()


def _dots(k: KernelBuilder, q: GpuBuffer, starts: Sequence[Expr], keys: GpuBuffer, at: Expr) -> list[Expr]:
    """The products of queries that start there and one key, in four sums."""
    of_key = k.let("of_key", at)
    lanes = [[k.var("dot", number(0, q.kind)) for _ in range(1 if q.kind == F32X4 else 4)] for _ in starts]
    width = k.constant("width")
    with k.loop("c", 0, width, len(lanes[0])) as c:
        for lane in range(len(lanes[0])):
            i = c + lane
            inside = k.let("inside", function("min", i, width - 1))
            part = k.let("part", keys[of_key + inside])
            for own, start in zip(lanes, starts, strict=True):
                product = q[start + inside] * part
                k.set(
                    own[lane],
                    select(i < width, own[lane] + product, own[lane]) if lane else own[lane] + product,
                )
    if q.kind == F32:
        return [(a + b) + (c + d) for a, b, c, d in lanes]
    return [(s.lane(0) + s.lane(1)) + (s.lane(2) + s.lane(3)) for (s,) in lanes]


def _biased(
    k: KernelBuilder, dot: Expr, bias: GpuBuffer, head: Expr, distance: Expr, *, has_cap: bool
) -> Expr:
    """A product as a score: capped, and with the bias of its distance."""
    last = k.let("last_bias", k.constant("distances") - 1)
    near = k.let("near", clamped(distance, 0, last))
    score = k.let("inner_score", dot * k.constant("inner", F32))
    if has_cap:
        score = k.let("capped", math_f32.tanh(k, score) * k.constant("cap", F32))
    of_head = k.let("of_head", head * (last + 1))
    slope = bias[of_head + last] - bias[of_head + function("max", last - 1, 0)]
    beyond = k.let("beyond", function("max", distance - near, 0))
    return k.let("score", score + (bias[of_head + near] + slope * beyond.to(F32)))
