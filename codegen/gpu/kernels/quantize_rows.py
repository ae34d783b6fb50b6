"""Rows as int8, each over its own range: the bits of the simulator.

Devices differ in quotients of floats, subnormal numbers and infinities: these are computed as integers.
"""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.kernels import _rows
from edgekit.codegen.gpu.quotient import INFINITE, LIFT, TINY, lifted, quotient
from edgekit.codegen.gpu.use import GpuCall, integer
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("quantize_rows",)
_LARGEST = 0x42FE0000  # the bits of 127.0


def use(call: Call) -> GpuCall:
    values, groups = _rows.values(integer(call, "rows"), integer(call, "n"), DType.S8)
    return GpuCall(_kernel(), (0, 1, 2), values, groups)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("quantize_rows")
    x, y = k.buffer("x", U32), k.buffer("y", U32, writes=True)
    scale = k.buffer("scale", U32, writes=True)
    parts = k.shared("parts", U32, GROUP)
    factors, tops = k.shared("factors", F32, _rows.MAX_ROWS), k.shared("tops", U32, _rows.MAX_ROWS)
    n = k.constant("n")

    with k.loop("j", 0, k.constant("block")) as j:
        row = _rows.row(k, j)
        first = k.let("first", row * n)
        own = _rows.over(
            k, n, first, U32, 0, lambda has, i: function("max", has, x[i] & number(0x7FFFFFFF, U32))
        )
        top = _rows.combined(k, parts, own, lambda a, b: function("max", a, b))
        is_range = k.let("is_range", (top > 0) & (top < INFINITE))
        most = k.let("most", select(is_range, top, number(_LARGEST, U32)))
        factor = k.let("factor", quotient(k, number(_LARGEST, U32), most))
        is_tiny = most < TINY
        factor_of_lifted = select(is_tiny, factor - number(LIFT << 23, U32), factor)
        is_used = is_range & (factor < INFINITE)
        k.store(tops, j, top)
        k.store(factors, j, select(is_used, factor_of_lifted, number(0, U32)).bits(F32))
        with k.when(k.within.eq(0)):
            k.store(scale, row, select(is_range, quotient(k, most, number(_LARGEST, U32)), top))
    k.barrier()

    def result(row: Expr, i: Expr) -> Expr:
        bits = k.let("bits", x[i])
        factor, top = k.let("factor", factors[row]), tops[row]
        product = k.let("product", select(top < TINY, lifted(k, bits), bits.bits(F32)) * factor)
        return select(factor.eq(0), number(0, I32), function("round", product).to(I32))

    _rows.store(k, y, DType.S8, result)
    return k.done()
