"""Fully connected layer of rows that were quantized in this run: the bits of the simulator.

Rows of int8 meet weights of int8 or int4 with a scale for each group. Sums of a group are integers; what is
float afterwards has one order, and each product is rounded before it is added. A single row (decode) is
read by the items of a work-group together: each takes some groups of an output, or some words where there
is one group. Of several rows (prefill) an item computes one output of four.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuBuffer, GpuKernel, dot4, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.kernels import _floats
from edgekit.codegen.gpu.kernels._integer_weights import Groups, bytes_of, data_of
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("dynamic_dense",)
_ROWS = 4  # that share the words of weights
_OUTPUTS, _PARTS = 16, 8  # of a work-group: outputs, and items that share the words of one
_ROUND = 8  # groups of an item between two barriers
_EXACT = 1 << 24  # integers below it are floats


@dataclass(frozen=True)
class _Form:
    """What the text of a kernel depends on."""

    dtype: DType
    has_groups: bool  # more than one
    are_whole: bool  # words of x and of weights are full, and begin at the same inputs
    is_exact: bool  # each sum of a group is a float
    limits: _floats.Limits

    @property
    def label(self) -> str:
        forms = {"groups": self.has_groups, "any": not self.are_whole, "long": not self.is_exact}
        kinds = "".join(f"_{name}" for name, holds in forms.items() if holds)
        return f"dynamic_dense_{self.dtype.value}{kinds}{_floats.label(self.limits)}"


def use(call: Call) -> GpuCall:
    rows, inputs, outputs = (integer(call, name) for name in ("rows", "inputs", "outputs"))
    groups = Groups.of(call, inputs)
    data, starts = data_of(groups, *(constant_of(call, i) for i in (2, 3, 4)))
    ends, limits = _floats.limits_of(call)
    are_whole = groups.are_whole and inputs % 4 == 0
    is_exact = groups.group << 7 << (groups.dtype.bits - 1) <= _EXACT
    form = _Form(groups.dtype, groups.count > 1, are_whole, is_exact, limits)
    kernel = _one_row(form) if rows == 1 else _several_rows(form)
    values = integers(call, "rows inputs outputs") | starts | ends
    values |= {"words": groups.all_words, "of_group": groups.words, "group": groups.group}
    values["last"] = -(-rows * inputs // 4) - 1
    work = groups_for(outputs, _OUTPUTS) if rows == 1 else groups_for(-(-rows // _ROWS) * outputs)
    return GpuCall(
        kernel,
        (0, 1, CONSTANTS, 5),
        {c.text: values[c.text] for c in kernel.constants},
        work,
        data,
    )


@cache
def _one_row(form: _Form) -> GpuKernel:
    k = KernelBuilder(f"{form.label}_x1", _OUTPUTS * _PARTS)
    x, s, w = k.buffer("x", U32), k.buffer("s", F32), k.buffer("w", U32)
    y = k.buffer("y", F32, writes=True)
    outputs, words, of_group = k.constants("outputs words of_group")
    lane, part = k.let("lane", k.within % _OUTPUTS), k.let("part", k.within // _OUTPUTS)
    o = k.let("o", k.group_number * _OUTPUTS + lane)
    column = k.let("column", function("min", o, outputs - 1))
    total = k.var("total", number(0, F32))
    if form.has_groups:
        held = k.shared("held", F32, _OUTPUTS * _PARTS * _ROUND)
        count = k.let("count", (words + of_group - 1) // of_group)
        with k.loop("start", 0, count, _PARTS * _ROUND) as start:
            end = k.let("end", function("min", start + _PARTS * _ROUND, count))
            with k.loop("g", start + part, end, _PARTS) as g:
                (total_of_group,) = _sums(k, form, x, w, column, g, [number(0, I32)])
                product = _scale(k, w, g, column) * _float(k, form, total_of_group)
                k.store(held, (g - start) * _OUTPUTS + lane, product)
            k.barrier()
            with k.when(part.eq(0)), k.loop("i", 0, end - start) as i:
                k.set(total, total + held[i * _OUTPUTS + lane])
            k.barrier()
    else:
        sums = k.shared("sums", I32, _OUTPUTS * _PARTS)
        own = k.var("own", number(0, I32))
        with k.loop("c", part, words, _PARTS) as c:
            _add_word(
                k, form, x, w[c * outputs + column], c * (32 // form.dtype.bits), [number(0, I32)], [own]
            )
        k.store(sums, k.within, own)
        k.barrier()
        with k.when(part.eq(0)):
            whole = k.var("whole", own)
            with k.loop("i", 1, _PARTS) as i:
                k.set(whole, whole + sums[i * _OUTPUTS + lane])
            factor = _scale(k, w, number(0, I32), column)
            k.set(total, total + factor * _float(k, form, _shifted(form, whole)))
    with k.when(part.eq(0) & (o < outputs)):
        k.store(y, o, _finished(k, form, w, total, s[number(0, I32)], o))
    return k.done()


@cache
def _several_rows(form: _Form) -> GpuKernel:
    k = KernelBuilder(f"{form.label}_x{_ROWS}")
    x, s, w = k.buffer("x", U32), k.buffer("s", F32), k.buffer("w", U32)
    y = k.buffer("y", F32, writes=True)
    rows, inputs, outputs, words, of_group = k.constants("rows inputs outputs words of_group")
    first = k.let("first", k.item // outputs * _ROWS)
    o = k.let("o", k.item % outputs)
    with k.when(first < rows):
        starts = [k.let("start", function("min", first + r, rows - 1) * inputs) for r in range(_ROWS)]
        totals = [k.var("total", number(0, F32)) for _ in range(_ROWS)]
        with k.loop("g", 0, (words + of_group - 1) // of_group if form.has_groups else 1) as g:
            factor = k.let("factor", _scale(k, w, g, o))
            for total, whole in zip(totals, _sums(k, form, x, w, o, g, starts), strict=True):
                product = factor * _float(k, form, whole)
                k.set(total, total + _floats.rounded(product, _nothing(k, w)))
        for r, total in enumerate(totals):
            with k.when(first + r < rows):
                k.store(y, (first + r) * outputs + o, _finished(k, form, w, total, s[first + r], o))
    return k.done()


def _sums(
    k: KernelBuilder, form: _Form, x: GpuBuffer, w: GpuBuffer, o: Expr, g: Expr, starts: Sequence[Expr]
) -> list[Expr]:
    """Of the products of a group, for each row."""
    outputs, words, of_group = k.constants("outputs words of_group")
    per = 32 // form.dtype.bits
    sums = [k.var("sum", number(0, I32)) for _ in starts]
    begin = k.let("begin", g * of_group)
    first = k.let("first_input", begin * per if form.are_whole else g * k.constant("group"))
    with k.loop("c", begin, function("min", begin + of_group, words)) as c:
        _add_word(k, form, x, w[c * outputs + o], first + (c - begin) * per, starts, sums)
    return [_shifted(form, total) for total in sums]


def _add_word(
    k: KernelBuilder,
    form: _Form,
    x: GpuBuffer,
    word: Expr,
    i: Expr,
    starts: Sequence[Expr],
    sums: Sequence[Expr],
) -> None:
    """The products of a word of weights, the first of which is for input i of rows that start there."""
    weights = [k.let("weights", four) for four in bytes_of(k.let("word", word), form.dtype.bits)]
    for start, total in zip(starts, sums, strict=True):
        at = k.let("at", start + i)
        for j, four in enumerate(weights):
            k.set(total, dot4(_inputs(k, form, x, at + 4 * j), four, total))


def _inputs(k: KernelBuilder, form: _Form, x: GpuBuffer, at: Expr) -> Expr:
    """Four bytes of x. Those behind the end of a group meet weights that are 0."""
    if form.are_whole:
        return x[at >> 2]
    last = k.constant("last")
    low, high = (k.let("word", x[function("min", (at >> 2) + i, last)]) for i in range(2))
    by = k.let("by", ((at & 3) << 3).to(U32))
    return select(by.eq(0), low, (low >> by) | (high << ((32 - by) & 31)))


def _shifted(form: _Form, total: Expr) -> Expr:
    """Weights of 4 bits were multiplied as 16 times as much."""
    return total if form.dtype is DType.S8 else total >> 4


def _float(k: KernelBuilder, form: _Form, total: Expr) -> Expr:
    """The nearest float: of large integers, languages promise one of both neighbours."""
    if form.is_exact:
        return total.to(F32)
    whole = k.let("whole", total)
    return (whole >> 12).to(F32) * 4096 + (whole & 4095).to(F32)


def _scale(k: KernelBuilder, w: GpuBuffer, g: Expr, o: Expr) -> Expr:
    return w[k.constant("scale") + g * k.constant("outputs") + o].bits(F32)


def _nothing(k: KernelBuilder, w: GpuBuffer) -> Expr:
    return w[k.constant("nothing")]


def _finished(k: KernelBuilder, form: _Form, w: GpuBuffer, total: Expr, s: Expr, o: Expr) -> Expr:
    product = _floats.rounded(total * s, _nothing(k, w))
    return _floats.limited(k, product + w[k.constant("bias") + o].bits(F32), form.limits)
