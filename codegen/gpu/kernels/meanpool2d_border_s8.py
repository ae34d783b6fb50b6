"""Mean of windows of int8 that differ in how many cells count."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuKernel, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.fixed import requantized
from edgekit.codegen.gpu.kernels import _pool, _rule, _window
from edgekit.codegen.gpu.use import CONSTANTS, ConstantBuffer, GpuCall, constant_of
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("meanpool2d_border_s8",)


def use(call: Call) -> GpuCall:
    values = _pool.values(call, f"x_zero {_pool.COUNTED} {_rule.BOUNDS}")
    data = ConstantBuffer()
    data.add(constant_of(call, 1).astype(np.int32))
    values["exponent"] = data.add(constant_of(call, 2).astype(np.int32)) // 4
    return GpuCall(_kernel(), (0, CONSTANTS, 3), values, _pool.groups(call, values), data.bytes)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("meanpool2d_border")
    x, w = elements(k, "x", DType.S8), k.buffer("w", I32)
    y = k.buffer("y", U32, writes=True)
    exponent, x_zero = k.constants("exponent x_zero")

    def result(i: Expr) -> Expr:
        channels = k.constant("channels")
        channel = k.let("channel", i % channels)
        at = _window.pixel(k, i // channels)
        total = k.var("sum", number(0, I32))
        with _pool.cells(k, x, at, channel) as cell:
            k.set(total, total + cell - x_zero)
        count = k.let("count", _pool.counted(k, at))
        m, e = k.let("m", w[count]), k.let("e", w[exponent + count])
        return _rule.finished(k, requantized(k, "e_wide", total, m, e))

    for_each(k, y, DType.S8, k.constant("results"), result)
    return k.done()
