"""Mean of windows of int8 by rule E."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import I32, Expr, GpuKernel, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import Elements
from edgekit.codegen.gpu.kernels import _pool, _rule, _window
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("meanpool2d_s8",)


def use(call: Call) -> GpuCall:
    values = _pool.values(call, f"x_zero {_rule.SINGLE}")
    return GpuCall(_kernel(_rule.rule_of(call)), (0, 1), values, _pool.groups(call, values))


@cache
def _kernel(rule: str) -> GpuKernel:
    k = KernelBuilder(f"meanpool2d_{rule}")

    def result(x: Elements, at: _window.Pixel, channel: Expr) -> Expr:
        total = k.var("sum", number(0, I32))
        with _pool.cells(k, x, at, channel) as cell:
            k.set(total, total + cell - k.constant("x_zero"))
        return _rule.single(k, rule, total)

    return _pool.kernel(k, DType.S8, result)
