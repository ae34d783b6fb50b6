"""Depthwise convolution of floats: four channels of a pixel at a time."""

from __future__ import annotations

from functools import cache

from edgekit.codegen.gpu.ast import F32, Expr, Kernel
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.elements import elements, for_each, fours, per_item, stored
from edgekit.codegen.gpu.kernels import _window, conv2d
from edgekit.codegen.gpu.use import CONSTANTS, Use, constant_of, groups_for, integer
from edgekit.ops import Call

CALLS = ("depthwise2d",)


def use(call: Call) -> Use:
    types = conv2d.float_type(call), conv2d.weight_type(call)
    in_c, out_c = integer(call, "in_c"), integer(call, "out_c")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    own, limits = conv2d.limits_of(call)
    values = _window.values(call) | {"pixels": pixels} | own
    w = constant_of(call, 1).astype(types[1].numpy).transpose(1, 2, 3, 0)  # H W 1 O
    operands = (0, CONSTANTS, len(call.args) - 1)
    if in_c == out_c and out_c % 4 == 0:
        data, values["bias"] = conv2d.with_bias(call, w, 16)
        return Use(_quads(types, limits), operands, values, groups_for(pixels * out_c // 4), data)
    data, values["bias"] = conv2d.with_bias(call, w, 4)
    groups = groups_for(-(-pixels * out_c // per_item(types[0])))
    return Use(_any(types, limits), operands, values, groups, data)


@cache
def _quads(types: conv2d.Types, limits: conv2d.Limits) -> Kernel:
    dtype, of_w = types
    k = Builder(f"depthwise2d_{conv2d.named(types)}{conv2d.label(limits)}")
    x, w, y = fours(k, "x", dtype), fours(k, "w", of_w), fours(k, "y", dtype, writes=True)
    in_h, in_w, in_c, out_c, pixels, bias = k.constants("in_h in_w in_c out_c pixels bias")
    quads = k.let("quads", out_c >> 2)
    quad = k.let("quad", k.item % quads)
    p = k.let("pixel", k.item // quads)
    with k.when(p < pixels):
        at = _window.pixel(k, p)
        acc = k.var("sum", w.wide(bias + quad))
        with _window.taps(k) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            with k.when(is_inside):
                cell = ((at.image * in_h + row) * in_w + column) * (in_c >> 2) + quad
                k.set(acc, acc + x[cell] * w[tap * quads + quad])
        y.store(k, k.item, conv2d.limited(k, acc, limits))
    return k.done()


@cache
def _any(types: conv2d.Types, limits: conv2d.Limits) -> Kernel:
    """Element by element; several outputs may read one channel."""
    dtype, of_w = types
    k = Builder(f"depthwise2d_{conv2d.named(types)}_any{conv2d.label(limits)}")
    x, w, y = elements(k, "x", dtype), elements(k, "w", of_w), k.buffer("y", stored(dtype), writes=True)
    in_h, in_w, in_c, out_c, pixels, bias = k.constants("in_h in_w in_c out_c pixels bias")

    def result(i: Expr) -> Expr:
        o = k.let("o", i % out_c)
        channel = k.let("channel", o // (out_c // in_c))
        at = _window.pixel(k, i // out_c)
        acc = k.var("sum", w.buffer[bias + o].bits(F32))
        with _window.taps(k) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            with k.when(is_inside):
                cell = ((at.image * in_h + row) * in_w + column) * in_c + channel
                k.set(acc, acc + x[cell] * w[tap * out_c + o])
        return conv2d.limited(k, acc, limits)

    for_each(k, y, dtype, pixels * out_c, result)
    return k.done()
