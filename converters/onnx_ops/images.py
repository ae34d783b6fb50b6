"""Images: sampling at positions, columns back to images, the choice of boxes."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from edgekit.converters.movement import box, cast
from edgekit.converters.tensor import Tensor, scalar
from edgekit.errors import EdgeKitError
from edgekit.ir import Array
from edgekit.ops._map import compute_type
from edgekit.ops.grid_sample import GridSample as GridSampleOp
from edgekit.ops.scatter import Scatter


def GridSample(
    x: Tensor,
    grid: Tensor,
    *,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Tensor:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)  # as it was called before opset 20
    op = GridSampleOp(mode, padding_mode, bool(align_corners))
    return x.to_nhwc().apply(op, cast(grid, compute_type(x.dtype))).to_nchw()


def Col2Im(
    x: Tensor,
    image_shape: Tensor,
    block_shape: Tensor,
    *,
    dilations: tuple[int, ...] | None = None,
    pads: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
) -> Tensor:
    """Every cell of every block is added to its cell of the image."""
    image, block = (
        image_shape.ints("the image shape of Col2Im"),
        block_shape.ints("the block shape of Col2Im"),
    )
    spatial = len(image)
    dilations, strides = dilations or (1,) * spatial, strides or (1,) * spatial
    pads = pads or (0,) * (2 * spatial)
    before, after = pads[:spatial], pads[spatial:]
    padded = [b + n + a for b, n, a in zip(before, image, after, strict=True)]
    reach = [(k - 1) * d + 1 for k, d in zip(block, dilations, strict=True)]
    counts = [(n - r) // s + 1 for n, r, s in zip(padded, reach, strides, strict=True)]
    batch, rows, blocks = x.shape
    if blocks != prod(counts) or rows % prod(block):
        raise EdgeKitError("E0401", f"{x.type} holds no blocks {list(block)} of an image {list(image)}")
    x.builder.afford((rows, blocks))
    # [cell of a block, block] -> cell of the padded image.
    steps = [
        np.add.outer(np.arange(k) * d, np.arange(c) * s)
        for k, d, c, s in zip(block, dilations, counts, strides, strict=True)
    ]
    index = np.zeros((1, 1), np.int64)
    for axis, step in enumerate(steps):
        index = index * padded[axis]
        k, c = index.shape
        index = (index[:, None, :, None] + step[None, :, None, :]).reshape(
            k * step.shape[0], c * step.shape[1]
        )
    channels = rows // prod(block)
    cells = x.reshape(batch, channels, index.size)
    places = x.new(index.astype(np.int32).reshape(1, 1, -1), "index")
    zeros = x.like(np.zeros((batch, channels, prod(padded))))
    y = zeros.apply(Scatter(2, "add"), places, cells).reshape(batch, channels, *padded)
    return box(y, (0, 0, *before), (batch, channels, *image))


def NonMaxSuppression(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor | None = None,
    overlap: Tensor | None = None,
    least: Tensor | None = None,
    *,
    center_point_box: int = 0,
) -> Tensor:
    """How many boxes are chosen depends on the data: only constants will do."""
    what = "the number of boxes that NonMaxSuppression selects"
    hint = "let the model end at boxes and scores (onnx.utils.extract_model), and select in your program"
    corners = _corners(boxes.constant(what, hint).astype(np.float64), bool(center_point_box))
    values = scores.constant(what, hint)
    count = 0 if most is None else int(scalar(most, what))
    limit = 0.0 if overlap is None else float(scalar(overlap, what))
    floor = -np.inf if least is None else float(scalar(least, what))
    chosen = [
        (batch, cls, i)
        for batch, cls in product(range(values.shape[0]), range(values.shape[1]))
        for i in _suppress(corners[batch], values[batch, cls], count, limit, floor)
    ]
    return boxes.new(np.array(chosen, np.int64).reshape(-1, 3))


def _corners(boxes: Array, centered: bool) -> Array:
    """Boxes as top, left, bottom, right, in that order."""
    if centered:
        x, y, w, h = np.moveaxis(boxes, -1, 0)
        return np.stack([y - h / 2, x - w / 2, y + h / 2, x + w / 2], -1)
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)


def _suppress(boxes: Array, scores: Array, count: int, limit: float, floor: float) -> list[int]:
    """Boxes from the best score down, without those that overlap a better one too much."""
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable").tolist():
        if len(kept) >= count or not scores[i] > floor:
            break
        if all(_overlap(boxes[i], boxes[k]) <= limit for k in kept):
            kept.append(i)
    return kept


def _overlap(a: Array, b: Array) -> float:
    """Intersection over union."""
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    shared = float(np.prod(sides))
    union = float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])) - shared
    return shared / union if union > 0 else 0.0
