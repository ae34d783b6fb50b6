"""Integers to reals: scale (x - zero)."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, Expr, Kernel
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.use import Use, groups_for, integers, real
from edgekit.ir import DType
from edgekit.ops import Call

CALLS = ("dequantize",)


def use(call: Call) -> Use:
    values = integers(call, "n zero") | {"scale": real(call, "scale")}
    return Use(_kernel(call.args[0].type.dtype), (0, 1), values, groups_for(int(values["n"])))


@cache
def _kernel(of_x: DType) -> Kernel:
    k = Builder(f"dequantize_{of_x.value}")
    x, y = elements(k, "x", of_x), k.buffer("y", F32, writes=True)
    n, zero = k.constants("n zero")
    scale = k.constant("scale", F32)

    def result(i: Expr) -> Expr:
        return scale * (x[i] - zero).to(F32)

    for_each(k, y, DType.F32, n, result)
    return k.done()
