"""What is known of a value before it runs: the range of each channel, which proves that some are constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.core import fixed
from edgekit.core.types import Array, DType, Type, Value

# The least and the largest value of each channel.
Range = tuple[Array, Array]
# Channels of an operand and those of the result that they belong to, one by one.
Pairs = tuple[Array, Array]


@dataclass(frozen=True)
class Known:
    """The type of a value, and the least and the largest that each of its channels can be: the cells of its
    last dimension, over all others. A scalar is one channel. `data` are those of a constant."""

    type: Type
    lo: Array
    hi: Array
    data: Array | None = None

    @property
    def is_constant(self) -> Array:
        """Which channels have one value only?"""
        one: Array = self.lo == self.hi
        return np.asarray(one & np.isfinite(self.lo)) if self.type.dtype.is_float else one

    @property
    def is_anything(self) -> bool:
        """Is nothing known of it?"""
        least, most = anything(self.type)
        return np.array_equal(self.lo, least) and np.array_equal(self.hi, most)

    @property
    def zero(self) -> int:
        """The integer that stands for the real 0."""
        return self.type.quant.zero[0] if self.type.quant else 0


def channels(type: Type) -> int:
    """Cells of the last dimension."""
    return type.shape[-1] if type.shape else 1


def anything(type: Type) -> Range:
    """All that a type can hold."""
    n, dtype = channels(type), type.dtype
    ends: tuple[float, float] = (0, 1) if dtype is DType.BOOL else (-np.inf, np.inf)
    if dtype.is_integer:
        ends = fixed.int_range(dtype)
    return np.full(n, ends[0], dtype.numpy), np.full(n, ends[1], dtype.numpy)


def known(value: Value, range: Range | None = None) -> Known:
    """What is known of a value, if no more than this range."""
    t, data = value.type, value.data
    if data is not None and data.size and t.dtype.bits >= 8:
        cells = data.reshape(-1, channels(t))
        return Known(t, cells.min(axis=0), cells.max(axis=0), data)
    lo, hi = anything(t)
    if range is not None:
        # NaN is what an operator makes of infinities: nothing is known.
        sound = ~(np.isnan(range[0]) | np.isnan(range[1])) if t.dtype.is_float else np.True_
        lo, hi = np.where(sound, range[0], lo), np.where(sound, range[1], hi)
    return Known(t, lo, hi, data)


def together(n: int) -> Pairs:
    """Each channel with the one of the same number."""
    each = np.arange(n)
    return each, each
