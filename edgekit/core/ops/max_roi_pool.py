"""Boxes of an image, each divided into the same number of cells: the largest pixel of every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Step, require
from edgekit.core.ops._map import compute_type
from edgekit.core.ops.roi_align import region_params
from edgekit.core.types import Array, DType, Type

# Pixels from the origin, at most: a box may come from anywhere, and its corners are integers.
FARTHEST = 1 << 20


@dataclass(frozen=True)
class MaxRoiPool(Op):
    """Operands: x [N, H, W, C], boxes [R, 5] as image, left, top, right, bottom.

    Corners are multiplied by `scale` and rounded to pixels, halves away from zero; the last ones are inside.
    Cells may share pixels, and one without a pixel of the image is 0. NaN is never the largest."""

    size: tuple[int, int]
    scale: float

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, boxes = ins
        require(
            x.rank == 4 and boxes.rank == 2 and boxes.shape[1] == 5,
            f"takes x[N,H,W,C], boxes[R,5], got {x}, {boxes}",
        )
        require(x.dtype.is_float and x.dtype is boxes.dtype, f"operands differ in type: {x}, {boxes}")
        require(min(self.size) > 0, f"there are no {self.size[0]} x {self.size[1]} cells")
        require(x.size > 0, f"there is no maximum of {x}")
        return (Type(x.dtype, (boxes.shape[0], *self.size, x.shape[3])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, boxes = ins
        y = np.zeros((len(boxes), *self.size, x.shape[3]), x.dtype)
        for r, (image, left, top, right, bottom) in enumerate(
            boxes.astype(compute_type(DType.of(x.dtype)).numpy)
        ):
            plane = x[int(_within(image, 0, len(x) - 1))]
            for h, rows in enumerate(self._cells(top, bottom, 0, x.shape[1])):
                for w, columns in enumerate(self._cells(left, right, 1, x.shape[2])):
                    pixels = plane[rows, columns].reshape(-1, x.shape[3])
                    if len(pixels):
                        numbers = np.where(np.isnan(pixels), np.asarray(-np.inf, x.dtype), pixels)
                        y[r, h, w] = numbers.max(axis=0)
        return (y,)

    def _cells(self, first: np.floating, last: np.floating, axis: int, pixels: int) -> list[slice]:
        """The pixels of each cell along one side of a box, as far as they lie inside the image."""
        kind, cells = type(first), self.size[axis]
        with np.errstate(over="ignore", invalid="ignore"):
            begin, end = _pixel(first * kind(self.scale)), _pixel(last * kind(self.scale))
        cell = kind(max(end - begin + 1, 1)) / kind(cells)
        bounds = (
            (begin + int(np.floor(kind(i) * cell)), begin + int(np.ceil(kind(i + 1) * cell)))
            for i in range(cells)
        )
        return [slice(min(max(low, 0), pixels), min(max(high, 0), pixels)) for low, high in bounds]

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """A box may be the whole image, whose pixels lie in two cells along each side at most, or in all."""
        x, boxes = ins
        cells = prod(self.size)
        pixels = prod(n + 2 * k for n, k in zip(x.shape[1:3], self.size, strict=True))
        each = 4 * ELEMENT * pixels * x.shape[3] + ITERATION * (2 * cells + sum(self.size))
        return super().work(ins, outs) + boxes.shape[0] * each

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, boxes = ins
        return [
            Call(
                kernel="max_roi_pool",
                types={"T": x.type.dtype},
                args=(*ins, *outs),
                params={
                    **region_params(x.type, boxes.type, self.size),
                    "farthest": FARTHEST,
                    "scale": self.scale,
                    "start": -np.inf,
                },
            )
        ]


def _within(at: np.floating, low: int, high: int) -> np.floating:
    """A number between two others; NaN is the lower one."""
    kind = type(at)
    return kind(low) if not at > low else min(at, kind(high))


def _pixel(at: np.floating) -> int:
    """The nearest integer, of two the one farther from zero."""
    at = _within(at, -FARTHEST, FARTHEST)
    whole = int(at)
    return whole + int(at - type(at)(whole) >= 0.5) - int(at - type(at)(whole) <= -0.5)
