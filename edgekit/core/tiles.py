"""Weights cut into blocks of so many outputs and inputs: which hold nothing but zeros."""

from __future__ import annotations

import numpy as np

from edgekit.core.types import Array


def occupied(weights: Array, outputs: int, inputs: int) -> Array:
    """Which blocks of weights [O, ..., I] hold anything but zeros [rows, columns]."""
    flat = weights.reshape(len(weights), -1) != 0
    padded = np.pad(flat, [(0, -flat.shape[0] % outputs), (0, -flat.shape[1] % inputs)])
    blocks = padded.reshape(padded.shape[0] // outputs, outputs, padded.shape[1] // inputs, inputs)
    return np.asarray(blocks.any(axis=(1, 3)))


def zero_blocks(weights: Array | None, outputs: int, inputs: int) -> int:
    """The share of blocks that hold nothing, in percent, rounded down."""
    if weights is None or not weights.size:
        return 0
    kept = occupied(weights, outputs, inputs)
    return 100 * int(kept.size - kept.sum()) // kept.size
