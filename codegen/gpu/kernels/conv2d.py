"""Convolution of floats: an item computes four or eight outputs of some pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, Expr, GpuKernel, function, number, select, splat, vector
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import (
    Elements,
    Fours,
    elements,
    fours,
    per_item,
    store_some,
    stored,
)
from edgekit.codegen.gpu.kernels import _addend, _window, _winograd
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
from edgekit.codegen.gpu.kernels._split_k import Part, Split, for_each_sum, shortest_split
from edgekit.codegen.gpu.use import GpuCall, constant_of, integer, integers
from edgekit.core.ops import Call

CALLS = ("conv2d", "conv2d_add")
_PIXELS = 4  # of a tile, where there are as many


def use(call: Call) -> GpuCall:
    types = float_type(call), weight_type(call)
    if _winograd.pays(call):
        return _winograd.use(call)
    groups, out_c = integer(call, "groups"), integer(call, "out_c")
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    taps, depth = integer(call, "k_h") * integer(call, "k_w"), integer(call, "in_c") // groups
    own, limits = limits_of(call)
    values = _window.values(call) | {"pixels": pixels, "groups": groups} | own
    w = constant_of(call, 1).astype(types[1].numpy)
    operands, added = _addend.operands(call), _addend.kind_of(call)
    if (out_c // groups) % 4 and (groups > 1 or out_c % per_item(types[0])):
        values |= integers(call, "step_h step_w step_c")
        data, values["bias"] = with_bias(call, w, 4)
        words = -(-pixels * out_c // per_item(types[0]))

        def one_by_one(split: Split) -> GpuCall:
            return GpuCall(_any(types, limits, added, split), operands, values, split.groups(words), data)

        return shortest_split(taps, depth, one_by_one)
    form = _form(call)
    if not form.in_fours:
        values |= integers(call, "step_h step_w step_c")
    rows = np.pad(w.transpose(1, 2, 3, 0), ((0, 0), (0, 0), (0, 0), (0, -out_c % 4)))  # H W I O
    data, values["bias"] = with_bias(call, rows, 16)
    tiles = -(-pixels // form.pixels) * -(-out_c // 4) // form.quads

    def in_quads(split: Split) -> GpuCall:
        return GpuCall(_quads(types, limits, added, form, split), operands, values, split.groups(tiles), data)

    return shortest_split(taps, depth // 4 if form.in_fours else depth, in_quads)


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
def _quads(types: Types, limits: Limits, added: str, form: _Form, split: Split) -> GpuKernel:
    dtype, of_w = types
    k = KernelBuilder(f"conv2d_{named(types)}_{form.label}{label(limits)}{_addend.label(added)}{split.label}")
    x = fours(k, "x", dtype) if form.in_fours else elements(k, "x", dtype)
    w = fours(k, "w", of_w)
    read = fours if form.is_whole else elements
    addend = read(k, "addend", dtype) if added else None
    whole = fours(k, "y", dtype, writes=True) if form.is_whole else None
    some = None if whole else k.buffer("y", stored(dtype), writes=True)
    in_c, out_c, groups, pixels, bias = k.constants("in_c out_c groups pixels bias")
    quads = k.let("quads", (out_c + 3) >> 2)
    blocks = k.let("blocks", quads // form.quads)
    part = Part.of_item(k, split)
    quad = k.let("quad", (part.tile % blocks) * form.quads)
    first = k.let("first", (part.tile // blocks) * form.pixels)
    starts = [k.let("start", part.start(w.wide(bias + quad + q))) for q in range(form.quads)]
    acc = [[k.var("sum", start) for start in starts] for _ in range(form.pixels)]
    with k.when(first < pixels):
        depth = k.let("depth", in_c // groups)
        channel = k.let("channel", (quad // (quads // groups)) * depth)
        # The last pixel once more, where there are fewer than a tile: it is not stored.
        numbers = [k.let("pixel", function("min", first + p, pixels - 1)) for p in range(form.pixels)]
        at = [_window.pixel(k, n) for n in numbers]
        lanes = range(4 if form.in_fours else 1)
        with _window.taps(k, part) as (tap, down, right):
            cells = [_cell(k, form, pixel, down, right, channel) for pixel in at]
            weights = k.let("weights", tap * depth * quads + quad)
            with k.loop("c", part.channel, depth // len(lanes), split.channels) as c:
                values = [k.let("value", _value(k, form, x, cell, c)) for cell in cells]
                for lane in lanes:
                    row = weights + (c * len(lanes) + lane) * quads
                    own = [k.let("weight", w[row + q]) for q in range(form.quads)]
                    for value, sums in zip(values, acc, strict=True):
                        factor = value.lane(lane) if form.in_fours else value
                        for total, weight in zip(sums, own, strict=True):
                            k.set(total, total + splat(factor) * weight)
    for n, total in part.totals([total for sums in acc for total in sums]):
        result_at, own_quad = (
            k.let("result_at", first + n // form.quads),
            k.let("own_quad", quad + n % form.quads),
        )
        with k.when(result_at < pixels):
            if whole:
                at_quad = k.let("at_quad", result_at * quads + own_quad)
                total = total + addend[at_quad] if addend else total
                whole.store(at_quad, limited(k, total, limits))
            elif some:
                o = k.let("o", own_quad * 4)
                place = k.let("place", result_at * out_c + o)
                if addend:  # the last one of the pixel once more, where there are none: they are not stored
                    places = [place + function("min", number(i, o.kind), out_c - 1 - o) for i in range(4)]
                    total = total + vector(*(addend[at] for at in places))
                store_some(k, some, dtype, place, out_c - o, limited(k, total, limits))
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
def _any(types: Types, limits: Limits, added: str, split: Split) -> GpuKernel:
    dtype, of_w = types
    k = KernelBuilder(f"conv2d_{named(types)}_any{label(limits)}{_addend.label(added)}{split.label}")
    x, w = elements(k, "x", dtype), elements(k, "w", of_w)
    addend = elements(k, "addend", dtype) if added else None
    y = k.buffer("y", stored(dtype), writes=True)
    in_h, in_w, in_c, out_c, k_h, k_w, groups, pixels, bias = k.constants(
        "in_h in_w in_c out_c k_h k_w groups pixels bias"
    )
    step_h, step_w, step_c = k.constants("step_h step_w step_c")

    def partial(part: Part, i: Expr) -> Expr:
        o = k.let("o", i % out_c)
        depth = k.let("depth", in_c // groups)
        channel = (o // (out_c // groups)) * depth
        at = _window.pixel(k, i // out_c)
        acc = k.var("sum", part.start(w.buffer[bias + o].bits(F32)))
        with _window.taps(k, part) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            with k.when(is_inside):
                cell = at.image * (in_h * in_w * in_c) + row * step_h + column * step_w + channel * step_c
                cell = k.let("cell", cell)
                weights = k.let("weights", (o * (k_h * k_w) + tap) * depth)
                with k.loop("c", part.channel, depth, split.channels) as c:
                    k.set(acc, acc + x[cell + c * step_c] * w[weights + c])
        return acc

    def result(i: Expr, acc: Expr) -> Expr:
        return limited(k, acc + addend[i] if addend else acc, limits)

    for_each_sum(k, split, y, dtype, pixels * out_c, partial, result)
    return k.done()
