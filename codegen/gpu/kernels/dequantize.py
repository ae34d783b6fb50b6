"""Integers to reals: scale (x - zero)."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers, real
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("dequantize",)


def use(call: Call) -> GpuCall:
    values = integers(call, "n zero") | {"scale": real(call, "scale")}
    of_x, of_y = (arg.type.dtype for arg in call.args)
    groups = groups_for(-(-int(values["n"]) // per_item(of_y)))
    return GpuCall(_kernel(of_x, of_y), (0, 1), values, groups)


@cache
def _kernel(of_x: DType, of_y: DType) -> GpuKernel:
    k = KernelBuilder(f"dequantize_{of_x.value}_{of_y.value}")
    x, y = elements(k, "x", of_x), k.buffer("y", stored(of_y), writes=True)
    n, zero = k.constants("n zero")
    scale = k.constant("scale", F32)

    def result(i: Expr) -> Expr:
        return scale * (x[i] - zero).to(F32)

    for_each(k, y, of_y, n, result)
    return k.done()
