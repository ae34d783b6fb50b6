"""Filters at positions of their own along one dimension, floats and int8: resizing, mostly."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, I32, Expr, GpuKernel, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.kernels import _floats, _rule
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

CALLS = ("resample", "resample_s8")


def use(call: Call) -> GpuCall:
    is_int = call.kernel == "resample_s8"
    dtype = DType.S8 if is_int else _floats.float_type(call)
    values = integers(call, "in_n out_n inner taps")
    results = int(integers(call, "outer")["outer"] * values["out_n"] * values["inner"])
    data = ConstantBuffer()
    data.add(constant_of(call, 1).astype(np.int32))
    values["weights"] = data.add(constant_of(call, 2).astype(np.int32 if is_int else np.float32)) // 4
    values["results"] = results
    if is_int:
        values |= integers(call, f"x_zero {_rule.SINGLE}")
    kernel = _kernel(dtype, _rule.rule_of(call) if is_int else "")
    return GpuCall(kernel, (0, CONSTANTS, 3), values, groups_for(-(-results // per_item(dtype))), data.bytes)


@cache
def _kernel(dtype: DType, rule: str) -> GpuKernel:
    k = KernelBuilder(f"resample_{rule or dtype.value}")
    x, w, y = elements(k, "x", dtype), k.buffer("w", I32), k.buffer("y", stored(dtype), writes=True)
    in_n, out_n, inner, taps, weights = k.constants("in_n out_n inner taps weights")

    def result(i: Expr) -> Expr:
        place = k.let("place", i // inner)
        j = k.let("j", place % out_n)
        start = k.let("start", (place // out_n) * (in_n * inner) + i % inner)
        acc = k.var("sum", number(0, I32 if rule else F32))
        with k.loop("t", 0, taps) as t:
            tap = k.let("tap", j * taps + t)
            value = x[start + w[tap] * inner]
            weight = w[weights + tap]
            k.set(acc, acc + (weight * (value - k.constant("x_zero")) if rule else weight.bits(F32) * value))
        return _rule.single(k, rule, acc) if rule else acc

    for_each(k, y, dtype, k.constant("results"), result)
    return k.done()
