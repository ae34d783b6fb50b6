"""Relative position biases (T5): a score gets the bias of the bucket that the distance of its key is in."""

from __future__ import annotations

import math

import numpy as np

from edgekit.core.types import Array


def buckets(relative: Array, count: int, farthest: int, *, both_ways: bool) -> Array:
    """The bucket of each position of a key relative to that of the query. Near ones have a bucket each, those
    beyond are grouped by their logarithm; all from `farthest` on share the last one. An encoder looks both
    ways, with half of the buckets for keys that follow."""
    side = np.zeros(relative.shape, np.int64)
    if both_ways:
        count //= 2
        side = np.where(relative > 0, count, 0)
        distance = np.abs(relative)
    else:
        distance = np.maximum(-relative, 0)
    near = count // 2
    steps = np.log(np.maximum(distance, 1).astype(np.float32) / np.float32(near))
    steps = steps / np.float32(math.log(farthest / near)) * np.float32(count - near)
    far = np.minimum(near + steps.astype(np.int64), count - 1)
    found: Array = side + np.where(distance < near, distance, far)
    return found.astype(np.int32)
