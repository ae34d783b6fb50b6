"""Runs of pixels side by side, of four channels each: their windows share cells in depthwise convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from edgekit.codegen.gpu.ast import Expr, GpuKernel, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.use import CONSTANTS, GpuCall, groups_for, integer
from edgekit.core.ops import Call

_LONGEST = 6  # what fits registers


@dataclass(frozen=True)
class Shape:
    """So many pixels, whose windows are `k_w` cells wide and `stride` cells apart."""

    pixels: int
    k_w: int
    stride: int

    @property
    def label(self) -> str:
        return f"x{self.pixels}_w{self.k_w}s{self.stride}"

    @property
    def cells(self) -> int:
        """Of all the windows, in a row."""
        return (self.pixels - 1) * self.stride + self.k_w

    def pairs(self, cell: int) -> list[tuple[int, int]]:
        """For the windows that a cell is in: (pixel, column of the window)."""
        places = ((p, cell - p * self.stride) for p in range(self.pixels))
        return [(p, j) for p, j in places if 0 <= j < self.k_w]


@dataclass(frozen=True)
class Run:
    """Where an item is: its quad of channels among so many, row and first pixel of results, and cells."""

    quads: Expr
    quad: Expr
    row: Expr
    first: Expr
    cells: Sequence[tuple[Expr, Expr]]  # (is it in the image, its quad within the row)

    def store_at(self, k: KernelBuilder, p: int) -> Expr:
        """The quad of results of a pixel."""
        return (self.row * k.constant("out_w") + self.first + p) * self.quads + self.quad


def shape(call: Call, widest: int) -> Shape | None:
    """That with the fewest loads of cells and of weights, where runs have something to share."""
    k_w, stride, out_w = (integer(call, name) for name in ("k_w", "stride_w", "out_w"))
    if integer(call, "dilation_w") > 1 or k_w > widest:
        return None
    of = [Shape(n, k_w, stride) for n in range(1, _LONGEST + 1)]
    return min(of, key=lambda s: -(-out_w // s.pixels) * (s.cells + k_w))


def use(call: Call, shape: Shape, kernel: GpuKernel, values: Mapping[str, float], data: bytes) -> GpuCall:
    rows = integer(call, "batch") * integer(call, "out_h")
    wanted = {constant.text for constant in kernel.constants}
    own = {name: value for name, value in (dict(values) | {"rows": rows}).items() if name in wanted}
    items = rows * -(-integer(call, "out_w") // shape.pixels) * integer(call, "out_c") // 4
    return GpuCall(kernel, (0, CONSTANTS, len(call.args) - 1), own, groups_for(items), data)


@contextmanager
def each(k: KernelBuilder, shape: Shape) -> Iterator[Run]:
    """The run of an item."""
    in_w, out_w, out_c, rows, pad_left = k.constants("in_w out_w out_c rows pad_left")
    quads = k.let("quads", out_c >> 2)
    quad = k.let("quad", k.item % quads)
    runs = k.let("runs", (out_w + (shape.pixels - 1)) // shape.pixels)
    number = k.let("run", k.item // quads)
    row = k.let("row", number // runs)
    first = k.let("first", (number % runs) * shape.pixels)
    with k.when(row < rows):
        left = k.let("left", first * shape.stride - pad_left)
        columns = [k.let("column", left + n) for n in range(shape.cells)]
        are_inside = [k.let("is_inside", (column >= 0) & (column < in_w)) for column in columns]
        cells = [
            (is_inside, k.let("cell", select(is_inside, column, 0) * quads + quad))
            for is_inside, column in zip(are_inside, columns, strict=True)
        ]
        yield Run(quads, quad, row, first, cells)


@contextmanager
def lines(k: KernelBuilder, run: Run) -> Iterator[tuple[Expr, Expr, Expr]]:
    """The rows of the windows: (number, is it in the image, its first quad)."""
    in_h, in_w, out_h, k_h, stride_h, dilation_h, pad_top = k.constants(
        "in_h in_w out_h k_h stride_h dilation_h pad_top"
    )
    top = k.let("top", (run.row % out_h) * stride_h - pad_top)
    image = k.let("in_image", run.row // out_h)
    with k.loop("i", 0, k_h) as i:
        in_row = k.let("in_row", top + i * dilation_h)
        is_inside = k.let("is_row", (in_row >= 0) & (in_row < in_h))
        yield i, is_inside, k.let("line", (image * in_h + in_row) * in_w * run.quads)
