"""Softmax of rows of int8 by TFLite's rule: exponentials from a table, a reciprocal by Newton."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import elements
from edgekit.codegen.gpu.fixed import high_product, shift_away
from edgekit.codegen.gpu.kernels import _rows
from edgekit.codegen.gpu.use import CONSTANTS, ConstantBuffer, GpuCall, constant_of, integer
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("softmax_s8_tfl",)
_MAX_INT32 = (1 << 31) - 1


def use(call: Call) -> GpuCall:
    values, groups = _rows.values(integer(call, "rows"), integer(call, "n"), DType.S8)
    data = ConstantBuffer()
    data.add(constant_of(call, 1).astype(np.int32))
    return GpuCall(_kernel(), (0, CONSTANTS, 2), values, groups, data.bytes)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("softmax_tfl")
    x, e = elements(k, "x", DType.S8), k.buffer("e", I32)
    y = k.buffer("y", U32, writes=True)
    n = k.constant("n")
    parts = k.shared("parts", I32, GROUP)
    largest, rooms, inverses = (
        k.shared(name, I32, _rows.MAX_ROWS) for name in ("largest", "rooms", "inverses")
    )

    def with_share(top: Expr, has: Expr, i: Expr) -> Expr:
        d = k.let("d", x[i] - top)
        return has + shift_away(k, e[function("max", d, -255) * -1], number(12, I32))

    with k.loop("j", 0, k.constant("block")) as j:
        first = k.let("first", _rows.row(k, j) * n)
        own = _rows.over(k, n, first, I32, -128, lambda has, i: function("max", has, x[i]))
        top = _rows.combined(k, parts, own, lambda a, b: function("max", a, b))
        part = _rows.over(k, n, first, I32, 0, lambda has, i: with_share(top, has, i))
        total = k.let("total", _rows.combined(k, parts, part, lambda a, b: a + b).bits(U32))
        room = k.let("room", function("clz", total))
        fraction = k.let("fraction", ((total << room) - number(0x80000000, U32)).bits(I32))
        k.store(largest, j, top)
        k.store(rooms, j, room.bits(I32))
        k.store(inverses, j, _reciprocal_of_one_plus(k, fraction))
    k.barrier()

    def result(row: Expr, i: Expr) -> Expr:
        d = k.let("d", x[i] - largest[row])
        product = k.let("product", high_product(k, e[-d], k.let("inverse", inverses[row])))
        share = shift_away(k, product, 35 - rooms[row])
        return function("min", function("max", share - 128, -128), 127)

    _rows.store(k, y, DType.S8, result)
    return k.done()


def _reciprocal_of_one_plus(k: KernelBuilder, a: Expr) -> Expr:
    """1 / (1 + a) for a in [0, 1), as fixed.h computes it."""
    half = k.let("halved", ((a.bits(U32) + number(1 << 31, U32)) >> 1).bits(I32))
    x = k.var("estimate", high_product(k, half, number(-1010580540, I32)) + 1515870810)
    for _ in range(3):
        rest = k.let("rest", number(1 << 29, I32) - high_product(k, half, x))
        k.set(x, x + _shift_up(k, high_product(k, x, rest), 2))
    return _shift_up(k, x, 1)


def _shift_up(k: KernelBuilder, x: Expr, bits: int) -> Expr:
    """x 2^bits, saturated."""
    limit = 1 << (31 - bits)
    y = k.let("x", x)
    low = select(y < -limit, number(-_MAX_INT32 - 1, I32), y << bits)
    return select(y >= limit, number(_MAX_INT32, I32), low)
