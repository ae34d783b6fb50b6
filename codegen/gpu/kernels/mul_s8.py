"""Product of int8."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import U32, Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.kernels import _rule, _strided
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("mul_s8",)


def use(call: Call) -> GpuCall:
    values = _strided.values(call, "ab")
    n = _strided.size(values)
    values |= integers(call, f"a_zero b_zero {_rule.SINGLE}") | {"n": n}
    return GpuCall(_kernel(_rule.rule_of(call)), (0, 1, 2), values, groups_for(-(-n // 4)))


@cache
def _kernel(rule: str) -> GpuKernel:
    k = KernelBuilder(f"mul_{rule}")
    a, b = elements(k, "a", DType.S8), elements(k, "b", DType.S8)
    y = k.buffer("y", U32, writes=True)
    a_zero, b_zero, n = k.constants("a_zero b_zero n")

    def result(i: Expr) -> Expr:
        of_a, of_b = _strided.sources(k, i, "ab")
        return _rule.single(k, rule, (a[of_a] - a_zero) * (b[of_b] - b_zero))

    for_each(k, y, DType.S8, n, result)
    return k.done()
