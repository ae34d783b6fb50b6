"""Windows that slide over an image: how many of their taps are inside of it, and how many are as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

Params = Mapping[str, Any]  # of a call
_PADS = {"h": "pad_top", "w": "pad_left"}


def taps(axis: str, given: Params) -> int:
    """How many taps of all windows along an axis are inside."""
    return sum(_inside(axis, given))


def whole(axis: str, given: Params) -> int:
    """How many windows along an axis have all of their taps inside."""
    return _inside(axis, given).count(given[f"k_{axis}"])


# What expressions of kernel files may ask of a call.
MEASURES: Mapping[str, Callable[[Params], int]] = {
    f"{measure.__name__}_{axis}": partial(measure, axis) for measure in (taps, whole) for axis in _PADS
}


def _inside(axis: str, given: Params) -> tuple[int, ...]:
    steps = (given.get(f"{name}_{axis}", 1) for name in ("stride", "dilation"))
    sizes = (given[f"{name}_{axis}"] for name in ("in", "out", "k"))
    return _taps_of_each(*sizes, *steps, given.get(_PADS[axis], 0))


@cache
def _taps_of_each(size: int, count: int, k: int, stride: int, dilation: int, pad: int) -> tuple[int, ...]:
    starts = (place * stride - pad for place in range(count))
    return tuple(sum(0 <= start + tap * dilation < size for tap in range(k)) for start in starts)
