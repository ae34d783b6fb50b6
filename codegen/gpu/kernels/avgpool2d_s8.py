"""Average pooling of int8 by TFLite's rule: in one scale, halves away from zero."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import I32, Expr, GpuKernel, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import Elements
from edgekit.codegen.gpu.kernels import _pool, _window
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("avgpool2d_s8",)


def use(call: Call) -> GpuCall:
    values = _pool.values(call)
    return GpuCall(_kernel(), (0, 1), values, _pool.groups(call, values))


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("avgpool2d")

    def result(x: Elements, at: _window.Pixel, channel: Expr) -> Expr:
        total, count = k.var("sum", number(0, I32)), k.var("cells", number(0, I32))
        with _pool.cells(k, x, at, channel) as cell:
            k.set(total, total + cell)
            k.set(count, count + 1)
        half = count // 2
        return select(total > 0, total + half, total - half) // count

    return _pool.kernel(k, DType.S8, result)
