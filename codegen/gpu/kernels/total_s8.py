"""Sum or mean of dimensions of int8."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuKernel, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.kernels import _reduce, _rule
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers, numbered
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("total_s8",)
_RANK = 5


def use(call: Call) -> GpuCall:
    values = numbered(call, "n x_n r x_r") | integers(call, f"x_zero {_rule.SINGLE}")
    results = 1
    for d in range(_RANK):
        results *= int(values[f"n_{d}"])
    values["results"] = results
    return GpuCall(_kernel(_rule.rule_of(call)), (0, 1), values, groups_for(-(-results // 4)))


@cache
def _kernel(rule: str) -> GpuKernel:
    k = KernelBuilder(f"total_{rule}")
    x, y = elements(k, "x", DType.S8), k.buffer("y", U32, writes=True)

    def result(i: Expr) -> Expr:
        start = _reduce.start(k, i, _RANK)
        total = k.var("sum", number(0, I32))
        with _reduce.each(k, start, _RANK) as at:
            k.set(total, total + x[at] - k.constant("x_zero"))
        return _rule.single(k, rule, total)

    for_each(k, y, DType.S8, k.constant("results"), result)
    return k.done()
