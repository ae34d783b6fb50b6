"""Resizing of images, whose integers have weights of their own."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, take, where
from edgekit.converters.semantics.tensorflow import images
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite.layer import TfliteLayer, raw
from edgekit.core.ops.logic import Less
from edgekit.core.types import DType


def RESIZE_BILINEAR(layer: TfliteLayer, x: Tensor, size: Tensor) -> Tensor:
    corners, half = (bool(layer.options.integer(i, "b")) for i in (2, 3))
    new = images.sizes(x, size)
    if x.type.quant is not None:
        return _bilinear_integers(layer, x, new, corners, half)
    return images.bilinear(x, new, corners, half)


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
    return images.nearest(x, images.sizes(x, size), corners, half)
