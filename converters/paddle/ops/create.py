"""Tensors that are known at import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgekit.converters.paddle.arguments import Number, Setting, ints, number
from edgekit.converters.semantics.aten import create as _torch
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType


def full(*, shape: Setting, value: Number = 0, dtype: DType | None = None) -> Array:
    return _filled(ints(shape, "a shape"), value, dtype)


def full_with_tensor(value: Tensor, shape: Setting = None, *, dtype: DType | None = None) -> Array:
    return _filled(ints(shape, "a shape"), number(value, "a value"), dtype or value.dtype)


def full_int_array(*, value: Sequence[Number], dtype: DType | None = None) -> Array:
    return np.asarray(value).astype((dtype or DType.S64).numpy)


def full_like(x: Tensor, value: Setting = 0, *, dtype: DType | None = None) -> Array:
    return _filled(x.shape, number(value, "a value"), dtype or x.dtype)


def fill_constant(
    *,
    shape: Setting = (),
    value: Setting = 0,
    str_value: str = "",
    dtype: DType | None = None,
) -> Array:
    """The text is the exact value, where there is one."""
    if isinstance(value, Tensor):
        return _filled(ints(shape, "a shape"), number(value, "a value"), dtype)
    try:
        exact = (
            float(str_value) if "." in str_value or not str_value.lstrip("-").isdigit() else int(str_value)
        )
    except ValueError:
        exact = number(value, "a value")
    return _filled(ints(shape, "a shape"), exact, dtype)


def fill_any_like(x: Tensor, *, value: Setting = 0, dtype: DType | None = None) -> Array:
    return full_like(x, value, dtype=dtype)


def fill_zeros_like(x: Tensor) -> Array:
    return full_like(x, 0)


def full_batch_size_like(
    input: Tensor,
    *,
    shape: Setting,
    value: Number = 0,
    str_value: str = "",
    dtype: DType | None = None,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
) -> Array:
    """One dimension is as long as one of the input."""
    sizes = ints(shape, "a shape")
    sizes[output_dim_idx] = input.shape[input_dim_idx]
    return fill_constant(shape=sizes, value=value, str_value=str_value, dtype=dtype)


fill_constant_batch_size_like = full_batch_size_like


def assign_value(
    x: Tensor | None = None,
    *,
    shape: Sequence[int],
    dtype: DType | None = None,
    values: Sequence[Number] = (),
    **older: Any,
) -> Array:
    """Older programs have a list of values for each type, all but one of them empty."""
    lists = [list(values), *(list(v) for key, v in older.items() if key.endswith("_values"))]
    found = next((given for given in lists if given), [])
    made = np.asarray(found).astype((dtype or DType.F32).numpy)
    if made.size != np.prod(shape, dtype=np.int64):
        raise EdgeKitError("E0401", f"{made.size} values for the shape {list(shape)[:8]}")
    return made.reshape(tuple(shape))


def arange(start: Setting, end: Setting, step: Setting, *, dtype: DType | None = None) -> Array:
    first, last, by = (number(v, "a range") for v in (start, end, step))
    kind = dtype or (start.dtype if isinstance(start, Tensor) else None)
    return _torch.arange(first, end=last, step=by, dtype=kind)


range = arange


def linspace(start: Setting, stop: Setting, num: Setting, *, dtype: DType | None = None) -> Array:
    first, last = (number(v, "a range") for v in (start, stop))
    (count,) = ints(num, "the count of a range")
    return _torch.linspace(first, end=last, steps=count, dtype=dtype)


def eye(*, num_rows: Setting, num_columns: Setting = -1, dtype: DType | None = None) -> Array:
    rows, columns = int(number(num_rows, "a size")), int(number(num_columns, "a size"))
    return _torch.eye(rows, m=None if columns < 0 else columns, dtype=dtype)


def _filled(shape: Sequence[int], value: Number, dtype: DType | None) -> Array:
    return _torch.full(shape, fill_value=value, dtype=dtype or DType.F32)
