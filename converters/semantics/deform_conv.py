"""Deformable convolution: gathers what the moved windows see, then multiplies with the weights."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics.convolution import SlidingWindow
from edgekit.converters.semantics.movement import cast, part, where
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import And, LessOrEqual
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.rounding import Floor
from edgekit.core.types import Array, DType


def deform_conv(
    x: Tensor,
    w: Tensor,
    offset: Tensor,
    b: Tensor | None,
    mask: Tensor | None,
    slide: SlidingWindow,
    groups: int,
    offset_groups: int,
) -> Tensor:
    """x [N, C, H, W], w [O, C / groups, kh, kw], offset [N, offset_groups * kh * kw * 2, h, w]."""
    if x.rank != 4 or offset.rank != 4 or w.rank != 4:
        raise EdgeKitError("E0205", f"deformable convolution of {x.type} with weights {w.type}")
    batch, channels = x.shape[:2]
    area = offset.shape[2:]
    taps = prod(w.shape[2:])
    moved = offset.reshape(batch, offset_groups, taps, 2, prod(area))
    down, right = (
        part(moved, 3, i, 1).reshape(batch, offset_groups, 1, taps * prod(area))
        + x.new(_places(i, w.shape[2:], area, slide).astype(x.dtype.numpy))
        for i in range(2)
    )
    shares = None if mask is None else mask.reshape(batch, offset_groups, 1, taps * prod(area))
    seen = _sampled(
        x.reshape(batch, offset_groups, channels // offset_groups, *x.shape[2:]), down, right, shares
    )
    columns = seen.reshape(batch, groups, channels // groups * taps, prod(area))
    weights = w.reshape(1, groups, w.shape[0] // groups, w.shape[1] * taps)
    y = weights.apply(MatMul(), columns).reshape(batch, w.shape[0], *area)
    return y if b is None else y + b.reshape(b.shape[0], 1, 1)


def _places(axis: int, kernel: tuple[int, ...], area: tuple[int, ...], slide: SlidingWindow) -> Array:
    """Where each tap of each window would be along an axis, were it not moved."""
    stride, dilation, (begin, _) = slide.along(axis)
    taps = np.arange(kernel[axis]) * dilation - begin
    windows = np.arange(area[axis]) * stride
    shape = [1] * 4
    shape[axis], shape[2 + axis] = kernel[axis], area[axis]
    along = taps[:, None] + windows[None, :]
    return np.broadcast_to(along.reshape(shape), (*kernel, *area)).reshape(1, 1, 1, -1)


def _sampled(x: Tensor, down: Tensor, right: Tensor, shares: Tensor | None) -> Tensor:
    """Bilinear samples [N, G, C, P] of x [N, G, C, H, W] at [N, G, 1, P], times `shares`; 0 outside."""
    height, width = x.shape[3:]
    flat = x.reshape(*x.shape[:3], height * width)
    top, left = down.apply(Floor()), right.apply(Floor())
    total: Tensor | None = None
    for row, row_share in ((top, 1 - (down - top)), (top + 1, down - top)):
        for column, column_share in ((left, 1 - (right - left)), (left + 1, right - left)):
            inside = _within(row, height).apply(And(), _within(column, width))
            share = where(inside, row_share * column_share, 0)
            share = share if shares is None else share * shares
            place = row.clip(0, height - 1) * width + column.clip(0, width - 1)
            value = flat.apply(Gather(3), cast(place, DType.S32)) * share
            total = value if total is None else total + value
    assert total is not None, "four corners"
    return total


def _within(at: Tensor, n: int) -> Tensor:
    """Is it a number of one of n cells?"""
    return at.like(0).apply(LessOrEqual(), at).apply(And(), at.apply(LessOrEqual(), n - 1))
