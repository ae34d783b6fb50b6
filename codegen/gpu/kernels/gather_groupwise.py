"""Rows of a table of integers with a scale for each group, as floats, in the words that layers read."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuKernel, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import for_each, indices, per_item, stored
from edgekit.codegen.gpu.fixed import clamped
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.kernels._integer_weights import Groups, data_of
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("gather_groupwise", "gather_groupwise_symmetric")


def use(call: Call) -> GpuCall:
    rows, n, size = (integer(call, name) for name in ("rows", "n", "size"))
    dtype, groups = _floats.float_type(call), Groups.of(call, n)
    has_zero = call.kernel == "gather_groupwise"
    w, scale, *zero = (constant_of(call, i) for i in range(len(call.args) - 2))
    data, starts = data_of(groups, w, scale, None, *zero)
    values = starts | {"n": n, "size": size, "results": rows * n}
    values |= {"group": groups.group, "of_group": groups.words}
    kernel = _kernel(groups.dtype.bits, dtype, call.types["I"], has_zero)
    return GpuCall(
        kernel,
        (CONSTANTS, len(call.args) - 2, len(call.args) - 1),
        {c.text: values[c.text] for c in kernel.constants},
        groups_for(-(-rows * n // per_item(dtype))),
        data,
    )


@cache
def _kernel(bits: int, dtype: DType, of_index: DType, has_zero: bool) -> GpuKernel:
    kind = "_zero" * has_zero
    k = KernelBuilder(f"gather_groupwise_s{bits}{kind}_{dtype.value}_{of_index.value}")
    w, index = k.buffer("w", U32), indices(k, "index", of_index)
    y = k.buffer("y", stored(dtype), writes=True)
    n, size, results, group, of_group, scale = k.constants("n size results group of_group scale")
    per = 32 // bits

    def result(at: Expr) -> Expr:
        cell, i = k.let("cell", index[at // n]), k.let("i", at % n)
        row = k.let("row", clamped(select(cell < 0, cell + size, cell), 0, size - 1))
        g, within = k.let("g", i // group), k.let("within", i % group)
        word = k.let("word", w[(g * of_group + within // per) * size + row])
        j = k.let("j", within % per)
        place = k.let("place", (j & 3) * 8 + (j >> 2) * 4)
        value = ((word << (32 - bits - place)).bits(I32) >> (32 - bits)).to(F32)
        if has_zero:
            value = value - w[k.constant("zero") + g * size + row].bits(F32)
        return value * w[scale + g * size + row].bits(F32)

    for_each(k, y, dtype, results, result)
    return k.done()
