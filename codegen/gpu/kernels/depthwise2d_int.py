"""Depthwise convolution of int8: four channels of a pixel are a word."""

from __future__ import annotations

from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import I32, I32X4, U32, U32X4, Expr, GpuKernel, select, vector
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, for_each, packed, signed_byte
from edgekit.codegen.gpu.kernels import _runs, _window, conv2d_int, depthwise2d
from edgekit.codegen.gpu.kernels._rule import BOUNDS, rule_of
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer, integers
from edgekit.core.ops import Call
from edgekit.core.types import DType

CALLS = ("depthwise2d_int",)
_WIDEST = 4  # of windows whose rows of weights are a vector


def use(call: Call) -> GpuCall:
    if integer(call, "in_c") == 1:
        return conv2d_int.use(depthwise2d.as_convolution(call))
    conv2d_int.check(call)
    rule = rule_of(call)
    in_c, out_c = integer(call, "in_c"), integer(call, "out_c")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    values = _window.values(call) | integers(call, f"in_zero {BOUNDS}") | {"pixels": pixels}
    w = constant_of(call, 1).astype(np.int8).transpose(1, 2, 3, 0)  # H W 1 O
    operands = (0, CONSTANTS, len(call.args) - 1)
    groups = groups_for(-(-pixels * out_c // 4))
    if in_c == out_c and out_c % 4 == 0:
        values |= {"in_zeros": (values.pop("in_zero") % 256) * 0x01010101}
        if shape := _runs.shape(call, _WIDEST):
            lines = np.pad(w, ((0, 0), (0, _WIDEST - shape.k_w), (0, 0), (0, 0)))
            lines = lines.reshape(w.shape[0], _WIDEST, out_c // 4, 4).transpose(0, 2, 1, 3)
            data, values = conv2d_int.with_rules(call, values, lines, 16)
            return _runs.use(call, shape, _in_runs(rule, shape), values, data)
        w = np.pad(w.reshape(-1), (0, -w.size % 16))
        data, values = conv2d_int.with_rules(call, values, w, 16)
        return GpuCall(_words(rule), operands, values, groups, data)
    data, values = conv2d_int.with_rules(call, values, w, 4)
    return GpuCall(_any(rule), operands, values, groups, data)


@cache
def _in_runs(rule: str, shape: _runs.Shape) -> GpuKernel:
    """Some pixels of a row at a time, by windows no wider than there are words in a vector."""
    k = KernelBuilder(f"depthwise2d_{rule}_{shape.label}")
    x, w, y = k.buffer("x", U32), k.buffer("w", U32X4), k.buffer("y", U32, writes=True)
    zeros = k.constant("in_zeros", U32)
    bias, multiplier, exponent, out_w = k.constants("bias multiplier exponent out_w")
    with _runs.each(k, shape) as run:
        start = k.let("start", w[bias + run.quad].bits(I32X4))
        acc = [k.var("sum", start) for _ in range(shape.pixels)]
        with _runs.lines(k, run) as (i, is_row, line):
            four = k.let("four", w[i * run.quads + run.quad])
            weights = [k.let("weight", _bytes(four.lane(j))) for j in range(shape.k_w)]
            for n, (is_column, cell) in enumerate(run.cells):
                is_inside = k.let("is_inside", is_row & is_column)
                word = k.let("word", select(is_inside, x[select(is_inside, line + cell, 0)], zeros))
                value = k.let("value", _bytes(word))
                for p, j in shape.pairs(n):
                    k.set(acc[p], acc[p] + value * weights[j])
        m, e = (k.let("rule", w[first + run.quad].bits(I32X4)) for first in (multiplier, exponent))
        for p, total in enumerate(acc):
            result = k.let("result", conv2d_int.finished(k, rule, total, m, e))
            with k.when(run.first + p < out_w):
                k.store(y, run.store_at(k, p), packed(result))
    return k.done()


@cache
def _words(rule: str) -> GpuKernel:
    k = KernelBuilder(f"depthwise2d_{rule}")
    x, w, y = k.buffer("x", U32), k.buffer("w", U32X4), k.buffer("y", U32, writes=True)
    in_h, in_w, in_c, out_c, pixels = k.constants("in_h in_w in_c out_c pixels")
    zeros = k.constant("in_zeros", U32)
    bias, multiplier, exponent = k.constants("bias multiplier exponent")
    quads = k.let("quads", out_c >> 2)
    quad = k.let("quad", k.item % quads)
    p = k.let("pixel", k.item // quads)
    with k.when(p < pixels):
        at = _window.pixel(k, p)
        acc = k.var("sum", w[bias + quad].bits(I32X4))
        with _window.taps(k) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            cell = ((at.image * in_h + row) * in_w + column) * (in_c >> 2) + quad
            word = k.let("word", select(is_inside, x[select(is_inside, cell, 0)], zeros))
            index = k.let("index", tap * quads + quad)
            four = k.let("four", w[index >> 2])
            lane = index & 3
            pair = select((lane & 1).eq(0), four.lane(0), four.lane(1))
            other = select((lane & 1).eq(0), four.lane(2), four.lane(3))
            weights = k.let("weights", select(lane < 2, pair, other))
            k.set(acc, acc + _bytes(word) * _bytes(weights))
        m, e = (w[start + quad].bits(I32X4) for start in (multiplier, exponent))
        k.store(y, k.item, packed(k.let("result", conv2d_int.finished(k, rule, acc, m, e))))
    return k.done()


def _bytes(word: Expr) -> Expr:
    return vector(*(signed_byte(word, i) for i in range(4)))


@cache
def _any(rule: str) -> GpuKernel:
    """Element by element; several outputs may read one channel."""
    k = KernelBuilder(f"depthwise2d_{rule}_any")
    x, w, y = elements(k, "x", DType.S8), elements(k, "w", DType.S8), k.buffer("y", U32, writes=True)
    in_h, in_w, in_c, out_c, pixels, in_zero = k.constants("in_h in_w in_c out_c pixels in_zero")
    bias, multiplier, exponent = k.constants("bias multiplier exponent")

    def result(i: Expr) -> Expr:
        o = k.let("o", i % out_c)
        channel = k.let("channel", o // (out_c // in_c))
        at = _window.pixel(k, i // out_c)
        acc = k.var("sum", w.buffer[bias + o].bits(I32))
        with _window.taps(k) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            cell = ((at.image * in_h + row) * in_w + column) * in_c + channel
            value = select(is_inside, x[k.let("cell", select(is_inside, cell, 0))], in_zero)
            k.set(acc, acc + value * w[tap * out_c + o])
        m, e = (w.buffer[start + o].bits(I32) for start in (multiplier, exponent))
        return conv2d_int.finished(k, rule, acc, m, e)

    for_each(k, y, DType.S8, pixels * out_c, result)
    return k.done()
