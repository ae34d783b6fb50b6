"""Resizing of images: one axis after the other, by tables of positions and weights."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, take, where
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.layer import TfliteLayer, raw
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import Less
from edgekit.core.ops.resample import Resample
from edgekit.core.types import Array, DType


def _sizes(x: Tensor, size: Tensor) -> tuple[int, int]:
    new = size.ints("the size of a resized image")
    if x.rank != 4 or len(new) != 2 or min(new) < 1 or 0 in x.shape:
        raise EdgeKitError("E0401", f"resizing of {x.type} to {list(new)}")
    x.builder.afford((x.shape[0], *new, x.shape[3]))
    return new[0], new[1]


def RESIZE_BILINEAR(layer: TfliteLayer, x: Tensor, size: Tensor) -> Tensor:
    corners, half = (bool(layer.options.integer(i, "b")) for i in (2, 3))
    new = _sizes(x, size)
    if x.type.quant is not None:
        return _bilinear_integers(layer, x, new, corners, half)
    for axis, n in zip((1, 2), new, strict=True):
        if n == x.shape[axis] and not half:
            continue
        at = _positions(x.shape[axis], n, corners, half).clip(0, x.shape[axis] - 1)
        lower = np.floor(at)
        upper = np.minimum(lower + 1, x.shape[axis] - 1)
        index = np.stack([lower, upper], 1).astype(np.int32)
        weights = np.stack([1 - (at - lower), at - lower], 1)
        x = x.apply(Resample(axis), x.new(index, "positions"), x.like(weights))
    return x


def _positions(old: int, new: int, corners: bool, half: bool) -> Array:
    """Where each result lies on the old axis, in float32."""
    scale = (
        np.float32(old - 1) / np.float32(new - 1)
        if corners and new > 1
        else np.float32(old) / np.float32(new)
    )
    i = np.arange(new, dtype=np.float32)
    return (i + np.float32(0.5)) * scale - np.float32(0.5) if half else i * scale


def _bilinear_integers(
    layer: TfliteLayer, x: Tensor, new: tuple[int, int], corners: bool, half: bool
) -> Tensor:
    """Weights have 10 bits for each axis; the sum is rounded once, halves away from zero."""
    y = cast(raw(x), DType.S32)
    for axis, n in zip((1, 2), new, strict=True):
        old = x.shape[axis]
        scale = ((old << 10) + n // 2) // n
        if corners and n > 1:
            scale = (((old - 1) << 10) + (n - 1) // 2) // (n - 1)
        at = np.arange(n, dtype=np.int64) * scale + (scale // 2 - (1 << 9) if half else 0)
        lower = np.clip(np.trunc(at / 1024).astype(np.int64), 0, old - 1)
        upper = np.minimum(np.trunc((at + 1023) / 1024).astype(np.int64), old - 1)
        second = (at - 1024 * lower).reshape(-1, *(1,) * (3 - axis))
        low, high = (take(y, axis, i) for i in (lower, np.maximum(upper, 0)))
        y = low * y.like(1024 - second) + high * y.like(second)
    half_up = where(y.like(0).apply(Less(), y), y.like(1 << 19), y.like(-(1 << 19)))
    return cast((y + half_up) / (1 << 20), layer.outs[0].dtype)


def RESIZE_NEAREST_NEIGHBOR(layer: TfliteLayer, x: Tensor, size: Tensor) -> Tensor:
    corners, half = (bool(layer.options.integer(i, "b")) for i in (0, 1))
    for axis, n in zip((1, 2), _sizes(x, size), strict=True):
        old = x.shape[axis]
        stretch = corners and n > 1
        scale = np.float32(old - 1) / np.float32(n - 1) if stretch else np.float32(old) / np.float32(n)
        at = (np.arange(n, dtype=np.float32) + np.float32(0.5 if half else 0)) * scale
        index = np.floor(at + np.float32(0.5)) if corners else np.floor(at)
        x = take(x, axis, index.clip(0, old - 1).astype(np.int64))
    return x
