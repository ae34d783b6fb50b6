"""Where the largest or smallest element of a row is: an item searches a row."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import I32, U32, GpuKernel, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, store_index
from edgekit.codegen.gpu.formula import formula
from edgekit.codegen.gpu.use import GpuCall, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("arg_extreme",)


def use(call: Call) -> GpuCall:
    rows = integer(call, "outer") * integer(call, "inner")
    values = integers(call, "n inner") | {"rows": rows}
    kernel = _kernel(call.label, call.expr, call.args[0].type.dtype)
    return GpuCall(kernel, (0, 1), values, groups_for(rows))


@cache
def _kernel(label: str, text: str, dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"{label}_{dtype.value}")
    x, y = elements(k, "x", dtype), k.buffer("y", U32, writes=True)
    n, inner, rows = k.constants("n inner rows")
    with k.when(k.item < rows):
        first = k.let("first", (k.item // inner) * (n * inner) + k.item % inner)
        most, at = k.var("most", x[first]), k.var("at", number(0, I32))
        with k.loop("j", 1, n) as j:
            here = k.let("here", x[first + j * inner])
            with k.when(formula(k, text, here.kind, {"a": here, "b": most})):
                k.set(most, here)
                k.set(at, j)
        store_index(k, y, k.item, at)
    return k.done()
