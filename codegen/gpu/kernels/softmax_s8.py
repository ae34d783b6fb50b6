"""Softmax of rows of int8 by rule E: exponentials from a table, one division a row."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import elements
from edgekit.codegen.gpu.kernels import _rows
from edgekit.codegen.gpu.use import CONSTANTS, ConstantBuffer, GpuCall, constant_of, integer
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("softmax_s8",)


def use(call: Call) -> GpuCall:
    values, groups = _rows.values(integer(call, "rows"), integer(call, "n"), DType.S8)
    data = ConstantBuffer()
    data.add(constant_of(call, 1).astype(np.uint32))
    return GpuCall(_kernel(), (0, CONSTANTS, 2), values, groups, data.bytes)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("softmax_e")
    x, e = elements(k, "x", DType.S8), k.buffer("e", U32)
    y = k.buffer("y", U32, writes=True)
    n = k.constant("n")
    most, sums = k.shared("most", I32, GROUP), k.shared("sums", U32, GROUP)
    largest, totals = k.shared("largest", I32, _rows.MAX_ROWS), k.shared("totals", U32, _rows.MAX_ROWS)
    with k.loop("j", 0, k.constant("block")) as j:
        first = k.let("first", _rows.row(k, j) * n)
        own = _rows.over(k, n, first, I32, -128, lambda has, i: function("max", has, x[i]))
        top = _rows.combined(k, most, own, lambda a, b: function("max", a, b))
        part = _rows.over(k, n, first, U32, 0, lambda has, i: has + e[top - x[i]])
        total = _rows.combined(k, sums, part, lambda a, b: a + b)
        k.store(largest, j, top)
        k.store(totals, j, total)
    k.barrier()

    def result(row: Expr, i: Expr) -> Expr:
        total = k.let("total", totals[row])
        # Bits of the sum above the sixteen that the division takes.
        bits = k.let("bits", function("max", 16 - function("clz", total).bits(I32), 0).to(U32))
        half = (number(1, U32) << bits) >> 1
        reciprocal = k.let("reciprocal", number(0x80000000, U32) // ((total + half) >> bits))
        is_long = bits > 8
        down, shift = (
            select(is_long, bits - 8, 0),
            k.let("shift", select(is_long, number(31, U32), bits + 23)),
        )
        share = k.let("share", (e[largest[row] - x[i]] * reciprocal) >> down)
        y = ((share + (number(1, U32) << (shift - 1))) >> shift).to(I32)
        return function("min", y - 128, 127)

    _rows.store(k, y, DType.S8, result)
    return k.done()
