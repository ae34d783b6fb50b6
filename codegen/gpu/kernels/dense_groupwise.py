"""Fully connected layer of floats whose weights are integers, with a scale for each group of them.

Weights are unpacked as they are read. Of a single row (matrix times vector), several items share an output.
Of several rows, an item computes an output of up to four of them, for which it unpacks weights once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuBuffer, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import Elements, elements
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
_ROWS = 4  # at most, that share what is unpacked
_OUTPUTS, _PARTS = 16, 8  # of a work-group: outputs, and items that share the groups of one


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
    form = _Form(groups.dtype.bits, has_zero, groups.are_whole, limits)
    if rows == 1:
        kernel, work = _one_row(form), groups_for(outputs, _OUTPUTS)
    else:
        shared = max(2, min(rows, _ROWS))  # also of no rows: x1 is the name of the other form
        kernel, work = _several_rows(form, shared), groups_for(-(-rows // shared) * outputs)
    return GpuCall(
        kernel,
        (0, CONSTANTS, len(call.args) - 1),
        {c.text: values[c.text] for c in kernel.constants},
        work,
        data,
    )


@dataclass(frozen=True)
class _Form:
    """What the text of a kernel depends on."""

    bits: int
    has_zero: bool
    are_whole: bool  # all words are full
    limits: _floats.Limits

    def builder(self, suffix: str, group: int = GROUP) -> KernelBuilder:
        kind = "_zero" * self.has_zero + "_any" * (not self.are_whole) + _floats.label(self.limits)
        return KernelBuilder(f"dense_groupwise_s{self.bits}{kind}_{suffix}", group)


@dataclass(frozen=True)
class _Layer:
    """Buffers of a kernel."""

    form: _Form
    k: KernelBuilder
    x: Elements
    w: GpuBuffer
    y: GpuBuffer

    @staticmethod
    def of(form: _Form, k: KernelBuilder) -> _Layer:
        return _Layer(
            form, k, elements(k, "x", DType.F32), k.buffer("w", U32), k.buffer("y", F32, writes=True)
        )

    def count(self) -> Expr:
        """Of groups."""
        words, of_group = self.k.constants("words of_group")
        return (words + of_group - 1) // of_group

    def group(self, g: Expr, o: Expr, starts: Sequence[Expr]) -> list[Expr]:
        """What a group adds to an output, of rows that start there."""
        k, form, w = self.k, self.form, self.w
        inputs, outputs, words, of_group, scale = k.constants("inputs outputs words of_group scale")
        per = 32 // form.bits
        sums = [k.var("sum", number(0, F32)) for _ in starts]
        plain = [k.var("plain", number(0, F32)) for _ in starts if form.has_zero]
        begin = k.let("begin", g * of_group)
        group = of_group * per if form.are_whole else k.constant("group")
        first = k.let("first_input", g * group)
        end = first if form.are_whole else k.let("end", function("min", first + group, inputs))
        with k.loop("c", begin, function("min", begin + of_group, words)) as c:
            word = k.let("word", w[c * outputs + o])
            at = k.let("at", first + (c - begin) * per)
            for j, weight in enumerate(weights_of(k, word, form.bits)):
                for r, start in enumerate(starts):
                    if form.are_whole:
                        value = k.let("value", self.x[start + at + j])
                    else:  # behind the end of a group there are no inputs
                        read = self.x[start + function("min", at + j, end - 1)]
                        value = k.let("value", select(at + j < end, read, number(0, F32)))
                    k.set(sums[r], sums[r] + value * weight)
                    if form.has_zero:
                        k.set(plain[r], plain[r] + value)
        factor = k.let("factor", w[scale + g * outputs + o].bits(F32))
        if form.has_zero:
            zero = k.let("zero_point", w[k.constant("zero") + g * outputs + o].bits(F32))
            return [
                factor * (total - all_inputs * zero) for total, all_inputs in zip(sums, plain, strict=True)
            ]
        return [factor * total for total in sums]

    def store(self, at: Expr, o: Expr, total: Expr) -> None:
        result = total + self.w[self.k.constant("bias") + o].bits(F32)
        self.k.store(self.y, at, _floats.limited(self.k, result, self.form.limits))


@cache
def _one_row(form: _Form) -> GpuKernel:
    """The items of a work-group that have an output in common take its groups in turns."""
    k = form.builder("x1", _OUTPUTS * _PARTS)
    layer = _Layer.of(form, k)
    outputs = k.constant("outputs")
    held = k.shared("held", F32, _OUTPUTS * _PARTS)
    lane, part = k.let("lane", k.within % _OUTPUTS), k.let("part", k.within // _OUTPUTS)
    o = k.let("o", k.group_number * _OUTPUTS + lane)
    column = k.let("column", function("min", o, outputs - 1))
    own = k.var("own", number(0, F32))
    with k.loop("g", part, layer.count(), _PARTS) as g:
        (addend,) = layer.group(g, column, [number(0, I32)])
        k.set(own, own + addend)
    k.store(held, k.within, own)
    k.barrier()
    with k.when(part.eq(0) & (o < outputs)):
        with k.loop("i", 1, _PARTS) as i:
            k.set(own, own + held[i * _OUTPUTS + lane])
        layer.store(o, o, own)
    return k.done()


@cache
def _several_rows(form: _Form, shared: int) -> GpuKernel:
    k = form.builder(f"x{shared}")
    layer = _Layer.of(form, k)
    rows, inputs, outputs = k.constants("rows inputs outputs")
    first = k.let("first", k.item // outputs * shared)
    o = k.let("o", k.item % outputs)
    with k.when(first < rows):
        starts = [k.let("start", function("min", first + r, rows - 1) * inputs) for r in range(shared)]
        totals = [k.var("total", number(0, F32)) for _ in range(shared)]
        with k.loop("g", 0, layer.count()) as g:
            for total, addend in zip(totals, layer.group(g, o, starts), strict=True):
                k.set(total, total + addend)
        for r, total in enumerate(totals):
            with k.when(first + r < rows):
                layer.store((first + r) * outputs + o, o, total)
    return k.done()
