"""Transposed convolution, floats and int8: each result gathers the cells that reach it."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, I32, Expr, GpuKernel
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, per_item, stored
from edgekit.codegen.gpu.kernels import _floats, _window, conv2d_int
from edgekit.codegen.gpu.kernels._rule import BOUNDS, rule_of
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("conv_transpose2d", "conv_transpose2d_int")


def use(call: Call) -> GpuCall:
    values = _window.values(call) | integers(call, "groups")
    results = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    results *= integer(call, "out_c")
    values["results"] = results
    operands = (0, CONSTANTS, len(call.args) - 1)
    w = constant_of(call, 1)
    if call.kernel.endswith("_int"):
        conv2d_int.check(call)
        values |= integers(call, f"in_zero {BOUNDS}")
        data, values = conv2d_int.with_rules(call, values, w.astype(np.int8), 4)
        types = DType.S8, DType.S8
        kernel = _kernel(types, rule_of(call), (False, False))
    else:
        types = _floats.float_type(call), _floats.weight_type(call)
        own, limits = _floats.limits_of(call)
        data, values["bias"] = _floats.with_bias(call, w.astype(types[1].numpy), 4)
        values |= own
        kernel = _kernel(types, "", limits)
    return GpuCall(kernel, operands, values, groups_for(-(-results // per_item(types[0]))), data)


@cache
def _kernel(types: _floats.Types, rule: str, limits: _floats.Limits) -> GpuKernel:
    dtype, of_w = types
    k = KernelBuilder(f"conv_transpose2d_{rule or _floats.named(types)}{_floats.label(limits)}")
    x, w, y = elements(k, "x", dtype), elements(k, "w", of_w), k.buffer("y", stored(dtype), writes=True)
    in_h, in_w, in_c, out_h, out_w, out_c, groups = k.constants("in_h in_w in_c out_h out_w out_c groups")
    k_h, k_w, dilation_h, dilation_w = k.constants("k_h k_w dilation_h dilation_w")
    stride_h, stride_w, pad_top, pad_left, bias = k.constants("stride_h stride_w pad_top pad_left bias")

    def result(i: Expr) -> Expr:
        o = k.let("o", i % out_c)
        p = k.let("pixel", i // out_c)
        depth = k.let("depth", in_c // groups)
        channel = k.let("channel", (o // (out_c // groups)) * depth)
        first = k.let("first", (p // (out_w * out_h)) * (in_h * in_w * in_c) + channel)
        bottom = k.let("bottom", (p // out_w) % out_h + pad_top)
        right = k.let("right", p % out_w + pad_left)
        acc = k.var("sum", w.buffer[bias + o].bits(I32 if rule else F32))
        with k.loop("i", 0, k_h) as down, k.loop("j", 0, k_w) as beside:
            above, aside = (
                k.let("above", bottom - down * dilation_h),
                k.let("aside", right - beside * dilation_w),
            )
            row, column = k.let("row", above // stride_h), k.let("column", aside // stride_w)
            fits = (above >= 0) & (aside >= 0) & (row < in_h) & (column < in_w)
            with k.when(fits & (above % stride_h).eq(0) & (aside % stride_w).eq(0)):
                cell = k.let("cell", first + (row * in_w + column) * in_c)
                weights = k.let("weights", ((o * k_h + down) * k_w + beside) * depth)
                with k.loop("c", 0, depth) as c:
                    value = x[cell + c] - k.constant("in_zero") if rule else x[cell + c]
                    k.set(acc, acc + value * w[weights + c])
        if not rule:
            return _floats.limited(k, acc, limits)
        m, e = (w.buffer[k.constant(at) + o].bits(I32) for at in ("multiplier", "exponent"))
        return conv2d_int.finished(k, rule, acc, m, e)

    for_each(k, y, dtype, k.constant("results"), result)
    return k.done()
