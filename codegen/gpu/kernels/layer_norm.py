"""Normalization of rows of floats: by mean and variance, or by the mean square, added up as C does it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel, function, number
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import elements, stored
from edgekit.codegen.gpu.kernels import _floats, _rows
from edgekit.codegen.gpu.quotient import divided, root
from edgekit.codegen.gpu.use import CONSTANTS, ConstantBuffer, GpuCall, constant_of, integer, real
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("layer_norm", "rms_norm")


def use(call: Call) -> GpuCall:
    dtype = _floats.float_type(call)
    n, is_centred = integer(call, "n"), call.kernel == "layer_norm"
    values, groups = _rows.values(integer(call, "rows"), n, dtype)
    data = ConstantBuffer()
    data.add(constant_of(call, 1).astype(np.float32))
    values["epsilon"] = real(call, "epsilon")
    if is_centred:
        values["bias"] = data.add(constant_of(call, 2).astype(np.float32)) // 4
    return GpuCall(_kernel(dtype, is_centred), (0, CONSTANTS, len(call.args) - 1), values, groups, data.bytes)


@cache
def _kernel(dtype: DType, is_centred: bool) -> GpuKernel:
    k = KernelBuilder(f"{'layer_norm' if is_centred else 'rms_norm'}_{dtype.value}", is_exact=not is_centred)
    x, w = elements(k, "x", dtype), elements(k, "w", DType.F32)
    y = k.buffer("y", stored(dtype), writes=True)
    parts = k.shared("parts", F32, GROUP)
    middles, inverses = k.shared("middles", F32, _rows.MAX_ROWS), k.shared("inverses", F32, _rows.MAX_ROWS)
    n, epsilon = k.constant("n"), k.constant("epsilon", F32)

    def mean(first: Expr, step: Callable[[Expr, Expr], Expr]) -> Expr:
        own = _rows.over(k, n, first, F32, 0, step)
        return k.let("mean", _rows.combined(k, parts, own, lambda a, b: a + b) / n.to(F32))

    def square(has: Expr, d: Expr) -> Expr:
        return has + d * d

    with k.loop("j", 0, k.constant("block")) as j:
        first = k.let("first", _rows.row(k, j) * n)
        middle = number(0, F32)
        if is_centred:
            rough = mean(first, lambda has, i: has + x[i])
            # What the sum lost by rounding, where the mean is far from zero.
            middle = k.let("middle", rough + mean(first, lambda has, i: has + (x[i] - rough)))
            variance = mean(first, lambda has, i: square(has, k.let("d", x[i] - middle)))
            inverse = 1 / function("sqrt", variance + epsilon)
        else:
            squares = _rows.in_lanes(k, parts, n, first, lambda has, i: square(has, k.let("d", x[i])))
            variance = k.let("variance", divided(k, squares, k.let("count", n.to(F32))))
            inverse = divided(k, number(1, F32), k.let("size", root(k, k.let("square", variance + epsilon))))
        k.store(middles, j, middle)
        k.store(inverses, j, inverse)
    k.barrier()

    def result(row: Expr, i: Expr) -> Expr:
        at = k.let("at", i % n)
        y = (x[i] - middles[row]) * inverses[row] * w[at]
        return y + w[k.constant("bias") + at] if is_centred else y

    _rows.store(k, y, dtype, result)
    return k.done()
