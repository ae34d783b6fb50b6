"""Reductions of floats: sums, products, extremes, and a divisor for means; and extremes of int8."""

from __future__ import annotations

from functools import cache
from math import isinf, prod

from edgekit.codegen.gpu.ast import F32, I32, Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.formula import formula
from edgekit.codegen.gpu.kernels import _floats, _reduce, pool2d
from edgekit.codegen.gpu.use import GpuCall, groups_for, listed, real
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("reduce", "reduce_rows")
_RANK = 5


def use(call: Call) -> GpuCall:
    """The last dimension, which `reduce` keeps and `reduce_rows` reduces, is one more of five."""
    dtype = call.args[0].type.dtype
    if dtype is not DType.S8:
        _floats.float_type(call)
    last = int(real(call, "last"))
    kept, reduced = [*listed(call, "n")], [*listed(call, "r")]
    of_kept, of_reduced = [*listed(call, "x_n")], [*listed(call, "x_r")]
    stays = call.kernel == "reduce"
    kept, of_kept = [*kept, last if stays else 1], [*of_kept, 1 if stays else 0]
    reduced, of_reduced = [*reduced, 1 if stays else last], [*of_reduced, 0 if stays else 1]
    lists = {"n": kept, "x_n": of_kept, "r": reduced, "x_r": of_reduced}
    values: dict[str, float] = {f"{name}_{d}": v for name, row in lists.items() for d, v in enumerate(row)}
    first = real(call, "start")
    first = (pool2d.LARGEST if first > 0 else -pool2d.LARGEST) if isinf(first) else first
    values |= {"first": first, "divisor": real(call, "divisor"), "results": prod(kept)}
    groups = groups_for(-(-prod(kept) // per_item(dtype)))
    return GpuCall(_kernel(call.label or call.kernel, call.expr, dtype), (0, 1), values, groups)


@cache
def _kernel(label: str, text: str, dtype: DType) -> GpuKernel:
    k = KernelBuilder(f"{label}_{dtype.value}")
    x, y = elements(k, "x", dtype), k.buffer("y", stored(dtype), writes=True)
    kind = F32 if dtype.is_float else I32
    first, divisor = k.constant("first", kind), k.constant("divisor", kind)

    def result(i: Expr) -> Expr:
        start = _reduce.start(k, i, _RANK)
        so_far = k.var("so_far", first)
        with _reduce.each(k, start, _RANK) as at:
            k.set(so_far, formula(k, text, kind, {"a": so_far, "b": x[at]}).bits(kind))
        return so_far / divisor

    for_each(k, y, dtype, k.constant("results"), result)
    return k.done()
