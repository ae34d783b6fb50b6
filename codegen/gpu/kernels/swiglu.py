"""SwiGLU: a gate times its logistic function times another number."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu import math_f32
from edgekit.codegen.gpu.ast import Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("swiglu",)


def use(call: Call) -> GpuCall:
    dtype, values = _floats.float_type(call), integers(call, "n")
    groups = groups_for(-(-int(values["n"]) // per_item(dtype)))
    return GpuCall(_kernel(dtype), (0, 1, 2), values, groups)


@cache
def _kernel(dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"swiglu_{dtype.value}", is_exact=True)
    a, b = elements(k, "a", dtype), elements(k, "b", dtype)
    y = k.buffer("y", stored(dtype), writes=True)

    def result(i: Expr) -> Expr:
        x = k.let("x", a[i])
        return x * math_f32.gate(k, x) * b[i]

    for_each(k, y, dtype, k.constant("n"), result)
    return k.done()
