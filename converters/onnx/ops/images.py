"""Images: sampling at positions, columns back to images."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics.movement import box
from edgekit.converters.semantics.onnx import images as shared
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.scatter import Scatter


def GridSample(
    x: Tensor,
    grid: Tensor,
    *,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Tensor:
    return shared.GridSample(x, grid, align_corners=align_corners, mode=mode, padding_mode=padding_mode)


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
