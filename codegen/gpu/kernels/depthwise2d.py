"""Depthwise convolution of floats: four channels of some pixels at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel, number, select, splat
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, fours, per_item, stored
from edgekit.codegen.gpu.kernels import _floats, _runs, _window, conv2d
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer
from edgekit.core.ops import Call

CALLS = ("depthwise2d",)
_WIDEST = 5  # of windows whose weights fit registers


def use(call: Call) -> GpuCall:
    if integer(call, "in_c") == 1:
        return conv2d.use(as_convolution(call))
    types = _floats.float_type(call), _floats.weight_type(call)
    in_c, out_c = integer(call, "in_c"), integer(call, "out_c")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    own, limits = _floats.limits_of(call)
    values = _window.values(call) | {"pixels": pixels} | own
    w = constant_of(call, 1).astype(types[1].numpy).transpose(1, 2, 3, 0)  # H W 1 O
    operands = (0, CONSTANTS, len(call.args) - 1)
    if in_c == out_c and out_c % 4 == 0:
        data, values["bias"] = _floats.with_bias(call, w, 16)
        if shape := _runs.shape(call, _WIDEST):
            return _runs.use(call, shape, _in_runs(types, limits, shape), values, data)
        return GpuCall(_quads(types, limits), operands, values, groups_for(pixels * out_c // 4), data)
    data, values["bias"] = _floats.with_bias(call, w, 4)
    groups = groups_for(-(-pixels * out_c // per_item(types[0])))
    return GpuCall(_any(types, limits), operands, values, groups, data)


def as_convolution(call: Call) -> Call:
    """Of one channel it is any other; integers are, too."""
    steps = {"step_h": integer(call, "in_w"), "step_w": 1, "step_c": 1}
    return replace(
        call, kernel=call.kernel.replace("depthwise", "conv"), params={**call.params, "groups": 1, **steps}
    )


@cache
def _in_runs(types: _floats.Types, limits: _floats.Limits, shape: _runs.Shape) -> GpuKernel:
    """Some pixels of a row at a time."""
    dtype, of_w = types
    k = KernelBuilder(f"depthwise2d_{_floats.named(types)}_{shape.label}{_floats.label(limits)}")
    x, w, y = fours(k, "x", dtype), fours(k, "w", of_w), fours(k, "y", dtype, writes=True)
    bias, out_w = k.constants("bias out_w")
    with _runs.each(k, shape) as run:
        start = k.let("start", w.wide(bias + run.quad))
        acc = [k.var("sum", start) for _ in range(shape.pixels)]
        with _runs.lines(k, run) as (i, is_row, line), k.when(is_row):
            first = k.let("first_weight", i * shape.k_w * run.quads + run.quad)
            weights = [k.let("weight", w[first + j * run.quads]) for j in range(shape.k_w)]
            for n, (is_inside, cell) in enumerate(run.cells):
                value = k.let("value", select(splat(is_inside), x[line + cell], splat(number(0, F32))))
                for p, j in shape.pairs(n):
                    k.set(acc[p], acc[p] + value * weights[j])
        for p, total in enumerate(acc):
            with k.when(run.first + p < out_w):
                y.store(run.store_at(k, p), _floats.limited(k, total, limits))
    return k.done()


@cache
def _quads(types: _floats.Types, limits: _floats.Limits) -> GpuKernel:
    dtype, of_w = types
    k = KernelBuilder(f"depthwise2d_{_floats.named(types)}{_floats.label(limits)}")
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
def _any(types: _floats.Types, limits: _floats.Limits) -> GpuKernel:
    """Element by element; several outputs may read one channel."""
    dtype, of_w = types
    k = KernelBuilder(f"depthwise2d_{_floats.named(types)}_any{_floats.label(limits)}")
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
