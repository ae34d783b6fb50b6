"""Boxes of an image, each sampled to the same size: means or maxima of bilinear samples in every cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgekit.core.limits import RunMeter
from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._order import is_narrow, one_by_one
from edgekit.core.types import Array, DType, Type

# Samples along one side of a cell, at most: a box may come from anywhere, and the loop must end.
MAX_SAMPLES = 4096


@dataclass(frozen=True)
class RoiAlign(Op):
    """Operands: x [N, H, W, C], boxes [R, 4] as left, top, right, bottom, and the image [R] that each is in.

    Coordinates are multiplied by `scale` and moved by -`shift`. A cell takes `samples` samples along each
    side, or, where that is 0, one for each pixel begun. The maximum is one of the weighted corners."""

    size: tuple[int, int]
    samples: int
    scale: float
    shift: float
    kind: str = "mean"

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, boxes, images = ins
        require(
            x.rank == 4 and boxes.rank == 2 and boxes.shape[1] == 4 and images.shape == boxes.shape[:1],
            f"takes x[N,H,W,C], boxes[R,4], images[R], got {x}, {boxes}, {images}",
        )
        require(x.dtype.is_float and x.dtype is boxes.dtype, f"operands differ in type: {x}, {boxes}")
        require(images.dtype is DType.S64, f"images are counted in s64, got {images}")
        require(self.kind in ("mean", "max") and x.size > 0, f"there is no {self.kind} of {x}")
        return (Type(x.dtype, (boxes.shape[0], *self.size, x.shape[3])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, boxes, images = ins
        wide = np.float64 if x.dtype == np.float64 else np.float32
        y, meter = np.zeros((len(boxes), *self.size, x.shape[3]), wide), RunMeter()
        for r, (box, image) in enumerate(zip(boxes.astype(wide), images, strict=True)):
            plane = x[min(max(int(image), 0), len(x) - 1)].astype(wide)
            with np.errstate(all="ignore"):
                rows, columns = self._samples(box[1], box[3], 0), self._samples(box[0], box[2], 1)
            meter.spend(sum(map(len, rows)) * sum(map(len, columns)) * _work_of_sample(x.shape[3]))
            for h, vertical in enumerate(rows):
                for v, horizontal in enumerate(columns):
                    corners = [_corners(plane, row, column) for row in vertical for column in horizontal]
                    if not corners:
                        continue
                    stack = np.stack(corners)
                    y[r, h, v] = self._in_order(stack) if is_narrow(x) else self._pooled(stack)
        return (y.astype(x.dtype),)

    def _samples(self, first: np.floating, last: np.floating, axis: int) -> list[Array]:
        """Where the samples of each cell are along one side of a box."""
        kind, cells = type(first), self.size[axis]
        start = first * kind(self.scale) - kind(self.shift)
        size = last * kind(self.scale) - kind(self.shift) - start
        if not self.shift:
            size = size if size >= 1 else kind(1)
        cell = size / kind(cells)
        count = self.samples or int(np.ceil(np.clip(np.nan_to_num(cell), 0, MAX_SAMPLES)))
        step = cell / kind(max(count, 1))
        inside = np.arange(count, dtype=kind) * step
        return [start + kind(i) * cell + step / kind(2) + inside for i in range(cells)]

    def _pooled(self, corners: Array) -> Array:
        if self.kind == "mean":
            total: Array = corners.sum(axis=(0, 1)) / len(corners)
            return total
        most: Array = corners.max(axis=(0, 1))
        return most

    def _in_order(self, corners: Array) -> Array:
        """One result from what its corners contribute, as the kernel takes them."""
        terms = corners.reshape(-1, corners.shape[-1])
        if self.kind == "mean":
            total: Array = one_by_one(np.add, 0, terms) / terms.dtype.type(len(corners))
            return total
        result: Array = terms[0]
        for term in terms[1:]:
            result = np.where(term > result, term, result)
        return result

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        x, boxes, _ = ins
        most = (self.samples or MAX_SAMPLES) ** 2 * boxes.shape[0] * prod(self.size)
        return super().work(ins, outs) + most * _work_of_sample(x.shape[3])

    def run_work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return self.work(ins, outs) if self.samples else super().work(ins, outs)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, boxes, _ = ins
        return [
            Call(
                kernel="roi_align",
                types={"T": x.type.dtype},
                args=(*ins, *outs),
                params={
                    **region_params(x.type, boxes.type, self.size),
                    "samples": self.samples,
                    "most_samples": MAX_SAMPLES,
                    "largest": int(self.kind == "max"),
                    "scale": self.scale,
                    "shift": self.shift,
                },
            )
        ]


def _work_of_sample(channels: int) -> int:
    """Steps for the four corners of a sample."""
    return 4 * (ITERATION + ELEMENT * channels)


def region_params(x: Type, boxes: Type, size: tuple[int, int]) -> dict[str, Param]:
    """The fields by which kernels know an image, its boxes and their cells."""
    batch, in_h, in_w, channels = x.shape
    image = {"batch": batch, "in_h": in_h, "in_w": in_w, "channels": channels}
    return {"boxes": boxes.shape[0], **image, "out_h": size[0], "out_w": size[1]}


def _corners(plane: Array, row: np.floating, column: np.floating) -> Array:
    """The four pixels around a point, times what they contribute to it; 0 outside of the image."""
    height, width, _ = plane.shape
    if not (-1 <= row <= height and -1 <= column <= width):
        return np.repeat(plane[:1, 0] * plane.dtype.type(0), 4, axis=0)
    (top, bottom, down), (left, right, across) = _between(row, height), _between(column, width)
    return np.stack(
        [
            plane[top, left] * ((1 - down) * (1 - across)),
            plane[top, right] * ((1 - down) * across),
            plane[bottom, left] * (down * (1 - across)),
            plane[bottom, right] * (down * across),
        ]
    )


def _between(at: np.floating, n: int) -> tuple[int, int, np.floating]:
    """The two pixels beside a coordinate, and how far it is from the first to the second."""
    kind = type(at)
    low = int(max(at, kind(0)))
    if low >= n - 1:
        return n - 1, n - 1, kind(0)
    rest = max(at, kind(0)) - kind(low)
    return low, low + int(rest > 0), rest
