"""Convolution of floats: an item computes four outputs of some pixels."""

from __future__ import annotations

from functools import cache
from math import isinf

import numpy as np

from edgekit.codegen.gpu.ast import F32, Expr, Kernel, function, number, select, splat
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.elements import elements, for_each, fours, is_half, per_item, stored
from edgekit.codegen.gpu.kernels import _window
from edgekit.codegen.gpu.use import (
    CONSTANTS,
    Data,
    UnsupportedError,
    Use,
    constant_of,
    groups_for,
    integer,
    integers,
    real,
)
from edgekit.ir import Array, DType
from edgekit.ops import Call

CALLS = ("conv2d",)
_PIXELS = 4
Limits = tuple[bool, bool]  # is there a lower one, an upper one?
Types = tuple[DType, DType]  # of tensors, of weights


def use(call: Call) -> Use:
    types = float_type(call), weight_type(call)
    groups, out_c = integer(call, "groups"), integer(call, "out_c")
    depth, outputs = integer(call, "in_c") // groups, out_c // groups
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    values = _window.values(call) | {"pixels": pixels, "groups": groups}
    own, limits = limits_of(call)
    values |= own
    w = constant_of(call, 1).astype(types[1].numpy)
    operands = (0, CONSTANTS, len(call.args) - 1)
    if outputs % 4:
        values |= integers(call, "step_h step_w step_c")
        data, values["bias"] = with_bias(call, w, 4)
        groups = groups_for(-(-pixels * out_c // per_item(types[0])))
        return Use(_any(types, limits), operands, values, groups, data)
    in_fours = depth % 4 == 0 and integer(call, "step_c") == 1
    tile = _PIXELS if in_fours and pixels >= _PIXELS else 1
    if not in_fours:
        values |= integers(call, "step_h step_w step_c")
    quads = w.reshape(out_c // 4, 4, *w.shape[1:]).transpose(0, 2, 3, 4, 1)  # O/4 H W I o4
    data, values["bias"] = with_bias(call, quads, 16)
    items = -(-pixels // tile) * out_c // 4
    return Use(_quads(types, limits, in_fours, tile), operands, values, groups_for(items), data)


def float_type(call: Call) -> DType:
    """Of the operands; sums are float32."""
    dtype = call.types["T"]
    if dtype is not DType.F32 and not is_half(dtype):
        raise UnsupportedError(f"{call.kernel} of {dtype.value}")
    return dtype


def weight_type(call: Call) -> DType:
    """How weights are stored."""
    return call.types["W"] if is_half(call.types["W"]) else DType.F32


def named(types: Types) -> str:
    """In the name of a kernel: of tensors, and of weights if that is another one."""
    return "_".join(dict.fromkeys(t.value for t in types))


def limits_of(call: Call) -> tuple[dict[str, float], Limits]:
    """Those limits of the result that there are, as constants."""
    ends = {name: real(call, name) for name in ("lo", "hi")}
    return {n: v for n, v in ends.items() if not isinf(v)}, (not isinf(ends["lo"]), not isinf(ends["hi"]))


def with_bias(call: Call, w: Array, unit: int) -> tuple[bytes, int]:
    """The weights and the bias as data, and where that is, in units of so many bytes."""
    data = Data()
    data.add(w)
    bias = data.add(constant_of(call, 2).astype(np.float32)) // unit
    return data.bytes, bias


def limited(k: Builder, y: Expr, limits: Limits) -> Expr:
    for name, end, is_given in zip(("lo", "hi"), ("max", "min"), limits, strict=True):
        if is_given:
            y = function(end, y, k.constant(name, F32))
    return y


def label(limits: Limits) -> str:
    """Of a kernel with such limits."""
    return "".join(f"_{name}" for name, is_given in zip(("lo", "hi"), limits, strict=True) if is_given)


@cache
def _quads(types: Types, limits: Limits, in_fours: bool, tile: int) -> Kernel:
    """`in_fours`: channels come four at a time, else one by one and with any strides."""
    dtype, of_w = types
    k = Builder(f"conv2d_{named(types)}_{'fours' if in_fours else 'ones'}_x{tile}{label(limits)}")
    x = fours(k, "x", dtype) if in_fours else elements(k, "x", dtype)
    w, y = fours(k, "w", of_w), fours(k, "y", dtype, writes=True)
    in_h, in_w, in_c, out_c, k_h, k_w, groups, pixels, bias = k.constants(
        "in_h in_w in_c out_c k_h k_w groups pixels bias"
    )
    quads = k.let("quads", out_c >> 2)
    quad = k.let("quad", k.item % quads)
    first = k.let("first", (k.item // quads) * tile)
    with k.when(first < pixels):
        depth = k.let("depth", in_c // groups)
        channel = k.let("channel", (quad // (quads // groups)) * depth)
        numbers = [k.let("pixel", select(first + p < pixels, first + p, pixels - 1)) for p in range(tile)]
        at = [_window.pixel(k, n) for n in numbers]
        acc = [k.var("sum", w.wide(bias + quad)) for _ in range(tile)]
        with _window.taps(k) as (tap, down, right):
            weights = k.let("weights", (quad * (k_h * k_w) + tap) * depth)
            cells = []
            for pixel in at:
                is_inside, row, column = _window.inside(k, pixel, down, right)
                if in_fours:
                    cell = (((pixel.image * in_h + row) * in_w + column) * in_c + channel) >> 2
                else:
                    step_h, step_w, step_c = k.constants("step_h step_w step_c")
                    cell = pixel.image * (in_h * in_w * in_c) + channel * step_c
                    cell = cell + row * step_h + column * step_w
                cells.append((is_inside, k.let("cell", select(is_inside, cell, 0))))
            if in_fours:
                with k.loop("c", 0, depth >> 2) as c:
                    four = [k.let("weight", w[weights + c * 4 + i]) for i in range(4)]
                    for (is_inside, cell), total in zip(cells, acc, strict=True):
                        value = k.let("value", select(splat(is_inside), x[cell + c], splat(number(0, F32))))
                        for i, weight in enumerate(four):
                            k.set(total, total + splat(value.lane(i)) * weight)
            else:
                with k.loop("c", 0, depth) as c:
                    weight = k.let("weight", w[weights + c])
                    for (is_inside, cell), total in zip(cells, acc, strict=True):
                        value = select(is_inside, x[cell + c * k.constant("step_c")], number(0, F32))
                        k.set(total, total + splat(value) * weight)
        for p, total in enumerate(acc):
            with k.when(first + p < pixels):
                y.store(k, numbers[p] * quads + quad, limited(k, total, limits))
    return k.done()


@cache
def _any(types: Types, limits: Limits) -> Kernel:
    dtype, of_w = types
    k = Builder(f"conv2d_{named(types)}_any{label(limits)}")
    x, w, y = elements(k, "x", dtype), elements(k, "w", of_w), k.buffer("y", stored(dtype), writes=True)
    in_h, in_w, in_c, out_c, k_h, k_w, groups, pixels, bias = k.constants(
        "in_h in_w in_c out_c k_h k_w groups pixels bias"
    )
    step_h, step_w, step_c = k.constants("step_h step_w step_c")

    def result(i: Expr) -> Expr:
        o = k.let("o", i % out_c)
        depth = k.let("depth", in_c // groups)
        channel = (o // (out_c // groups)) * depth
        at = _window.pixel(k, i // out_c)
        acc = k.var("sum", w.buffer[bias + o].bits(F32))
        with _window.taps(k) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            with k.when(is_inside):
                cell = at.image * (in_h * in_w * in_c) + row * step_h + column * step_w + channel * step_c
                cell = k.let("cell", cell)
                weights = k.let("weights", (o * (k_h * k_w) + tap) * depth)
                with k.loop("c", 0, depth) as c:
                    k.set(acc, acc + x[cell + c * step_c] * w[weights + c])
        return limited(k, acc, limits)

    for_each(k, y, dtype, pixels * out_c, result)
    return k.done()
