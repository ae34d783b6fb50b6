"""Tensors that are known at import: filled ones, ranges, identity matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil as _ceil
from math import prod as _prod

import numpy as np

from edgekit.converters.semantics.aten.type_promotion import Number, number_type
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import absurd as _absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

_MAX_CELLS = 1 << 26


def full(size: Sequence[int], *, fill_value: Number, dtype: DType | None = None) -> Array:
    return _filled(size, fill_value, dtype or number_type(fill_value))


def zeros(size: Sequence[int], *, dtype: DType | None = None) -> Array:
    return _filled(size, 0, dtype)


def ones(size: Sequence[int], *, dtype: DType | None = None) -> Array:
    return _filled(size, 1, dtype)


def zeros_like(x: Tensor, *, dtype: DType | None = None) -> Array:
    return _filled(x.shape, 0, dtype or x.dtype)


def ones_like(x: Tensor, *, dtype: DType | None = None) -> Array:
    return _filled(x.shape, 1, dtype or x.dtype)


def arange(
    start: Number, *, end: Number | None = None, step: Number = 1, dtype: DType | None = None
) -> Array:
    """With one number, this is the end."""
    first, last = (0, start) if end is None else (start, end)
    if step == 0:
        raise EdgeKitError("E0401", "a range with step 0")
    count = max(0, _ceil((last - first) / step))
    _check((count,))
    given = (first, last, step)
    found = dtype or (DType.F32 if any(isinstance(v, float) for v in given) else DType.S64)
    return (np.arange(count) * step + first).astype(found.numpy)


def linspace(start: Number, *, end: Number, steps: int, dtype: DType | None = None) -> Array:
    _check((steps,))
    return np.linspace(start, end, steps).astype((dtype or DType.F32).numpy)


def eye(n: int, *, m: int | None = None, dtype: DType | None = None) -> Array:
    _check((n, n if m is None else m))
    return np.eye(n, m, dtype=(dtype or DType.F32).numpy)


def _filled(size: Sequence[int], value: Number, dtype: DType | None) -> Array:
    _check(size)
    return np.full(tuple(size), value).astype((dtype or DType.F32).numpy)


def _check(size: Sequence[int]) -> None:
    if _absurd(size) or _prod(size) > _MAX_CELLS:
        raise EdgeKitError("E0402", f"a constant of shape {list(size)[:8]} is absurd")
