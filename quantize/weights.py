"""Weights as int8, symmetric, a scale for each output."""

from __future__ import annotations

import numpy as np

from edgekit.ir import Array, Quant

# The smallest scale of a channel, as a share of the largest: multipliers keep 16 bits or more.
_MIN_SHARE = 2.0**-15
_SHARES = np.linspace(1.0, 0.7, 31)  # of the largest weight that the scale may reach to


def weight_quant(weights: Array, least_scale: Array | None = None) -> tuple[Array, Quant]:
    """Integers and scales for each output (first axis), by the least mean square error."""
    flat = weights.reshape(weights.shape[0], -1).astype(np.float64)
    full = np.abs(flat).max(axis=1) / 127
    scale, least = full, np.full(len(flat), np.inf)
    for share in _SHARES:
        error = np.square(_nearest(flat, full * share) * (full * share)[:, None] - flat).sum(axis=1)
        scale, least = np.where(error < least, full * share, scale), np.minimum(error, least)
    if least_scale is not None:
        scale = np.maximum(scale, least_scale)
    scale = np.maximum(scale, scale.max(initial=0.0) * _MIN_SHARE)
    single = np.where(scale > 0, scale, 1.0).astype(np.float32)
    integers = _nearest(flat, single.astype(np.float64)).astype(np.int8).reshape(weights.shape)
    integers.flags.writeable = False
    return integers, Quant(tuple(float(s) for s in single), (0,) * len(single), 0)


def _nearest(weights: Array, scale: Array) -> Array:
    rounded: Array = np.rint(weights / np.where(scale > 0, scale, 1.0)[:, None])
    return rounded.clip(-127, 127)
