"""The k best elements of a row, in order: an item finds the place of one element among the others."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuKernel, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, per_item, store_index, stored
from edgekit.codegen.gpu.formula import formula
from edgekit.codegen.gpu.use import GpuCall, UnsupportedError, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("topk",)


def use(call: Call) -> GpuCall:
    dtype = call.args[0].type.dtype
    if per_item(dtype) > 1:  # items do not share words
        raise UnsupportedError(f"the best of {dtype.value}")
    total = integer(call, "outer") * integer(call, "n") * integer(call, "inner")
    values = integers(call, "n inner k") | {"total": total}
    return GpuCall(_kernel(call.label, call.expr, dtype), (0, 1, 2), values, groups_for(total))


@cache
def _kernel(label: str, text: str, dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"{label}_{dtype.value}")
    x, y = elements(k, "x", dtype), k.buffer("y", stored(dtype), writes=True)
    where = k.buffer("at", U32, writes=True)
    n, inner, most, total = k.constants("n inner k total")

    def better(a: Expr, b: Expr) -> Expr:
        return formula(k, text, a.kind, {"a": a, "b": b})

    with k.when(k.item < total):
        j = k.let("j", (k.item // inner) % n)
        row = k.let("row", k.item // (n * inner))
        first = k.let("first", row * (n * inner) + k.item % inner)
        own, place = k.let("own", x[k.item]), k.var("place", number(0, I32))
        with k.loop("i", 0, n) as i:
            other = k.let("other", x[first + i * inner])
            is_before = better(other, own) | (~better(own, other) & (i < j))
            k.set(place, place + select(is_before, number(1, I32), number(0, I32)))
        with k.when(place < most):
            to = k.let("to", (row * most + place) * inner + k.item % inner)
            k.store(y, to, own)
            store_index(k, where, to, j)
    return k.done()
