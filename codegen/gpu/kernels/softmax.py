"""Softmax of rows of floats."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu import math_f32
from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel, function
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import elements, stored
from edgekit.codegen.gpu.kernels import _floats, _rows, pool2d
from edgekit.codegen.gpu.use import GpuCall, integer
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("softmax",)


def use(call: Call) -> GpuCall:
    dtype = _floats.float_type(call)
    values, groups = _rows.values(integer(call, "rows"), integer(call, "n"), dtype)
    return GpuCall(_kernel(dtype), (0, 1), values, groups)


@cache
def _kernel(dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"softmax_{dtype.value}")
    x, y = elements(k, "x", dtype), k.buffer("y", stored(dtype), writes=True)
    parts = k.shared("parts", F32, GROUP)
    tops, totals = k.shared("tops", F32, _rows.MAX_ROWS), k.shared("totals", F32, _rows.MAX_ROWS)
    n = k.constant("n")

    def share(i: Expr, top: Expr) -> Expr:
        return math_f32.exp(k, k.let("below", x[i] - top))

    with k.loop("j", 0, k.constant("block")) as j:
        first = k.let("first", _rows.row(k, j) * n)
        own = _rows.over(k, n, first, F32, -pool2d.LARGEST, lambda has, i: function("max", has, x[i]))
        top = _rows.combined(k, parts, own, lambda a, b: function("max", a, b))
        part = _rows.over(k, n, first, F32, 0, lambda has, i: has + share(i, top))
        total = _rows.combined(k, parts, part, lambda a, b: a + b)
        k.store(tops, j, top)
        k.store(totals, j, total)
    k.barrier()
    _rows.store(k, y, dtype, lambda row, i: share(i, tops[row]) / totals[row])
    return k.done()
