"""Fully connected layer of rows that were quantized in this run: the bits of the simulator.

Rows of int8 meet weights of int8 or int4 with a scale for each group. Sums of a group are integers; what
is float afterwards has one order, and each product is rounded before it is added. A single row (decode)
is read by the items of a work-group together: each takes some groups of an output, or some words where
there is one group. Of several rows (prefill) an item computes one output of four.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuBuffer, GpuKernel, function, number
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.kernels import _byte_rows, _floats
from edgekit.codegen.gpu.kernels._byte_rows import OUTPUTS, PARTS, ROWS, ByteProducts, ByteRows
from edgekit.codegen.gpu.kernels._integer_weights import Groups, data_of
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer, integers
from edgekit.core.ops import Call

CALLS = ("dynamic_dense",)
_ROUND = 8  # groups of an item between two barriers


@dataclass(frozen=True)
class _Form:
    """What the text of a kernel depends on."""

    products: ByteProducts
    has_groups: bool  # more than one
    limits: _floats.Limits

    def builder(self, suffix: str, group: int) -> KernelBuilder:
        kind = "_groups" * self.has_groups + self.products.label + _floats.label(self.limits)
        return KernelBuilder(f"dynamic_dense_{self.products.dtype.value}{kind}_{suffix}", group)


def use(call: Call) -> GpuCall:
    rows, inputs, outputs = (integer(call, name) for name in ("rows", "inputs", "outputs"))
    groups = Groups.of(call, inputs)
    data, starts = data_of(groups, *(constant_of(call, i) for i in (2, 3, 4)))
    ends, limits = _floats.limits_of(call)
    form = _Form(ByteProducts.of(groups, 128), groups.count > 1, limits)
    kernel = _one_row(form) if rows == 1 else _several_rows(form)
    values = integers(call, "rows inputs outputs") | starts | ends | _byte_rows.values(groups, rows)
    return GpuCall(
        kernel,
        (0, 1, CONSTANTS, 5),
        {c.text: values[c.text] for c in kernel.constants},
        groups_for(outputs, OUTPUTS) if rows == 1 else groups_for(-(-rows // ROWS) * outputs),
        data,
    )


@dataclass(frozen=True)
class _Layer:
    """Buffers of a kernel."""

    form: _Form
    bytes: ByteRows
    s: GpuBuffer
    y: GpuBuffer

    @staticmethod
    def of(form: _Form, k: KernelBuilder) -> _Layer:
        x, s, w = k.buffer("x", U32), k.buffer("s", F32), k.buffer("w", U32)
        return _Layer(form, ByteRows(k, form.products, x, w), s, k.buffer("y", F32, writes=True))

    @property
    def count(self) -> Expr | int:
        """Of groups."""
        words, of_group = self.bytes.k.constants("words of_group")
        return (words + of_group - 1) // of_group if self.form.has_groups else 1

    def scale(self, g: Expr, o: Expr) -> Expr:
        return self.bytes.word("scale", g * self.bytes.k.constant("outputs") + o).bits(F32)

    def store(self, at: Expr, row: Expr, o: Expr, total: Expr) -> None:
        k = self.bytes.k
        y = self.bytes.rounded(total * self.s[row]) + self.bytes.word("bias", o).bits(F32)
        k.store(self.y, at, _floats.limited(k, y, self.form.limits))


@cache
def _one_row(form: _Form) -> GpuKernel:
    k = form.builder("x1", OUTPUTS * PARTS)
    layer = _Layer.of(form, k)
    lane, part, o = _byte_rows.place(k)
    column = k.let("column", function("min", o, k.constant("outputs") - 1))
    total = k.var("total", number(0, F32))
    if form.has_groups:
        _add_groups(k, layer, total, column, lane, part)
    else:
        whole = layer.bytes.of_work_group(column, lane, part)
        k.set(total, total + layer.scale(number(0, I32), column) * layer.bytes.as_float(whole))
    with k.when(part.eq(0) & (o < k.constant("outputs"))):
        layer.store(o, number(0, I32), o, total)
    return k.done()


def _add_groups(k: KernelBuilder, layer: _Layer, total: Expr, o: Expr, lane: Expr, part: Expr) -> None:
    """Items leave the products of their groups in memory, from where part 0 adds them in order."""
    held = k.shared("held", F32, OUTPUTS * PARTS * _ROUND)
    count = layer.count
    with k.loop("start", 0, count, PARTS * _ROUND) as start:
        end = k.let("end", function("min", start + PARTS * _ROUND, count))
        with k.loop("g", start + part, end, PARTS) as g:
            (whole,) = layer.bytes.of_group(g, o, [number(0, I32)])
            product = layer.scale(g, o) * layer.bytes.as_float(whole)
            k.store(held, (g - start) * OUTPUTS + lane, product)
        k.barrier()
        with k.when(part.eq(0)), k.loop("i", 0, end - start) as i:
            k.set(total, total + held[i * OUTPUTS + lane])
        k.barrier()


@cache
def _several_rows(form: _Form) -> GpuKernel:
    k = form.builder(f"x{ROWS}", GROUP)
    layer = _Layer.of(form, k)
    rows, inputs, outputs = k.constants("rows inputs outputs")
    first = k.let("first", k.item // outputs * ROWS)
    o = k.let("o", k.item % outputs)
    with k.when(first < rows):
        starts = [k.let("start", function("min", first + r, rows - 1) * inputs) for r in range(ROWS)]
        totals = [k.var("total", number(0, F32)) for _ in range(ROWS)]
        with k.loop("g", 0, layer.count) as g:
            factor = k.let("factor", layer.scale(g, o))
            for total, whole in zip(totals, layer.bytes.of_group(g, o, starts), strict=True):
                k.set(total, total + layer.bytes.rounded(factor * layer.bytes.as_float(whole)))
        for r, total in enumerate(totals):
            with k.when(first + r < rows):
                layer.store((first + r) * outputs + o, first + r, o, total)
    return k.done()
