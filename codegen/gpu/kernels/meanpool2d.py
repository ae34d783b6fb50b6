"""Mean of windows of floats."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import Elements
from edgekit.codegen.gpu.kernels import _floats, _pool, _window
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("meanpool2d",)


def use(call: Call) -> GpuCall:
    dtype = _floats.float_type(call)
    values = _pool.values(call, _pool.COUNTED)
    return GpuCall(_kernel(dtype), (0, 1), values, _pool.groups(call, values))


@cache
def _kernel(dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"meanpool2d_{dtype.value}")

    def result(x: Elements, at: _window.Pixel, channel: Expr) -> Expr:
        total = k.var("sum", number(0, F32))
        with _pool.cells(k, x, at, channel) as cell:
            k.set(total, total + cell)
        return total / _pool.counted(k, at).to(F32)

    return _pool.kernel(k, dtype, result)
