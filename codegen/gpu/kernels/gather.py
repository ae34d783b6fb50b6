"""Elements by index: negative ones count from the back, and what is outside is the nearest end."""

from __future__ import annotations

from functools import cache
from math import prod

from edgekit.codegen.gpu.ast import Expr, GpuKernel, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, indices, per_item, stored
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.kernels._strided import sources
from edgekit.codegen.gpu.use import GpuCall, UnsupportedError, groups_for, integer, integers, listed
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("gather",)


def use(call: Call) -> GpuCall:
    dtype, of_index = (arg.type.dtype for arg in call.args[:2])
    if integer(call, "y0"):
        raise UnsupportedError("gathering over so many dimensions")
    count, shape = integer(call, "count"), listed(call, "n")
    values: dict[str, float] = {f"n_{d}": n for d, n in enumerate(shape)}
    for letter, name in (("x", "x"), ("k", "index")):
        values |= {f"s{letter}_{d}": step for d, step in enumerate(listed(call, name))}
        values[f"{letter}0"] = integer(call, f"{name}0")
    for name in ("size", "step"):
        values |= {f"{name}_{c}": listed(call, name)[c] for c in range(count)}
    values |= integers(call, "apart") if count > 1 else {}
    values["results"] = prod(shape)
    groups = groups_for(-(-prod(shape) // per_item(dtype)))
    return GpuCall(_kernel(dtype, of_index, count), (0, 1, 2), values, groups)


@cache
def _kernel(dtype: DType, of_index: DType, count: int) -> GpuKernel:
    k = KernelBuilder(f"gather_{dtype.value}_by_{count}_{of_index.value}")
    x, index = elements(k, "x", dtype), indices(k, "index", of_index)
    y = k.buffer("y", stored(dtype), writes=True)

    def result(i: Expr) -> Expr:
        place, at = sources(k, i, "xk")
        for c in range(count):
            size, step = k.constants(f"size_{c} step_{c}")
            cell = index[at + k.constant("apart") * c if c else at]
            from_front = k.let("cell", select(cell < 0, cell + size, cell))
            place = place + clamped(from_front, 0, size - 1) * step
        return x[k.let("place", place)]

    for_each(k, y, dtype, k.constant("results"), result)
    return k.done()
