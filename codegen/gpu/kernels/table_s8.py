"""Any function of one int8 tensor: a table of 256 results."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import U32, Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.use import (
    CONSTANTS,
    ConstantBuffer,
    GpuCall,
    constant_of,
    groups_for,
    integers,
)
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("table_s8",)


def use(call: Call) -> GpuCall:
    data = ConstantBuffer()
    data.add(constant_of(call, 1))
    values = integers(call, "n")
    return GpuCall(_kernel(), (0, CONSTANTS, 2), values, groups_for(-(-int(values["n"]) // 4)), data.bytes)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("table")
    x, table = elements(k, "x", DType.S8), elements(k, "results", DType.S8)
    y = k.buffer("y", U32, writes=True)

    def result(i: Expr) -> Expr:
        return table[x[i] + 128]

    for_each(k, y, DType.S8, k.constant("n"), result)
    return k.done()
