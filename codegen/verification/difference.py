"""How far numbers are apart, element by element, and which are none."""

from __future__ import annotations

import numpy as np

from edgekit.core.types import Array, DType


def difference(a: Array, b: Array) -> Array:
    """|a - b| in float64, of integers exactly until the end: 2^60 + 1 is not 2^60. NaN equals NaN, inf equals
    inf, and what is not a number is infinitely far from one."""
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        with np.errstate(over="ignore"):  # modulo 2^64
            apart: Array = np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)
        return np.asarray(apart, np.float64)
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.where(same, 0.0, np.abs(x - y))
    return np.where(np.isnan(off), np.inf, off)


def are_nan(values: Array) -> Array:
    is_float = DType.of(values.dtype).is_float
    return np.isnan(values.astype(np.float64)) if is_float else np.zeros(values.shape, np.bool_)
