"""Rows that replace others where they are: a cache that gets the rows of new tokens.

Of updates of the same row the last one counts, in whatever order items run: the others are left out.
"""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuKernel, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import Indices, indices
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.use import GpuCall, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("scatter_rows",)
_NOWHERE = -1


def use(call: Call) -> GpuCall:
    outer, rows, count, n = (integer(call, name) for name in ("outer", "rows", "count", "n"))
    size = call.args[0].type.dtype.bytes
    values = integers(call, "rows count")
    if n * size % 4 == 0:
        words = n * size // 4
        values |= {"words": words, "items": outer * count * words}
        kernel = _words(call.types["I"])
    else:
        values |= {"n": n, "outer": outer, "items": -(-outer * rows * n * size // 4)}
        kernel = _parts(4 // size, call.types["I"])
    return GpuCall(kernel, (1, 2, 3), values, groups_for(int(values["items"])), updates=0)


@cache
def _words(of_index: DType) -> GpuKernel:
    """Of rows that are whole words. The work is that of the updates."""
    k = KernelBuilder(f"scatter_rows_{of_index.value}")
    index, u = indices(k, "index", of_index), k.buffer("u", U32)
    y = k.buffer("y", U32, writes=True)
    items, rows, count, words = k.constants("items rows count words")
    with k.when(k.item < items):
        i, update = k.let("i", k.item % words), k.let("update", k.item // words)
        j = k.let("j", update % count)
        row = k.var("row", _row(k, index, j))
        with k.loop("later", j + 1, count) as later:
            k.set(row, select(_row(k, index, later).eq(row), number(_NOWHERE, I32), row))
        with k.when(row >= 0):
            k.store(y, (update // count * rows + row) * words + i, u[k.item])
    return k.done()


@cache
def _parts(per: int, of_index: DType) -> GpuKernel:
    """Of rows that end within a word of so many elements: each item owns a word of y."""
    k = KernelBuilder(f"scatter_rows_{of_index.value}_parts_{per}")
    index, u = indices(k, "index", of_index), k.buffer("u", U32)
    y = k.buffer("y", U32, writes=True)
    items, outer, rows, count, n = k.constants("items outer rows count n")
    bits, which, mask = 32 // per, per.bit_length() - 1, (1 << 32 // per) - 1
    with k.when(k.item < items):
        word = k.var("word", y[k.item])
        with k.loop("lane", 0, per) as lane:
            at = k.let("at", k.item * per + lane)
            i, row = k.let("i", at % n), k.let("row", at // n)
            found = k.var("found", number(_NOWHERE, I32))
            with k.loop("j", 0, count) as j:
                k.set(found, select(_row(k, index, j).eq(row % rows), j, found))
            # Behind the end of y there is nothing to read.
            with k.when((found >= 0) & (row // rows < outer)):
                source = k.let("source", (row // rows * count + found) * n + i)
                part = (u[source >> which] >> ((source & (per - 1)) * bits)) & mask
                k.set(word, (word & ~(number(mask, U32) << (lane * bits))) | (part << (lane * bits)))
        k.store(y, k.item, word)
    return k.done()


def _row(k: KernelBuilder, index: Indices, j: Expr) -> Expr:
    rows = k.constant("rows")
    cell = k.let("cell", index[j])
    return clamped(select(cell < 0, cell + rows, cell), 0, rows - 1)
