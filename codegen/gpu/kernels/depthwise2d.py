"""Depthwise convolution of floats: four channels of a pixel at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from edgekit.codegen.gpu.ast import F32, Expr, Kernel, number, select, splat
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.elements import elements, for_each, fours, per_item, stored
from edgekit.codegen.gpu.kernels import _floats, _window, conv2d
from edgekit.codegen.gpu.use import CONSTANTS, Use, constant_of, groups_for, integer
from edgekit.ops import Call

CALLS = ("depthwise2d",)
_LONGEST, _WIDEST = 6, 5  # runs of pixels, and windows, that fit registers


def use(call: Call) -> Use:
    if integer(call, "in_c") == 1:
        return conv2d.use(_as_convolution(call))
    types = _floats.float_type(call), _floats.weight_type(call)
    in_c, out_c = integer(call, "in_c"), integer(call, "out_c")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    own, limits = _floats.limits_of(call)
    values = _window.values(call) | {"pixels": pixels} | own
    w = constant_of(call, 1).astype(types[1].numpy).transpose(1, 2, 3, 0)  # H W 1 O
    operands = (0, CONSTANTS, len(call.args) - 1)
    if in_c == out_c and out_c % 4 == 0:
        data, values["bias"] = _floats.with_bias(call, w, 16)
        run = _run(call)
        if run == 1:
            return Use(_quads(types, limits), operands, values, groups_for(pixels * out_c // 4), data)
        kernel = _runs(types, limits, run, integer(call, "k_w"), integer(call, "stride_w"))
        rows = integer(call, "batch") * integer(call, "out_h")
        used = {c.text for c in kernel.constants}
        values = {name: value for name, value in (values | {"rows": rows}).items() if name in used}
        items = rows * -(-integer(call, "out_w") // run) * out_c // 4
        return Use(kernel, operands, values, groups_for(items), data)
    data, values["bias"] = _floats.with_bias(call, w, 4)
    groups = groups_for(-(-pixels * out_c // per_item(types[0])))
    return Use(_any(types, limits), operands, values, groups, data)


def _as_convolution(call: Call) -> Call:
    """Of one channel it is any other."""
    steps = {"step_h": integer(call, "in_w"), "step_w": 1, "step_c": 1}
    return replace(call, kernel="conv2d", params={**call.params, "groups": 1, **steps})


def _run(call: Call) -> int:
    """How many pixels of a row an item computes: those with the fewest loads, of cells and of weights."""
    k_w, stride, out_w = (integer(call, name) for name in ("k_w", "stride_w", "out_w"))
    if integer(call, "dilation_w") > 1 or k_w > _WIDEST:
        return 1
    return min(range(1, _LONGEST + 1), key=lambda n: -(-out_w // n) * ((n - 1) * stride + 2 * k_w))


@cache
def _runs(types: _floats.Types, limits: _floats.Limits, pixels: int, k_w: int, stride: int) -> Kernel:
    """Pixels side by side share cells of their windows, which are `k_w` wide and `stride` apart."""
    dtype, of_w = types
    k = Builder(f"depthwise2d_{_floats.named(types)}_x{pixels}_w{k_w}s{stride}{_floats.label(limits)}")
    x, w, y = fours(k, "x", dtype), fours(k, "w", of_w), fours(k, "y", dtype, writes=True)
    in_h, in_w, out_h, out_w, out_c, rows, bias = k.constants("in_h in_w out_h out_w out_c rows bias")
    k_h, stride_h, dilation_h, pad_top, pad_left = k.constants("k_h stride_h dilation_h pad_top pad_left")
    quads = k.let("quads", out_c >> 2)
    quad = k.let("quad", k.item % quads)
    runs = k.let("runs", (out_w + (pixels - 1)) // pixels)
    run = k.let("run", k.item // quads)
    row = k.let("row", run // runs)
    first = k.let("first", (run % runs) * pixels)
    with k.when(row < rows):
        top = k.let("top", (row % out_h) * stride_h - pad_top)
        left = k.let("left", first * stride - pad_left)
        columns = [k.let("column", left + n) for n in range((pixels - 1) * stride + k_w)]
        are_inside = [k.let("is_inside", (column >= 0) & (column < in_w)) for column in columns]
        cells = [
            k.let("cell", select(is_inside, column, 0) * quads + quad)
            for column, is_inside in zip(columns, are_inside, strict=True)
        ]
        start = k.let("start", w.wide(bias + quad))
        acc = [k.var("sum", start) for _ in range(pixels)]
        with k.loop("i", 0, k_h) as i:
            in_row = k.let("in_row", top + i * dilation_h)
            with k.when((in_row >= 0) & (in_row < in_h)):
                line = k.let("line", ((row // out_h) * in_h + in_row) * in_w * quads)
                weights = [k.let("weight", w[(i * k_w + j) * quads + quad]) for j in range(k_w)]
                for n, (cell, is_inside) in enumerate(zip(cells, are_inside, strict=True)):
                    value = k.let("value", select(splat(is_inside), x[line + cell], splat(number(0, F32))))
                    for p, total in enumerate(acc):
                        if 0 <= n - p * stride < k_w:
                            k.set(total, total + value * weights[n - p * stride])
        for p, total in enumerate(acc):
            with k.when(first + p < out_w):
                y.store((row * out_w + first + p) * quads + quad, _floats.limited(k, total, limits))
    return k.done()


@cache
def _quads(types: _floats.Types, limits: _floats.Limits) -> Kernel:
    dtype, of_w = types
    k = Builder(f"depthwise2d_{_floats.named(types)}{_floats.label(limits)}")
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
        y.store(k.item, _floats.limited(k, acc, limits))
    return k.done()


@cache
def _any(types: _floats.Types, limits: _floats.Limits) -> Kernel:
    """Element by element; several outputs may read one channel."""
    dtype, of_w = types
    k = Builder(f"depthwise2d_{_floats.named(types)}_any{_floats.label(limits)}")
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
        return _floats.limited(k, acc, limits)

    for_each(k, y, dtype, pixels * out_c, result)
    return k.done()
