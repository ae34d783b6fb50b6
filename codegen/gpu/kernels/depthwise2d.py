"""Depthwise convolution of float32: four channels of a pixel at a time."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, F32X4, Expr, Kernel
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.elements import elements, for_each
from edgekit.codegen.gpu.kernels import _window, conv2d
from edgekit.codegen.gpu.use import CONSTANTS, Use, constant_of, groups_for, integer
from edgekit.ir import DType
from edgekit.ops import Call

CALLS = ("depthwise2d",)


def use(call: Call) -> Use:
    conv2d.check(call)
    in_c, out_c = integer(call, "in_c"), integer(call, "out_c")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    own, limits = conv2d.limits_of(call)
    values = _window.values(call) | {"pixels": pixels} | own
    w = constant_of(call, 1).astype(np.float32).transpose(1, 2, 3, 0)  # H W 1 O
    operands = (0, CONSTANTS, len(call.args) - 1)
    if in_c == out_c and out_c % 4 == 0:
        data, values["bias"] = conv2d.with_bias(call, w, 16)
        return Use(_quads(limits), operands, values, groups_for(pixels * out_c // 4), data)
    data, values["bias"] = conv2d.with_bias(call, w, 4)
    return Use(_any(limits), operands, values, groups_for(pixels * out_c), data)


@cache
def _quads(limits: conv2d.Limits) -> Kernel:
    k = Builder(f"depthwise2d_f32{conv2d.label(limits)}")
    x, w, y = k.buffer("x", F32X4), k.buffer("w", F32X4), k.buffer("y", F32X4, writes=True)
    in_h, in_w, in_c, out_c, pixels, bias = k.constants("in_h in_w in_c out_c pixels bias")
    quads = k.let("quads", out_c >> 2)
    quad = k.let("quad", k.item % quads)
    p = k.let("pixel", k.item // quads)
    with k.when(p < pixels):
        at = _window.pixel(k, p)
        acc = k.var("sum", w[bias + quad])
        with _window.taps(k) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            with k.when(is_inside):
                cell = ((at.image * in_h + row) * in_w + column) * (in_c >> 2) + quad
                k.set(acc, acc + x[cell] * w[tap * quads + quad])
        k.store(y, k.item, conv2d.limited(k, acc, limits))
    return k.done()


@cache
def _any(limits: conv2d.Limits) -> Kernel:
    """Element by element; several outputs may read one channel."""
    k = Builder(f"depthwise2d_f32_any{conv2d.label(limits)}")
    x, w, y = elements(k, "x", DType.F32), elements(k, "w", DType.F32), k.buffer("y", F32, writes=True)
    in_h, in_w, in_c, out_c, pixels, bias = k.constants("in_h in_w in_c out_c pixels bias")

    def result(i: Expr) -> Expr:
        o = k.let("o", i % out_c)
        channel = k.let("channel", o // (out_c // in_c))
        at = _window.pixel(k, i // out_c)
        acc = k.var("sum", w[bias + o])
        with _window.taps(k) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            with k.when(is_inside):
                cell = ((at.image * in_h + row) * in_w + column) * in_c + channel
                k.set(acc, acc + x[cell] * w[tap * out_c + o])
        return conv2d.limited(k, acc, limits)

    for_each(k, y, DType.F32, pixels * out_c, result)
    return k.done()
