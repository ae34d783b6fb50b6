"""Normalization of rows of int8. The sums behind the root have two words."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import I32, U32, Expr, GpuBuffer, GpuKernel, function, number, select
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import elements
from edgekit.codegen.gpu.fixed import clamped, rounded_product
from edgekit.codegen.gpu.kernels import _rows
from edgekit.codegen.gpu.use import CONSTANTS, ConstantBuffer, GpuCall, constant_of, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("norm_s8",)


def use(call: Call) -> GpuCall:
    values, groups = _rows.values(integer(call, "rows"), integer(call, "n"), DType.S8)
    values |= integers(call, "centre x_zero epsilon digits shift lo hi")
    data = ConstantBuffer()
    data.add(constant_of(call, 1).astype(np.int32))
    for name, i in (("gain", 2), ("bias", 3)):
        values[name] = data.add(constant_of(call, i).astype(np.int32)) // 4
    return GpuCall(_kernel(), (0, CONSTANTS, len(call.args) - 1), values, groups, data.bytes)


@cache
def _kernel() -> GpuKernel:
    k = KernelBuilder("norm_s8")
    x, w, y = elements(k, "x", DType.S8), k.buffer("w", I32), k.buffer("y", U32, writes=True)
    parts = k.shared("parts", I32, GROUP)
    means, roots, shifts = (k.shared(name, I32, _rows.MAX_ROWS) for name in ("means", "roots", "shifts"))
    n, centre, x_zero, epsilon, digits = k.constants("n centre x_zero epsilon digits")
    down, lo, hi, gain, bias = k.constants("shift lo hi gain bias")

    def square(has: Expr, i: Expr) -> Expr:
        u = k.let("u", x[i] - x_zero)
        return has + u * u

    with k.loop("j", 0, k.constant("block")) as j:
        first = k.let("first", _rows.row(k, j) * n)
        own = _rows.over(k, n, first, I32, 0, lambda has, i: has + (x[i] - x_zero))
        total = k.let("total", _rows.combined(k, parts, own, lambda a, b: a + b) * centre)
        squares = _rows.combined(k, parts, _rows.over(k, n, first, I32, 0, square), lambda a, b: a + b)
        root, by = _reciprocal_root(k, w, *_variance(k, n, k.let("more", squares + epsilon), total))
        k.store(means, j, total)
        k.store(roots, j, root)
        k.store(shifts, j, by - digits)
    k.barrier()

    def result(row: Expr, i: Expr) -> Expr:
        d = k.let("d", n * (x[i] - x_zero) - means[row])
        z = k.let("z", rounded_product(k, d, k.let("root", roots[row]), k.let("by", shifts[row])))
        at = k.let("at", i % n)
        return clamped((z * w[gain + at] + w[bias + at]) >> down, lo, hi)

    _rows.store(k, y, DType.S8, result)
    return k.done()


def _variance(k: KernelBuilder, n: Expr, squares: Expr, total: Expr) -> tuple[Expr, Expr]:
    """n squares - total^2 as two words, at least 1."""
    a, b, c = (k.let("word", v.bits(U32)) for v in (n, squares, select(total < 0, -total, total)))
    low, less = k.let("low", a * b), k.let("less", c * c)
    high = function("mulhi", a, b) - function("mulhi", c, c)
    high = k.let("high", high - select(low < less, number(1, U32), number(0, U32)))
    rest = k.let("rest", low - less)
    is_nothing = high.eq(0) & rest.eq(0)
    return high, k.let("low", select(is_nothing, number(1, U32), rest))


def _reciprocal_root(k: KernelBuilder, seed: GpuBuffer, high: Expr, low: Expr) -> tuple[Expr, Expr]:
    """(R, shift) with R / 2^shift = 1 / sqrt(v), as fixed.h computes it."""
    is_short = high.eq(0)
    zeros = select(is_short, function("clz", low) + 32, function("clz", high))
    bits = k.let("bits", 64 - zeros.bits(I32))
    half = k.let("by", (function("max", bits - 2, 0) + 1) // 2 - 15)
    right = k.let("right", (function("max", half, 0) * 2).to(U32))
    # By 32 and more at once, no language shifts.
    crossed = select(right.eq(0), low, (low >> (right & 31)) | (high << ((32 - right) & 31)))
    moved = select(right >= 32, high >> (right & 31), crossed)
    m = k.let("m", select(half < 0, low << (function("max", -half, 0) * 2).to(U32), moved))
    root = k.var("root", (256 + seed[((m >> 24) - 64).bits(I32)]).bits(U32) << 22)
    for _ in range(2):
        square = function("mulhi", m, function("mulhi", root, root))
        rest = k.let("rest", number(3 << 28, U32) - square)
        k.set(root, function("mulhi", root, rest << 2) << 1)
    return function("min", root, 0x7FFFFFFF).bits(I32), half + 46
