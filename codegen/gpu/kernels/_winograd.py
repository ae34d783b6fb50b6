"""3 by 3 convolution of floats by Winograd's algorithm F(2x2, 3x3): 16 products where there were 36.

A work-group computes tiles of 2 by 2 pixels for some outputs. Windows of 4 by 4 cells are evaluated at 0, 1,
-1 and infinity in both directions, in memory of the group. An item has one of these 16 points, where it
multiplies the values of all tiles; results are made of what the items have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from edgekit.codegen.gpu.ast import F32, F32X4, I32, Expr, GpuKernel, Shared, function, number, select, splat
from edgekit.codegen.gpu.builder import GROUP, KernelBuilder
from edgekit.codegen.gpu.elements import Fours, fours
from edgekit.codegen.gpu.kernels import _addend, _floats
from edgekit.codegen.gpu.use import GpuCall, constant_of, integer, integers
from edgekit.codegen.kernels.expressions import WEIGHT_LIMIT
from edgekit.core.ops import Call
from edgekit.core.types import Array, DType

_POINTS = 16
_PARTS = GROUP // _POINTS  # items of a point: each has other outputs
_CELLS = 64  # fours of cells that items evaluate at a time: all that a group may have in memory
_FEWEST_TILES, _FEWEST_CHANNELS = 16, 8
_AT_POINTS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])  # of three coefficients


@dataclass(frozen=True)
class _Block:
    """What a work-group computes, with eight sums of four outputs for an item: more do not fit registers."""

    tiles: int
    quads: int  # of outputs, for each part of a point
    deep: int  # fours of channels in memory at a time

    @property
    def outputs(self) -> int:
        """Fours of them."""
        return self.quads * _PARTS

    @property
    def cells(self) -> int:
        """Fours of cells in memory at a time, at each place of a window."""
        return self.tiles * self.deep


def pays(call: Call) -> bool:
    """Where channels, and tiles that are whole, make up for the rest; of few pixels, a device waits for the
    weights, which are 16 / 9 as many."""
    ones = ("stride_h", "stride_w", "dilation_h", "dilation_w", "groups", "step_c")
    in_c, out_c = integer(call, "in_c"), integer(call, "out_c")
    if (
        WEIGHT_LIMIT in call.facts
        or any(call.types[letter] is not DType.F32 for letter in "TW")
        or not integer(call, "k_h") == integer(call, "k_w") == 3
        or any(integer(call, name) != 1 for name in ones)
        or in_c % 4
        or in_c < _FEWEST_CHANNELS
        or out_c % (4 * _PARTS)
    ):
        return False
    pixels = integer(call, "batch") * integer(call, "out_h") * integer(call, "out_w")
    tiles, at_a_time = _tiles(call), _block(in_c, out_c).tiles
    computed = 4 * at_a_time * -(-tiles // at_a_time)
    return tiles >= _FEWEST_TILES and 2 * computed <= 3 * pixels


def _block(in_c: int, out_c: int) -> _Block:
    """Half of the memory, where that has room for all channels: more groups are under way then."""
    tiles, quads = (4, 2) if out_c % (8 * _PARTS) == 0 else (8, 1)
    deep = _CELLS // tiles
    return _Block(tiles, quads, deep // 2 if in_c <= 2 * deep else deep)


def use(call: Call) -> GpuCall:
    """Of a call for which it pays."""
    in_c, out_c = integer(call, "in_c"), integer(call, "out_c")
    block = _block(in_c, out_c)
    own, limits = _floats.limits_of(call)
    values = integers(call, "in_h in_w in_c out_h out_w out_c pad_top pad_left") | own
    values |= {"tiles": _tiles(call)}
    data, values["bias"] = _floats.with_bias(call, _at_points(constant_of(call, 1), block), 16)
    groups = -(-_tiles(call) // block.tiles) * (out_c // (4 * block.outputs))
    kernel = _kernel(limits, _addend.kind_of(call), block, in_c <= 4 * block.deep)
    return GpuCall(kernel, _addend.operands(call), values, groups, data)


def _tiles(call: Call) -> int:
    return integer(call, "batch") * -(-integer(call, "out_h") // 2) * -(-integer(call, "out_w") // 2)


def _at_points(w: Array, block: _Block) -> Array:
    """Weights at all points, in the order in which a group reads them."""
    in_c = w.shape[3]
    values: Array = np.einsum("pi,qj,oijc->copq", _AT_POINTS, _AT_POINTS, w.astype(np.float64))
    split = values.reshape(in_c, -1, block.quads, _PARTS, 4, _POINTS)
    return split.transpose(1, 0, 2, 5, 3, 4).astype(np.float32)


def _evaluated(d: Sequence[Expr]) -> list[Expr]:
    """The values of a window of four cells."""
    return [d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]]


def _interpolated(m: Sequence[Expr]) -> list[Expr]:
    """Two pixels of the values of their products."""
    return [m[0] + m[1] + m[2], m[1] - m[2] - m[3]]


def _both_ways(
    k: KernelBuilder, rule: Callable[[Sequence[Expr]], list[Expr]], square: Sequence[Expr]
) -> list[Expr]:
    """A rule for four on the columns of 4 by 4, then on the rows."""
    columns = [[k.let("part", e) for e in rule(square[j::4])] for j in range(4)]
    return [k.let("part", e) for row in zip(*columns, strict=True) for e in rule(row)]


@cache
def _kernel(limits: _floats.Limits, added: str, block: _Block, at_once: bool) -> GpuKernel:
    """`at_once`: all channels are in memory together."""
    name = f"conv2d_f32_winograd_{block.tiles}x{4 * block.outputs}_{4 * block.deep}{'_once' * at_once}"
    k = KernelBuilder(f"{name}{_floats.label(limits)}{_addend.label(added)}")
    x, w = fours(k, "x", DType.F32), fours(k, "w", DType.F32)
    addend = fours(k, "addend", DType.F32) if added else None
    y = fours(k, "y", DType.F32, writes=True)
    held = k.shared("held", F32X4, _POINTS * max(block.cells, block.tiles * block.outputs))
    in_c, out_c = k.constants("in_c out_c")
    blocks = k.let("blocks", out_c // (4 * block.outputs))
    outputs = k.let("outputs", (k.group_number % blocks) * block.outputs)
    tiles = k.let("tiles_before", (k.group_number // blocks) * block.tiles)
    depth = k.let("depth", in_c >> 2)
    weights = k.let("weights", (outputs // block.outputs) * in_c)

    zeros = splat(number(0, F32))
    acc = [[k.var("sum", zeros) for _ in range(block.quads)] for _ in range(block.tiles)]
    if at_once:
        _evaluate(k, block, x, held, tiles, number(0, I32))
        k.barrier()
        _multiply(k, block, held, w, weights, depth, acc)
        k.barrier()
    else:
        with k.loop("first", 0, depth, block.deep) as first:
            _evaluate(k, block, x, held, tiles, first)
            k.barrier()
            _multiply(k, block, held, w, weights + first * 4, function("min", depth - first, block.deep), acc)
            k.barrier()
    _finish(k, block, held, y, w, addend, tiles, outputs, acc, limits)
    return k.done()


def _place(k: KernelBuilder, tile: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """(is there such a tile, its image, row and column of its first pixel)"""
    out_h, out_w, tiles = k.constants("out_h out_w tiles")
    across, down = (out_w + 1) >> 1, (out_h + 1) >> 1
    row = k.let("row", tile // across)
    return (
        k.let("is_tile", tile < tiles),
        k.let("in_image", row // down),
        k.let("top", (row % down) * 2),
        k.let("left", (tile % across) * 2),
    )


def _evaluate(k: KernelBuilder, block: _Block, x: Fours, held: Shared, tiles: Expr, first: Expr) -> None:
    """Values of the windows, from this quad of channels on; an item has one of a window."""
    in_h, in_w, pad_top, pad_left, in_c = k.constants("in_h in_w pad_top pad_left in_c")
    depth = in_c >> 2
    quad = k.let("in_quad", first + k.within % block.deep)
    with k.when((k.within < block.cells) & (quad < depth)):
        is_tile, image, top, left = _place(k, tiles + k.within // block.deep)
        rows = [k.let("in_row", top - pad_top + i) for i in range(4)]
        columns = [k.let("in_column", left - pad_left + j) for j in range(4)]
        is_row = [k.let("is_row", is_tile & ((row >= 0) & (row < in_h))) for row in rows]
        is_column = [k.let("is_column", (column >= 0) & (column < in_w)) for column in columns]
        window = []
        for i in range(4):
            line = k.let("line", (image * in_h + rows[i]) * in_w)
            for j in range(4):
                is_inside = k.let("is_inside", is_row[i] & is_column[j])
                cell = x[select(is_inside, (line + columns[j]) * depth + quad, 0)]
                window.append(k.let("cell", select(splat(is_inside), cell, splat(number(0, F32)))))
        for point, value in enumerate(_both_ways(k, _evaluated, window)):
            k.store(held, k.within + point * block.cells, value)


def _multiply(
    k: KernelBuilder,
    block: _Block,
    held: Shared,
    w: Fours,
    weights: Expr,
    depth: Expr,
    acc: Sequence[Sequence[Expr]],
) -> None:
    """Add the products of an item: of all tiles, at its point, with the weights from this channel on."""
    own = k.let("own", (k.within // _PARTS) * block.cells)
    with k.loop("c", 0, depth) as c:
        values = [k.let("value", held[own + c + t * block.deep]) for t in range(block.tiles)]
        for lane in range(4):
            at = k.let("at", (weights + (c * 4 + lane)) * block.quads)
            for q in range(block.quads):
                weight = k.let("weight", w[(at + q) * GROUP + k.within])
                for value, sums in zip(values, acc, strict=True):
                    k.set(sums[q], sums[q] + splat(value.lane(lane)) * weight)


def _finish(
    k: KernelBuilder,
    block: _Block,
    held: Shared,
    y: Fours,
    w: Fours,
    addend: Fours | None,
    tiles: Expr,
    outputs: Expr,
    acc: Sequence[Sequence[Expr]],
    limits: _floats.Limits,
) -> None:
    """Bring the sums of the points together; an item makes four outputs of the pixels of a tile."""
    out_h, out_w, out_c, bias = k.constants("out_h out_w out_c bias")
    size = block.tiles * block.outputs
    own = k.let("own", (k.within // _PARTS) * size + k.within % _PARTS)
    for t, sums in enumerate(acc):
        for q, total in enumerate(sums):
            k.store(held, own + (t * block.outputs + q * _PARTS), total)
    k.barrier()
    with k.when(k.within < size):
        products = [k.let("product", held[k.within + point * size]) for point in range(_POINTS)]
        is_tile, image, top, left = _place(k, tiles + k.within // block.outputs)
        quad = k.let("quad", outputs + k.within % block.outputs)
        start = k.let("start", w.wide(bias + quad))
        for i, pixel in enumerate(_both_ways(k, _interpolated, products)):
            row, column = k.let("y_row", top + i // 2), k.let("y_column", left + i % 2)
            with k.when(is_tile & ((row < out_h) & (column < out_w))):
                at = k.let("at", ((image * out_h + row) * out_w + column) * (out_c >> 2) + quad)
                total = start + pixel + addend[at] if addend else start + pixel
                y.store(at, _floats.limited(k, total, limits))
