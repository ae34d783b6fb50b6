"""Convolution of int8: four outputs of a pixel are a word, and so are four channels of the input."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from edgekit.codegen.gpu.ast import (
    I32,
    I32X4,
    U32,
    U32X4,
    Expr,
    GpuBuffer,
    GpuKernel,
    dot4,
    number,
    select,
    splat,
    vector,
)
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import elements, packed, signed_byte
from edgekit.codegen.gpu.fixed import clamped, requantized
from edgekit.codegen.gpu.kernels import _addend, _window
from edgekit.codegen.gpu.kernels._rule import BOUNDS, rule_of
from edgekit.codegen.gpu.kernels._split_k import Part, Split, for_each_sum, shortest_split
from edgekit.codegen.gpu.use import (
    ConstantBuffer,
    GpuCall,
    UnsupportedError,
    constant_of,
    integer,
    integers,
)
from edgekit.core.ops import Call
from edgekit.core.types import Array, DType

CALLS = ("conv2d_int", "conv2d_add_int")
_PIXELS = 4  # that an item computes, one behind the other: each weight is read once for all of them


def use(call: Call) -> GpuCall:
    check(call)
    rule, added = rule_of(call), _addend.kind_of(call)
    depth, outputs = (integer(call, name) // integer(call, "groups") for name in ("in_c", "out_c"))
    w = constant_of(call, 1).astype(np.int8)
    steps = [integer(call, name) for name in ("step_h", "step_w", "step_c")]
    values = _window.values(call) | integers(call, "groups in_zero zero lo hi") | _addend.values(call)
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    values |= {"pixels": pixels}
    if outputs % 4:
        values |= integers(call, "step_h step_w step_c")
        data, values = with_rules(call, values, w, 4)
        words = -(-pixels * integer(call, "out_c") // 4)
        return _shortest(call, depth, words, partial(_any, rule, added), values, data)
    in_words = depth % 4 == 0 and steps[2] == 1
    quads = w.reshape(w.shape[0] // 4, 4, *w.shape[1:])  # O/4 o4 H W I
    if in_words:
        tile = _PIXELS if pixels >= _PIXELS else 1
        wide = 2 if tile > 1 and outputs % 8 == 0 else 1
        values |= {"in_zeros": (values["in_zero"] % 256) * 0x01010101}
        values.pop("in_zero")
        quads = quads.reshape(*quads.shape[:-1], depth // 4, 4).transpose(2, 3, 4, 0, 1, 5)
        kernel = partial(_words, rule, added, tile, wide)
    else:
        tile = wide = 1
        values |= integers(call, "step_h step_w step_c")
        quads = quads.transpose(0, 2, 3, 4, 1)
        kernel = partial(_quads, rule, added)
    data, values = with_rules(call, values, quads, 16)
    tiles = -(-pixels // tile) * integer(call, "out_c") // (4 * wide)
    return _shortest(call, depth // 4 if in_words else depth, tiles, kernel, values, data)


def _shortest(
    call: Call,
    depth: int,
    tiles: int,
    kernel: Callable[[Split], GpuKernel],
    values: dict[str, float],
    data: bytes,
) -> GpuCall:
    """With sums of so many iterations over channels for each cell that items share as far as it pays."""
    operands = _addend.operands(call)

    def use(split: Split) -> GpuCall:
        return GpuCall(kernel(split), operands, values, split.groups(tiles), data)

    return shortest_split(integer(call, "k_h") * integer(call, "k_w"), depth, use)


def check(call: Call) -> None:
    """Refuse what is not computed in 32 bits."""
    types = {letter: t for letter, t in call.types.items() if letter in "XYS"}
    if types != {"X": DType.S8, "Y": DType.S8, "S": DType.S32}:
        raise UnsupportedError(f"{call.kernel} of {', '.join(t.value for t in call.types.values())}")


def with_rules(call: Call, values: dict[str, float], w: Array, unit: int) -> tuple[bytes, dict[str, float]]:
    """Weights, biases, multipliers and exponents as data, and where they are, in units of so many bytes."""
    bias, multiplier, exponent = (constant_of(call, i).astype(np.int32) for i in (2, 3, 4))
    data = ConstantBuffer()
    data.add(w)
    places = {
        name: data.add(array) // unit
        for name, array in (
            ("bias", bias),
            ("multiplier", multiplier),
            ("exponent", np.broadcast_to(exponent, bias.shape)),
        )
    }
    return data.bytes, values | places


def finished(k: KernelBuilder, rule: str, acc: Expr, m: Expr, e: Expr) -> Expr:
    """Sums as integers of the result."""
    zero, lo, hi = k.constants(BOUNDS)
    y = requantized(k, rule, k.let("acc", acc), k.let("m", m), k.let("e", e))
    if acc.kind.lanes == 4:
        zero, lo, hi = splat(zero), splat(lo), splat(hi)
    return clamped(k.let("scaled", y) + zero, lo, hi)


@cache
def _words(rule: str, added: str, tile: int, wide: int, split: Split) -> GpuKernel:
    """Channels come four in a word; an item computes `wide` times four outputs of `tile` pixels."""
    k = KernelBuilder(f"conv2d_{rule}_{tile}x{4 * wide}{_addend.label(added)}{split.label}")
    x, w = k.buffer("x", U32), k.buffer("w", U32X4)
    addend = k.buffer("addend", U32) if added else None
    y = k.buffer("y", U32, writes=True)
    in_h, in_w, in_c, out_c, groups, pixels = k.constants("in_h in_w in_c out_c groups pixels")
    zeros = k.constant("in_zeros", U32)
    bias, multiplier, exponent = k.constants("bias multiplier exponent")
    quads = k.let("quads", out_c >> 2)
    blocks = k.let("blocks", quads // wide)
    part = Part.of_item(k, split)
    quad = k.let("quad", (part.tile % blocks) * wide)
    first = k.let("first", (part.tile // blocks) * tile)
    starts = [k.let("start", part.start(w[bias + quad + q].bits(I32X4))) for q in range(wide)]
    acc = [[k.var("sum", start.lane(o)) for start in starts for o in range(4)] for _ in range(tile)]
    with k.when(first < pixels):
        depth = k.let("depth", (in_c // groups) >> 2)
        channel = k.let("channel", (quad // (quads // groups)) * depth)
        # The last pixel once more, where there are fewer than a tile: it is not stored.
        numbers = [k.let("pixel", select(first + p < pixels, first + p, pixels - 1)) for p in range(tile)]
        at = [_window.pixel(k, number) for number in numbers]
        with _window.taps(k, part) as (tap, down, right):
            cells = []
            for pixel in at:
                is_inside, row, column = _window.inside(k, pixel, down, right)
                cell = ((pixel.image * in_h + row) * in_w + column) * (in_c >> 2) + channel
                cells.append((is_inside, k.let("cell", select(is_inside, cell, 0))))
            weights = k.let("weights", tap * depth * quads + quad)
            with k.loop("c", part.channel, depth, split.channels) as c:
                fours = [k.let("four", w[weights + c * quads + q]) for q in range(wide)]
                for (is_inside, cell), sums in zip(cells, acc, strict=True):
                    word = k.let("word", select(is_inside, x[cell + c], zeros))
                    for o, total in enumerate(sums):
                        k.set(total, dot4(word, fours[o // 4].lane(o % 4), total))
    sums = [vector(*row[4 * q : 4 * q + 4]) for row in acc for q in range(wide)]
    for n, total in part.totals(sums):
        result_at, own_quad = k.let("result_at", first + n // wide), k.let("own_quad", quad + n % wide)
        with k.when(result_at < pixels):
            m, e = (w[place + own_quad].bits(I32X4) for place in (multiplier, exponent))
            at_word = k.let("at_word", result_at * quads + own_quad)
            result = k.let("result", finished(k, rule, total, m, e))
            k.store(y, at_word, packed(_with_word(k, added, result, addend, at_word)))
    return k.done()


@cache
def _quads(rule: str, added: str, split: Split) -> GpuKernel:
    """Channels come one by one, with any strides; an item computes four outputs of a pixel."""
    k = KernelBuilder(f"conv2d_{rule}_quads{_addend.label(added)}{split.label}")
    x, w = elements(k, "x", DType.S8), k.buffer("w", U32)
    addend = k.buffer("addend", U32) if added else None
    y = k.buffer("y", U32, writes=True)
    in_h, in_w, in_c, out_c, k_h, k_w, groups, pixels = k.constants(
        "in_h in_w in_c out_c k_h k_w groups pixels"
    )
    step_h, step_w, step_c, in_zero = k.constants("step_h step_w step_c in_zero")
    bias, multiplier, exponent = k.constants("bias multiplier exponent")
    quads = k.let("quads", out_c >> 2)
    part = Part.of_item(k, split)
    quad = k.let("quad", part.tile % quads)
    p = k.let("pixel", part.tile // quads)

    def four(at: Expr) -> Expr:
        first = k.let("first", (at + quad) << 2)
        return vector(*(w[first + o].bits(I32) for o in range(4)))

    acc = k.var("sum", part.start(four(bias)))
    with k.when(p < pixels):
        depth = k.let("depth", in_c // groups)
        channel = k.let("channel", (quad // (quads // groups)) * depth)
        at = _window.pixel(k, p)
        with _window.taps(k, part) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            cell = at.image * (in_h * in_w * in_c) + row * step_h + column * step_w + channel * step_c
            cell = k.let("cell", select(is_inside, cell, 0))
            weights = k.let("weights", (quad * (k_h * k_w) + tap) * depth)
            with k.loop("c", part.channel, depth, split.channels) as c:
                value = k.let("value", select(is_inside, x[cell + c * step_c], in_zero))
                word = k.let("word", w[weights + c])
                k.set(acc, acc + splat(value) * vector(*(signed_byte(word, o) for o in range(4))))
    for _, total in part.totals([acc]):
        with k.when(p < pixels):
            result = k.let("result", finished(k, rule, total, four(multiplier), four(exponent)))
            at_word = k.let("at_word", p * quads + quad)
            k.store(y, at_word, packed(_with_word(k, added, result, addend, at_word)))
    return k.done()


def _with_word(k: KernelBuilder, added: str, result: Expr, addend: GpuBuffer | None, at: Expr) -> Expr:
    """Four integers of the result with those that are added, in a word."""
    if addend is None:
        return result
    word = k.let("addends", addend[at])
    four = vector(*(signed_byte(word, i) for i in range(4)))
    return k.let("both", _addend.sum_of_bytes(k, added, result, four))


@cache
def _any(rule: str, added: str, split: Split) -> GpuKernel:
    """Any numbers of channels: element by element."""
    k = KernelBuilder(f"conv2d_{rule}_any{_addend.label(added)}{split.label}")
    x, w = elements(k, "x", DType.S8), elements(k, "w", DType.S8)
    addend = elements(k, "addend", DType.S8) if added else None
    y = k.buffer("y", U32, writes=True)
    in_h, in_w, in_c, out_c, k_h, k_w, groups, pixels = k.constants(
        "in_h in_w in_c out_c k_h k_w groups pixels"
    )
    step_h, step_w, step_c, in_zero = k.constants("step_h step_w step_c in_zero")
    bias, multiplier, exponent = k.constants("bias multiplier exponent")

    def partial_sum(part: Part, i: Expr) -> Expr:
        o = k.let("o", i % out_c)
        depth = k.let("depth", in_c // groups)
        channel = (o // (out_c // groups)) * depth
        at = _window.pixel(k, i // out_c)
        acc = k.var("sum", part.start(w.buffer[bias + o].bits(I32)))
        with _window.taps(k, part) as (tap, down, right):
            is_inside, row, column = _window.inside(k, at, down, right)
            cell = at.image * (in_h * in_w * in_c) + row * step_h + column * step_w + channel * step_c
            cell = k.let("cell", select(is_inside, cell, number(0, I32)))
            weights = k.let("weights", (o * (k_h * k_w) + tap) * depth)
            with k.loop("c", part.channel, depth, split.channels) as c:
                value = select(is_inside, x[cell + c * step_c], in_zero)
                k.set(acc, acc + value * w[weights + c])
        return acc

    def result(i: Expr, acc: Expr) -> Expr:
        m, e = (w.buffer[place + i % out_c].bits(I32) for place in (multiplier, exponent))
        y_alone = finished(k, rule, acc, m, e)
        if addend is None:
            return y_alone
        return _addend.sum_of_bytes(k, added, k.let("alone", y_alone), k.let("other", addend[i]))

    for_each_sum(k, split, y, DType.S8, pixels * out_c, partial_sum, result)
    return k.done()
