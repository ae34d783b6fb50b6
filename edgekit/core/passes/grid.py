"""Constants on a grid: reals that are whole multiples of one number are quantized integers.

Weights of quantized models arrive as reals, perhaps transposed, reshaped or scaled by a normalization. What
they were is in the numbers: all of a channel are multiples of its scale, within what rounding to float32 did.
"""

from __future__ import annotations

import numpy as np

from edgekit.core.types import Array

# How far from a whole number, in units of the grid: float32 is off by 2^-17 of 127 units, a few times over.
_TOLERANCE = 2.0**-12
_SAMPLE = 32  # numbers of each row that are looked at first


def rows_on_grid(rows: Array) -> tuple[Array, Array] | None:
    """Rows of reals as int8 times a scale for each row, the finest that fits; None where a row is on no grid.
    A row of zeros has the scale 0."""
    wide = rows.reshape(len(rows), -1).astype(np.float64)
    ends = np.abs(wide).max(axis=1, initial=0.0)
    scales = np.zeros(len(wide))
    if not np.isfinite(ends).all():
        return None
    open_rows = np.flatnonzero(ends > 0)
    spread = np.linspace(0, max(wide.shape[1] - 1, 0), _SAMPLE).astype(np.intp)
    sample = wide[:, np.unique(spread)] if wide.shape[1] else wide
    for steps in (*range(127, 0, -1), 128):
        unit = ends[open_rows] / steps
        likely = _whole(sample[open_rows] / unit[:, None])
        chosen, unit = open_rows[likely], unit[likely]
        cells = wide[chosen] / unit[:, None]
        fits = _whole(cells) & (cells.max(axis=1, initial=0.0) < 127.5)
        scales[chosen[fits]] = unit[fits]
        open_rows = np.setdiff1d(open_rows, chosen[fits], assume_unique=True)
        if not open_rows.size:
            break
    else:
        return None
    scales = scales.astype(np.float32).astype(np.float64)
    integers = np.rint(wide / np.where(scales > 0, scales, 1)[:, None])
    return integers.astype(np.int8).reshape(rows.shape), scales


def on_grid(data: Array) -> tuple[Array, float, int] | None:
    """Reals as int8 around a zero point, with the finest scale that fits: integers, scale, zero point."""
    wide = data.reshape(-1).astype(np.float64)
    low, high = wide.min(initial=0.0), wide.max(initial=0.0)
    end = max(-low, high)
    if not np.isfinite(end):
        return None
    if end == 0:
        return np.zeros(data.shape, np.int8), 1.0, 0
    spread = np.unique(np.linspace(0, wide.size - 1, _SAMPLE).astype(np.intp))
    most = int(255 * end / (high - low) + _TOLERANCE)
    for steps in range(most, 0, -1):
        unit = float(np.float32(end / steps))
        if _whole(wide[None, spread] / unit)[0] and _whole(wide[None] / unit)[0]:
            zero = int(np.clip(-128 - np.rint(low / unit), -128, 127))
            integers = np.rint(wide / unit) + zero
            return integers.astype(np.int8).reshape(data.shape), unit, zero
    return None


def _whole(cells: Array) -> Array:
    """Which rows hold whole numbers?"""
    off: Array = np.abs(cells - np.rint(cells)).max(axis=1, initial=0.0)
    return off <= _TOLERANCE
