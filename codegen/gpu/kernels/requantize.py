"""Integers of one scale to another."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.kernels import _rule
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("requantize",)


def use(call: Call) -> GpuCall:
    of_x, of_y = (call.args[i].type.dtype for i in (0, -1))
    values = integers(call, f"n x_zero {_rule.SINGLE}")
    groups = groups_for(-(-int(values["n"]) // per_item(of_y)))
    return GpuCall(_kernel(_rule.rule_of(call), of_x, of_y), (0, 1), values, groups)


@cache
def _kernel(rule: str, of_x: DType, of_y: DType) -> GpuKernel:
    k = KernelBuilder(f"requantize_{rule}_{of_x.value}_{of_y.value}")
    x, y = elements(k, "x", of_x), k.buffer("y", stored(of_y), writes=True)
    x_zero, n = k.constants("x_zero n")

    def result(i: Expr) -> Expr:
        return _rule.single(k, rule, x[i] - x_zero)

    for_each(k, y, of_y, n, result)
    return k.done()
