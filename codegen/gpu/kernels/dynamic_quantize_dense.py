"""Fully connected layer of what was quantized in this run as a whole: the bits of the simulator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, GpuBuffer, GpuKernel, function, number
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import signed_byte
from edgekit.codegen.gpu.kernels import _byte_rows
from edgekit.codegen.gpu.kernels._byte_rows import OUTPUTS, PARTS, ROWS, ByteProducts, ByteRows
from edgekit.codegen.gpu.kernels._integer_weights import Groups, data_of
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("dynamic_quantize_dense",)


def use(call: Call) -> GpuCall:
    rows, inputs, outputs = (integer(call, name) for name in ("rows", "inputs", "outputs"))
    w, sums, scale, bias = (constant_of(call, i) for i in (3, 4, 5, 6))
    groups = Groups(inputs, max(inputs, 1), DType.S8)
    data, starts = data_of(groups, w, scale[:, None], bias)
    starts["of_weights"] = len(data) // 4
    data += sums.astype(np.int32).tobytes()
    products = ByteProducts.of(groups, 255)  # less a zero point
    kernel = _one_row(products) if rows == 1 else _several_rows(products)
    values = integers(call, "rows inputs outputs") | starts | _byte_rows.values(groups, rows)
    return GpuCall(
        kernel,
        (0, 1, 2, CONSTANTS, 7),
        {c.text: values[c.text] for c in kernel.constants},
        groups_for(outputs, OUTPUTS) if rows == 1 else groups_for(-(-rows // ROWS) * outputs),
        data,
    )


@dataclass(frozen=True)
class _Layer:
    """Buffers of a kernel."""

    bytes: ByteRows
    scale: GpuBuffer
    zero: GpuBuffer
    y: GpuBuffer

    @staticmethod
    def of(products: ByteProducts, k: KernelBuilder) -> _Layer:
        x, scale, zero, w = (
            k.buffer(name, kind) for name, kind in (("x", U32), ("x_scale", F32), ("x_zero", U32), ("w", U32))
        )
        return _Layer(ByteRows(k, products, x, w), scale, zero, k.buffer("y", F32, writes=True))

    def store(self, at: Expr, o: Expr, whole: Expr) -> None:
        k, bytes = self.bytes.k, self.bytes
        zero = signed_byte(self.zero[number(0, I32)], 0)
        total = bytes.as_float(whole - zero * bytes.word("of_weights", o).bits(I32))
        factor = self.scale[number(0, I32)] * bytes.word("scale", o).bits(F32)
        k.store(self.y, at, bytes.rounded(factor * total) + bytes.word("bias", o).bits(F32))


@cache
def _one_row(products: ByteProducts) -> GpuKernel:
    k = KernelBuilder(f"dynamic_quantize_dense{products.label}_x1", OUTPUTS * PARTS)
    layer, outputs = _Layer.of(products, k), k.constant("outputs")
    lane, part, o = _byte_rows.place(k)
    whole = layer.bytes.of_work_group(k.let("column", function("min", o, outputs - 1)), lane, part)
    with k.when(part.eq(0) & (o < outputs)):
        layer.store(o, o, whole)
    return k.done()


@cache
def _several_rows(products: ByteProducts) -> GpuKernel:
    k = KernelBuilder(f"dynamic_quantize_dense{products.label}_x{ROWS}", GROUP)
    layer = _Layer.of(products, k)
    rows, inputs, outputs = k.constants("rows inputs outputs")
    first = k.let("first", k.item // outputs * ROWS)
    o = k.let("o", k.item % outputs)
    with k.when(first < rows):
        starts = [k.let("start", function("min", first + r, rows - 1) * inputs) for r in range(ROWS)]
        for r, whole in enumerate(layer.bytes.of_group(number(0, I32), o, starts)):
            with k.when(first + r < rows):
                layer.store((first + r) * outputs + o, o, whole)
    return k.done()
