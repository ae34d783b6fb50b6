"""Softmax of rows of float32."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu import math_f32
from edgekit.codegen.gpu.ast import F32, Expr, Kernel, function
from edgekit.codegen.gpu.builder import GROUP, Builder
from edgekit.codegen.gpu.elements import elements
from edgekit.codegen.gpu.kernels import _rows, conv2d, pool2d
from edgekit.codegen.gpu.use import Use, integer
from edgekit.ir import DType
from edgekit.ops import Call

CALLS = ("softmax",)


def use(call: Call) -> Use:
    conv2d.check(call)
    values, groups = _rows.values(integer(call, "rows"), integer(call, "n"), DType.F32)
    return Use(_kernel(), (0, 1), values, groups)


@cache
def _kernel() -> Kernel:
    k = Builder("softmax_f32")
    x, y = elements(k, "x", DType.F32), k.buffer("y", F32, writes=True)
    parts = k.shared("parts", F32, GROUP)
    n = k.constant("n")
    first = k.let("first", _rows.row(k, 0) * n)
    own = _rows.over(k, n, first, F32, -pool2d.LARGEST, lambda has, i: function("max", has, x[i]))
    top = _rows.combined(k, parts, own, lambda a, b: function("max", a, b))

    def share(i: Expr) -> Expr:
        return math_f32.exp(k, k.let("below", x[i] - top))

    part = _rows.over(k, n, first, F32, 0, lambda has, i: has + share(i))
    total = _rows.combined(k, parts, part, lambda a, b: a + b)
    _rows.store(k, y, DType.F32, lambda row, i: share(i) / total)
    return k.done()
