"""Sum or difference of int8 by TFLite's rule."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import U32, Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.kernels import _addend, _rule, _strided
from edgekit.codegen.gpu.use import GpuCall, groups_for, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("add_s8",)
_SCALES = "a_zero a_multiplier a_exponent b_zero b_multiplier b_exponent sign"


def use(call: Call) -> GpuCall:
    values = _strided.values(call, "ab")
    n = _strided.size(values)
    values |= integers(call, f"{_SCALES} {_rule.SINGLE}") | {"n": n}
    return GpuCall(_kernel(), (0, 1, 2), values, groups_for(-(-n // 4)))


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("add_tfl")
    operands = [elements(k, name, DType.S8) for name in "ab"]
    y = k.buffer("y", U32, writes=True)

    def result(i: Expr) -> Expr:
        scaled = []
        for letter, x, at in zip("ab", operands, _strided.sources(k, i, "ab"), strict=True):
            zero, m, e = k.constants(f"{letter}_zero {letter}_multiplier {letter}_exponent")
            scaled.append(_addend.scaled(k, x[at], zero, m, e))
        return _rule.single(k, "tfl", scaled[0] + k.constant("sign") * scaled[1])

    for_each(k, y, DType.S8, k.constant("n"), result)
    return k.done()
