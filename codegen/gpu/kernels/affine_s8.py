"""Sum or difference of int8 by rule E: (first a + second b + constant) >> shift."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import U32, Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.kernels import _strided
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("affine_s8",)


def use(call: Call) -> GpuCall:
    values = _strided.values(call, "ab")
    n = _strided.size(values)
    values |= integers(call, "first second constant shift lo hi")
    values["offset"] = values.pop("constant")
    return GpuCall(_kernel(), (0, 1, 2), values | {"n": n}, groups_for(-(-n // 4)))


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("affine")
    a, b = elements(k, "a", DType.S8), elements(k, "b", DType.S8)
    y = k.buffer("y", U32, writes=True)
    first, second, offset, shift, lo, hi, n = k.constants("first second offset shift lo hi n")

    def result(i: Expr) -> Expr:
        of_a, of_b = _strided.sources(k, i, "ab")
        total = a[of_a] * first + b[of_b] * second + offset
        return clamped(total >> shift, lo, hi)

    for_each(k, y, DType.S8, n, result)
    return k.done()
