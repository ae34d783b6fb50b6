"""Resizing of images: one axis after the other, by tables of positions and weights in float32."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import take
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.resample import Resample
from edgekit.core.types import Array


def sizes(x: Tensor, size: Tensor) -> tuple[int, int]:
    """The new height and width of images."""
    new = size.ints("the size of a resized image")
    if x.rank != 4 or len(new) != 2 or min(new) < 1 or 0 in x.shape:
        raise EdgeKitError("E0401", f"resizing of {x.type} to {list(new)[:8]}")
    x.builder.afford((x.shape[0], *new, x.shape[3]))
    return new[0], new[1]


def bilinear(x: Tensor, new: tuple[int, int], corners: bool, half: bool) -> Tensor:
    for axis, n in zip((1, 2), new, strict=True):
        if n == x.shape[axis] and not half:
            continue
        at = positions(x.shape[axis], n, corners, half).clip(0, x.shape[axis] - 1)
        lower = np.floor(at)
        upper = np.minimum(lower + 1, x.shape[axis] - 1)
        index = np.stack([lower, upper], 1).astype(np.int32)
        weights = np.stack([1 - (at - lower), at - lower], 1)
        x = x.apply(Resample(axis), x.new(index, "positions"), x.like(weights))
    return x


def positions(old: int, new: int, corners: bool, half: bool) -> Array:
    """Where each result lies on the old axis."""
    i = np.arange(new, dtype=np.float32)
    scale = _scale(old, new, corners)
    return (i + np.float32(0.5)) * scale - np.float32(0.5) if half else i * scale


def nearest(x: Tensor, new: tuple[int, int], corners: bool, half: bool) -> Tensor:
    for axis, n in zip((1, 2), new, strict=True):
        old = x.shape[axis]
        at = (np.arange(n, dtype=np.float32) + np.float32(0.5 if half else 0)) * _scale(old, n, corners)
        index = np.floor(at + np.float32(0.5)) if corners else np.floor(at)
        x = take(x, axis, index.clip(0, old - 1).astype(np.int64))
    return x


def _scale(old: int, new: int, corners: bool) -> np.float32:
    if corners and new > 1:
        return np.float32(old - 1) / np.float32(new - 1)
    return np.float32(old) / np.float32(new)
