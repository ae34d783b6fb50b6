"""Weights as int8 or int4, symmetric, a scale for each output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from edgekit.core.types import Array, DType, Quant, Type

LIMITS = {DType.S8: 127, DType.S4: 7}  # of integers, on both sides
_TYPES = {8: DType.S8, 4: DType.S4}
# The smallest scale of a channel, as a share of the largest: multipliers keep 16 bits or more.
_MIN_SHARE = 2.0**-15
_MAX_BIAS = 2.0**30  # in units of its layer, which must leave room for sums
# Of the largest weight that the scale may reach to: with 15 steps much is gained by clipping.
_SHARES = {8: np.linspace(1.0, 0.7, 31), 4: np.linspace(1.0, 0.3, 71)}


@dataclass(frozen=True, eq=False)
class IntegerWeights:
    """Integers and scales of a layer's weights, and what is computed of them once for all trials."""

    real: Array
    integers: Array
    quant: Quant
    _responses: dict[str, Array] = field(default_factory=dict)

    @staticmethod
    def of(weights: Array, least_scale: Array | None = None, *, bits: int = 8) -> IntegerWeights:
        return IntegerWeights(weights, *weight_quant(weights, least_scale, bits=bits))

    @cached_property
    def magnitudes(self) -> Array:
        """The sum of all magnitudes of each output: no sum of the layer is further from 0 in units of x."""
        flat = np.abs(self.integers.reshape(len(self.integers), -1).astype(np.int16))
        found: Array = flat.sum(axis=1, dtype=np.int64)
        return found

    def response(self, x: str, of: Callable[[Array], Array]) -> Array:
        """The mean that rounding adds to each output where a layer reads `x`, `of` the error of weights."""
        if x not in self._responses:
            scale = np.asarray(self.quant.scale, np.float32).astype(np.float64)
            error = self.integers * scale.reshape(-1, *[1] * (self.real.ndim - 1)) - self.real
            self._responses[x] = of(error)
        return self._responses[x]


def weight_quant(weights: Array, least_scale: Array | None = None, *, bits: int = 8) -> tuple[Array, Quant]:
    """Integers and scales for each output (first axis), by the least mean square error."""
    flat = weights.reshape(weights.shape[0], -1).astype(np.float64)
    dtype = _TYPES[bits]
    limit = LIMITS[dtype]
    full = np.abs(flat).max(axis=1, initial=0.0) / limit
    scale, least = full, np.full(len(flat), np.inf)
    for share in _SHARES[bits]:
        error = np.square(_nearest(flat, full * share, limit) * (full * share)[:, None] - flat).sum(axis=1)
        scale, least = np.where(error < least, full * share, scale), np.minimum(error, least)
    single = finished_scale(scale, least_scale)
    integers = _nearest(flat, single, limit).astype(dtype.numpy).reshape(weights.shape)
    integers.flags.writeable = False
    return integers, Quant(tuple(float(s) for s in single), (0,) * len(single), 0)


def finished_scale(scale: Array, least: Array | None = None) -> Array:
    """Scales as a layer can have them: none 0 or next to 0 beside others, all of them in single precision."""
    if least is not None:
        scale = np.maximum(scale, least)
    scale = np.maximum(scale, scale.max(initial=0.0) * _MIN_SHARE)
    single: Array = np.where(scale > 0, scale, 1.0).astype(np.float32)
    return single.astype(np.float64)


def least_scale(bias: Array, x: Type) -> Array:
    """The least scale of the weights with which the bias of a layer fits into 32 bits."""
    assert x.quant is not None
    least: Array = np.abs(bias).astype(np.float64) / (x.quant.scale[0] * _MAX_BIAS)
    return least


def _nearest(weights: Array, scale: Array, limit: int) -> Array:
    rounded: Array = np.rint(weights / np.where(scale > 0, scale, 1.0)[:, None])
    return rounded.clip(-limit, limit)
