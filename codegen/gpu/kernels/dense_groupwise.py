"""Fully connected layer of floats whose weights are integers, with a scale for each group of them.

Weights are unpacked as they are read. An item computes one output: of a single row, where few rows leave
nothing to share (matrix times vector), or of four rows, for which it unpacks weights once.
"""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, U32, Expr, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.kernels._integer_weights import Groups, data_of, weights_of
from edgekit.codegen.gpu.use import (
    CONSTANTS,
    GpuCall,
    UnsupportedError,
    constant_of,
    groups_for,
    integer,
    integers,
)
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("dense_groupwise", "dense_groupwise_symmetric")
_ROWS = 4  # that share what is unpacked


def use(call: Call) -> GpuCall:
    if call.types["T"] is not DType.F32:
        raise UnsupportedError(f"{call.kernel} of {call.types['T'].value}")
    rows, inputs, outputs = (integer(call, name) for name in ("rows", "inputs", "outputs"))
    groups = Groups.of(call, inputs)
    has_zero = call.kernel == "dense_groupwise"
    w, scale, *zero, bias = (constant_of(call, i) for i in range(1, len(call.args) - 1))
    data, starts = data_of(groups, w, scale, bias, *zero)
    ends, limits = _floats.limits_of(call)
    values = integers(call, "rows inputs outputs") | starts | ends
    values |= {"words": groups.all_words, "of_group": groups.words}
    if not groups.are_whole:
        values["group"] = groups.group
    shared = _ROWS if rows >= _ROWS else 1
    kernel = _kernel(groups.dtype.bits, shared, has_zero, groups.are_whole, limits)
    return GpuCall(
        kernel,
        (0, CONSTANTS, len(call.args) - 1),
        {c.text: values[c.text] for c in kernel.constants},
        groups_for(-(-rows // shared) * outputs),
        data,
    )


@cache
def _kernel(bits: int, shared: int, has_zero: bool, are_whole: bool, limits: _floats.Limits) -> GpuKernel:
    kind = "_zero" * has_zero + "_any" * (not are_whole) + _floats.label(limits)
    k = KernelBuilder(f"dense_groupwise_s{bits}{kind}_x{shared}")
    x, w, y = elements(k, "x", DType.F32), k.buffer("w", U32), k.buffer("y", F32, writes=True)
    rows, inputs, outputs, words, of_group = k.constants("rows inputs outputs words of_group")
    scale, bias = k.constants("scale bias")
    zero = k.constant("zero") if has_zero else None
    per = 32 // bits

    def numbers(name: str) -> list[Expr]:
        return [k.var(name, number(0, F32)) for _ in range(shared)]

    first = k.let("first", k.item // outputs * shared)
    o = k.let("o", k.item % outputs)
    with k.when(first < rows):
        starts = [k.let("start", function("min", first + r, rows - 1) * inputs) for r in range(shared)]
        totals = numbers("total")
        with k.loop("g", 0, (words + of_group - 1) // of_group) as g:
            sums, plain = numbers("sum"), numbers("plain") if has_zero else []
            begin = k.let("begin", g * of_group)
            group = of_group * per if are_whole else k.constant("group")
            first_input = k.let("first_input", g * group)
            end = first_input if are_whole else k.let("end", function("min", first_input + group, inputs))
            with k.loop("c", begin, function("min", begin + of_group, words)) as c:
                word = k.let("word", w[c * outputs + o])
                at = k.let("at", first_input + (c - begin) * per)
                for j, weight in enumerate(weights_of(k, word, bits)):
                    for r, start in enumerate(starts):
                        if are_whole:
                            value = k.let("value", x[start + at + j])
                        else:  # behind the end of a group there are no inputs
                            read = x[start + function("min", at + j, end - 1)]
                            value = k.let("value", select(at + j < end, read, number(0, F32)))
                        k.set(sums[r], sums[r] + value * weight)
                        if has_zero:
                            k.set(plain[r], plain[r] + value)
            factor = k.let("factor", w[scale + g * outputs + o].bits(F32))
            for r, total in enumerate(totals):
                part = sums[r]
                if zero is not None:
                    part = part - plain[r] * w[zero + g * outputs + o].bits(F32)
                k.set(total, total + factor * part)
        for r, total in enumerate(totals):
            with k.when(first + r < rows):
                result = total + w[bias + o].bits(F32)
                k.store(y, (first + r) * outputs + o, _floats.limited(k, result, limits))
    return k.done()
