"""Convolution of floats: an item computes four or eight outputs of some pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel, function, number, select, splat
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import (
    Elements,
    Fours,
    elements,
    for_each,
    fours,
    per_item,
    store_some,
    stored,
)
from edgekit.codegen.gpu.kernels import _window, _winograd
from edgekit.codegen.gpu.kernels._floats import (
    Limits,
    Types,
    float_type,
    label,
    limited,
    limits_of,
    named,
    weight_type,
    with_bias,
)
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, constant_of, groups_for, integer, integers
from edgekit.core.ops import Call

CALLS = ("conv2d",)
_PIXELS = 4  # of a tile, where there are as many


def use(call: Call) -> GpuCall:
    types = float_type(call), weight_type(call)
    if _winograd.pays(call):
        return _winograd.use(call)
    groups, out_c = integer(call, "groups"), integer(call, "out_c")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    own, limits = limits_of(call)
    values = _window.values(call) | {"pixels": pixels, "groups": groups} | own
    w = constant_of(call, 1).astype(types[1].numpy)
    operands = (0, CONSTANTS, len(call.args) - 1)
    if (out_c // groups) % 4 and (groups > 1 or out_c % per_item(types[0])):
        values |= integers(call, "step_h step_w step_c")
        data, values["bias"] = with_bias(call, w, 4)
        items = -(-pixels * out_c // per_item(types[0]))
        return GpuCall(_any(types, limits), operands, values, groups_for(items), data)
    form = _form(call)
    if not form.in_fours:
        values |= integers(call, "step_h step_w step_c")
    rows = np.pad(w.transpose(1, 2, 3, 0), ((0, 0), (0, 0), (0, 0), (0, -out_c % 4)))  # H W I O
    data, values["bias"] = with_bias(call, rows, 16)
    items = -(-pixels // form.pixels) * -(-out_c // 4) // form.quads
    return GpuCall(_quads(types, limits, form), operands, values, groups_for(items), data)


@dataclass(frozen=True)
class _Form:
    """What comes and goes four at a time, and what an item computes: so many pixels of so many quads."""

    in_fours: bool  # channels, else one by one and with any strides
    is_whole: bool  # outputs, else the last quad has fewer
    has_border: bool  # windows reach out of the image
    pixels: int
    quads: int

    @property
    def label(self) -> str:
        words = "fours" if self.in_fours else "ones", f"{self.pixels}x{4 * self.quads}"
        return "_".join(words) + "_cut" * (not self.is_whole) + "_inside" * (not self.has_border)


def _form(call: Call) -> _Form:
    out_c, groups = integer(call, "out_c"), integer(call, "groups")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    is_tiled = pixels >= _PIXELS
    # Eight outputs of four pixels: their sums take half of 64 registers, which phones have.
    is_wide = is_tiled and -(-out_c // 4) % 2 == 0 and (groups == 1 or (out_c // groups) % 8 == 0)
    return _Form(
        in_fours=(integer(call, "in_c") // groups) % 4 == 0 and integer(call, "step_c") == 1,
        is_whole=out_c % 4 == 0,
        has_border=_window.has_border(call),
        pixels=_PIXELS if is_tiled else 1,
        quads=2 if is_wide else 1,
    )


@cache
def _quads(types: Types, limits: Limits, form: _Form) -> GpuKernel:
    dtype, of_w = types
    k = KernelBuilder(f"conv2d_{named(types)}_{form.label}{label(limits)}")
    x = fours(k, "x", dtype) if form.in_fours else elements(k, "x", dtype)
    w = fours(k, "w", of_w)
    whole = fours(k, "y", dtype, writes=True) if form.is_whole else None
    some = None if whole else k.buffer("y", stored(dtype), writes=True)
    in_c, out_c, groups, pixels, bias = k.constants("in_c out_c groups pixels bias")
    quads = k.let("quads", (out_c + 3) >> 2)
    blocks = k.let("blocks", quads // form.quads)
    quad = k.let("quad", (k.item % blocks) * form.quads)
    first = k.let("first", (k.item // blocks) * form.pixels)
    with k.when(first < pixels):
        depth = k.let("depth", in_c // groups)
        channel = k.let("channel", (quad // (quads // groups)) * depth)
        # The last pixel once more, where there are fewer than a tile: it is not stored.
        numbers = [k.let("pixel", function("min", first + p, pixels - 1)) for p in range(form.pixels)]
        at = [_window.pixel(k, n) for n in numbers]
        starts = [k.let("start", w.wide(bias + quad + q)) for q in range(form.quads)]
        acc = [[k.var("sum", start) for start in starts] for _ in numbers]
        lanes = range(4 if form.in_fours else 1)
        with _window.taps(k) as (tap, down, right):
            cells = [_cell(k, form, pixel, down, right, channel) for pixel in at]
            weights = k.let("weights", tap * depth * quads + quad)
            with k.loop("c", 0, depth // len(lanes)) as c:
                values = [k.let("value", _value(k, form, x, cell, c)) for cell in cells]
                for lane in lanes:
                    row = weights + (c * len(lanes) + lane) * quads
                    own = [k.let("weight", w[row + q]) for q in range(form.quads)]
                    for value, sums in zip(values, acc, strict=True):
                        factor = value.lane(lane) if form.in_fours else value
                        for total, weight in zip(sums, own, strict=True):
                            k.set(total, total + splat(factor) * weight)
        for p, sums in enumerate(acc):
            with k.when(first + p < pixels):
                for q, total in enumerate(sums):
                    result = limited(k, total, limits)
                    if whole:
                        whole.store(numbers[p] * quads + quad + q, result)
                    elif some:
                        o = k.let("o", (quad + q) * 4)
                        store_some(k, some, dtype, numbers[p] * out_c + o, out_c - o, result)
    return k.done()


def _cell(
    k: KernelBuilder, form: _Form, at: _window.Pixel, down: Expr, right: Expr, channel: Expr
) -> tuple[Expr | None, Expr]:
    """(is it in the image, where its first channel is) of a cell; None where all are inside."""
    in_h, in_w, in_c = k.constants("in_h in_w in_c")
    is_inside = None
    row, column = at.top + down, at.left + right
    if form.has_border:
        is_inside, row, column = _window.inside(k, at, down, right)
    if form.in_fours:
        place = (((at.image * in_h + row) * in_w + column) * in_c + channel) >> 2
    else:
        step_h, step_w, step_c = k.constants("step_h step_w step_c")
        place = at.image * (in_h * in_w * in_c) + row * step_h + column * step_w + channel * step_c
    return is_inside, k.let("cell", place if is_inside is None else select(is_inside, place, 0))


def _value(
    k: KernelBuilder, form: _Form, x: Elements | Fours, cell: tuple[Expr | None, Expr], c: Expr
) -> Expr:
    """Four channels of a cell, or one: 0 outside."""
    is_inside, first = cell
    value = x[first + (c if form.in_fours else c * k.constant("step_c"))]
    if is_inside is None:
        return value
    if form.in_fours:
        return select(splat(is_inside), value, splat(number(0, F32)))
    return select(is_inside, value, number(0, F32))


@cache
def _any(types: Types, limits: Limits) -> GpuKernel:
    dtype, of_w = types
    k = KernelBuilder(f"conv2d_{named(types)}_any{label(limits)}")
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
