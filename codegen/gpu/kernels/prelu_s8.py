"""PRelu of int8 with a slope of its own for each channel or element."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuKernel, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.kernels import _strided
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

CALLS = ("prelu_s8",)


def use(call: Call) -> GpuCall:
    values = _strided.values(call, "ab")
    n = _strided.size(values)
    values |= integers(call, "a_zero positive constant shift lo hi") | {"n": n}
    values["offset"] = values.pop("constant")
    data = ConstantBuffer()
    data.add(constant_of(call, 1).astype(np.int32))
    return GpuCall(_kernel(), (0, CONSTANTS, 2), values, groups_for(-(-n // 4)), data.bytes)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("prelu_s8")
    a, slopes = elements(k, "a", DType.S8), k.buffer("slopes", I32)
    y = k.buffer("y", U32, writes=True)
    a_zero, positive, offset, shift, lo, hi = k.constants("a_zero positive offset shift lo hi")

    def result(i: Expr) -> Expr:
        of_a, of_b = _strided.sources(k, i, "ab")
        u = k.let("u", a[of_a] - a_zero)
        g = select(u < 0, slopes[of_b], positive)
        return clamped((u * g + offset) >> shift, lo, hi)

    for_each(k, y, DType.S8, k.constant("n"), result)
    return k.done()
