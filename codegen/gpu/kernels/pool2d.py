"""Pools by a formula: the largest cell of a window, or the sum."""

from __future__ import annotations

from functools import cache
from math import isinf

from edgekit.codegen.gpu.ast import F32, I32, Expr, GpuKernel, Kind
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import Elements
from edgekit.codegen.gpu.formula import formula
from edgekit.codegen.gpu.kernels import _pool, _window
from edgekit.codegen.gpu.use import GpuCall, UnsupportedError, real
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("pool2d",)
LARGEST = 3.4028234663852886e38  # no language takes an infinite literal


def use(call: Call) -> GpuCall:
    dtype = call.args[0].type.dtype
    if dtype is DType.U32:
        raise UnsupportedError("pools of u32")
    start = real(call, "start")
    start = (LARGEST if start > 0 else -LARGEST) if isinf(start) else start
    values = _pool.values(call) | {"start": start}
    kernel = _kernel(call.label, call.expr, dtype)
    return GpuCall(kernel, (0, 1), values, _pool.groups(call, values))


@cache
def _kernel(label: str, text: str, dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"{label}_{dtype.value}")
    kind: Kind = F32 if dtype.is_float else I32

    def result(x: Elements, at: _window.Pixel, channel: Expr) -> Expr:
        so_far = k.var("so_far", k.constant("start", kind))
        with _pool.cells(k, x, at, channel) as cell:
            k.set(so_far, formula(k, text, kind, {"a": so_far, "b": cell}).bits(kind))
        return so_far

    return _pool.kernel(k, dtype, result)
