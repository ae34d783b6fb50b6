"""Rounding, remainders, roots, extremes: exact or correctly rounded, so that numpy's own are the twins."""

from __future__ import annotations

import numpy as np

from edgekit.core.types import Array


def trunc(x: Array) -> Array:
    return np.trunc(x)


def floor(x: Array) -> Array:
    return np.floor(x)


def ceil(x: Array) -> Array:
    return np.ceil(x)


def round_even(x: Array) -> Array:
    return np.rint(x)


def fabs(x: Array) -> Array:
    return np.abs(x)


def sqrt(x: Array) -> Array:
    return np.sqrt(x)


def rsqrt(x: Array) -> Array:
    y: Array = np.float32(1) / np.sqrt(x)
    return y


def fmin(x: Array, y: Array) -> Array:
    """The lesser, the second of equal zeros; NaN if either is NaN."""
    return np.where((x < y) | (x != x), x, y)


def fmax(x: Array, y: Array) -> Array:
    """The greater, the second of equal zeros; NaN if either is NaN."""
    return np.where((x > y) | (x != x), x, y)


def fmod(x: Array, y: Array) -> Array:
    """The remainder of division towards zero."""
    return np.fmod(x, y)


def mod(x: Array, y: Array) -> Array:
    """The remainder of division towards minus infinity."""
    r = np.fmod(x, y)
    return np.where(r == 0, np.copysign(r, y), np.where((r < 0) != (y < 0), r + y, r))
