"""SwiGLU: a gate times its logistic function times another number."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu import math_f32
from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.quotient import divided
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers
from edgekit.core.math_f32.numbers import LOG2_E
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
        gate = k.let("gate", a[i])
        size = k.let("size", function("abs", gate))
        near = size < 87
        power = math_f32.exp2_below(
            k, k.let("exponent", select(near, size, number(87, F32)) * -float(LOG2_E))
        )
        e = k.let("e", select(near, power, number(0, F32)))
        share = divided(k, k.let("above", select(gate < 0, e, number(1, F32))), k.let("below", 1 + e))
        return share * gate * b[i]

    for_each(k, y, dtype, k.constant("n"), result)
    return k.done()
