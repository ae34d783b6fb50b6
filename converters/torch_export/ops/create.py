"""Tensors that are known at import: filled ones, ranges, identity matrices."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.semantics.aten import create as shared
from edgekit.converters.semantics.aten.create import _filled
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.movement import expand as _expand
from edgekit.converters.tensor import Tensor
from edgekit.core.types import Array, DType


def full(size: Sequence[int], *, fill_value: Number, dtype: DType | None = None) -> Array:
    return shared.full(size, fill_value=fill_value, dtype=dtype)


def zeros(size: Sequence[int], *, dtype: DType | None = None) -> Array:
    return shared.zeros(size, dtype=dtype)


def ones(size: Sequence[int], *, dtype: DType | None = None) -> Array:
    return shared.ones(size, dtype=dtype)


def empty(size: Sequence[int], *, dtype: DType | None = None) -> Array:
    return _filled(size, 0, dtype)


def full_like(x: Tensor, *, fill_value: Number, dtype: DType | None = None) -> Array:
    return _filled(x.shape, fill_value, dtype or x.dtype)


def zeros_like(x: Tensor, *, dtype: DType | None = None) -> Array:
    return shared.zeros_like(x, dtype=dtype)


def ones_like(x: Tensor, *, dtype: DType | None = None) -> Array:
    return shared.ones_like(x, dtype=dtype)


def empty_like(x: Tensor, *, dtype: DType | None = None) -> Array:
    return _filled(x.shape, 0, dtype or x.dtype)


def new_full(x: Tensor, *, size: Sequence[int], fill_value: Number, dtype: DType | None = None) -> Array:
    return _filled(size, fill_value, dtype or x.dtype)


def new_zeros(x: Tensor, *, size: Sequence[int], dtype: DType | None = None) -> Array:
    return _filled(size, 0, dtype or x.dtype)


def new_ones(x: Tensor, *, size: Sequence[int], dtype: DType | None = None) -> Array:
    return _filled(size, 1, dtype or x.dtype)


def new_empty(x: Tensor, *, size: Sequence[int], dtype: DType | None = None) -> Array:
    return _filled(size, 0, dtype or x.dtype)


def fill(x: Tensor, *, value: Number | Tensor) -> Array | Tensor:
    if isinstance(value, Tensor):
        return _expand(_cast(value, x.dtype).reshape(), x.shape)
    return _filled(x.shape, value, x.dtype)


def zero(x: Tensor) -> Array:
    return _filled(x.shape, 0, x.dtype)


def scalar_tensor(s: Number, *, dtype: DType | None = None) -> Array:
    return _filled((), s, dtype)


def arange(
    start: Number, *, end: Number | None = None, step: Number = 1, dtype: DType | None = None
) -> Array:
    return shared.arange(start, end=end, step=step, dtype=dtype)


def linspace(start: Number, *, end: Number, steps: int, dtype: DType | None = None) -> Array:
    return shared.linspace(start, end=end, steps=steps, dtype=dtype)


def eye(n: int, *, m: int | None = None, dtype: DType | None = None) -> Array:
    return shared.eye(n, m=m, dtype=dtype)
