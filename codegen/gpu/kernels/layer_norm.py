"""Normalization of rows of float32: by mean and variance, or by the mean square alone."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, Expr, Kernel, function, number
from edgekit.codegen.gpu.builder import GROUP, Builder
from edgekit.codegen.gpu.elements import elements
from edgekit.codegen.gpu.kernels import _rows, conv2d
from edgekit.codegen.gpu.use import CONSTANTS, Data, Use, constant_of, integer, real
from edgekit.ir import DType
from edgekit.ops import Call

CALLS = ("layer_norm", "rms_norm")


def use(call: Call) -> Use:
    conv2d.check(call)
    n, is_centred = integer(call, "n"), call.kernel == "layer_norm"
    values, groups = _rows.values(integer(call, "rows"), n, DType.F32)
    data = Data()
    data.add(constant_of(call, 1).astype(np.float32))
    values["epsilon"] = real(call, "epsilon")
    if is_centred:
        values["bias"] = data.add(constant_of(call, 2).astype(np.float32)) // 4
    return Use(_kernel(is_centred), (0, CONSTANTS, len(call.args) - 1), values, groups, data.bytes)


@cache
def _kernel(is_centred: bool) -> Kernel:
    k = Builder("layer_norm_f32" if is_centred else "rms_norm_f32")
    x, w = elements(k, "x", DType.F32), elements(k, "w", DType.F32)
    y = k.buffer("y", F32, writes=True)
    parts = k.shared("parts", F32, GROUP)
    n, epsilon = k.constant("n"), k.constant("epsilon", F32)
    first = k.let("first", _rows.row(k, 0) * n)

    def mean(of: Expr) -> Expr:
        return k.let("mean", _rows.combined(k, parts, of, lambda a, b: a + b) / n.to(F32))

    def square(has: Expr, i: Expr) -> Expr:
        d = k.let("d", x[i] - middle)
        return has + d * d

    middle = number(0, F32)
    if is_centred:
        rough = mean(_rows.over(k, n, first, F32, 0, lambda has, i: has + x[i]))
        # What the sum lost by rounding, where the mean is far from zero.
        middle = rough + mean(_rows.over(k, n, first, F32, 0, lambda has, i: has + (x[i] - rough)))
    variance = mean(_rows.over(k, n, first, F32, 0, square))
    inverse = k.let("inverse", 1 / function("sqrt", variance + epsilon))

    def result(row: Expr, i: Expr) -> Expr:
        at = k.let("at", i - first)
        y = (x[i] - middle) * inverse * w[at]
        return y + w[k.constant("bias") + at] if is_centred else y

    _rows.store(k, y, DType.F32, result)
    return k.done()
