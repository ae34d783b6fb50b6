"""Parts, joints, repetition, borders and other orders of elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.semantics import movement as _shared
from edgekit.converters.semantics.aten import movement as shared
from edgekit.converters.semantics.aten.movement import _pad, channel_shuffle
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.movement import take
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def cat(tensors: Sequence[Tensor], *, dim: int = 0) -> Tensor:
    return shared.cat(tensors, dim=dim)


def concat(tensors: Sequence[Tensor], *, dim: int = 0) -> Tensor:
    return cat(tensors, dim=dim)


def stack(tensors: Sequence[Tensor], *, dim: int = 0) -> Tensor:
    return shared.stack(tensors, dim=dim)


def slice(
    x: Tensor, *, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    return shared.slice(x, dim=dim, start=start, end=end, step=step)


def unbind(x: Tensor, *, dim: int = 0) -> list[Tensor]:
    return shared.unbind(x, dim=dim)


def split(x: Tensor, *, split_size: int | Sequence[int], dim: int = 0) -> list[Tensor]:
    return shared.split(x, split_size=split_size, dim=dim)


def split_with_sizes(x: Tensor, *, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    return shared.split_with_sizes(x, split_sizes=split_sizes, dim=dim)


def chunk(x: Tensor, *, chunks: int, dim: int = 0) -> list[Tensor]:
    return split(x, split_size=max(1, -(-x.shape[x.axis(dim)] // max(chunks, 1))), dim=dim)


def roll(x: Tensor, *, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
    return shared.roll(x, shifts=shifts, dims=dims)


def repeat_interleave(
    x: Tensor, *, repeats: int, dim: int | None = None, output_size: int | None = None
) -> Tensor:
    if not isinstance(repeats, int):
        raise EdgeKitError("E0205", "repeat_interleave with a count for each element is not supported")
    if dim is None:
        return repeat_interleave(x.reshape(x.type.size), repeats=repeats, dim=0)
    return _shared.repeat_along(x, x.axis(dim), repeats)


def pad(x: Tensor, *, pad: Sequence[int], mode: str = "constant", value: Number | None = None) -> Tensor:
    return shared.pad(x, pad=pad, mode=mode, value=value)


def constant_pad_nd(x: Tensor, *, pad: Sequence[int], value: Number = 0) -> Tensor:
    return _pad(x, pad, "constant", value)


def reflection_pad1d(x: Tensor, *, padding: Sequence[int]) -> Tensor:
    return _pad(x, padding, "reflect")


def reflection_pad2d(x: Tensor, *, padding: Sequence[int]) -> Tensor:
    return _pad(x, padding, "reflect")


def replication_pad1d(x: Tensor, *, padding: Sequence[int]) -> Tensor:
    return _pad(x, padding, "replicate")


def replication_pad2d(x: Tensor, *, padding: Sequence[int]) -> Tensor:
    return _pad(x, padding, "replicate")


def native_channel_shuffle(x: Tensor, *, groups: int) -> Tensor:
    return channel_shuffle(x, groups=groups)


def meshgrid(tensors: Sequence[Tensor], *, indexing: str = "ij") -> list[Tensor]:
    return shared.meshgrid(tensors, indexing=indexing)


def tril(x: Tensor, *, diagonal: int = 0) -> Tensor:
    return shared.tril(x, diagonal=diagonal)


def triu(x: Tensor, *, diagonal: int = 0) -> Tensor:
    return shared.triu(x, diagonal=diagonal)


def unfold(x: Tensor, *, dimension: int, size: int, step: int) -> Tensor:
    """Windows along a dimension; their cells become the last dimension."""
    axis = x.axis(dimension)
    count = (x.shape[axis] - size) // step + 1
    x.builder.afford((count, size))
    index = (np.arange(count)[:, None] * step + np.arange(size)).reshape(-1)
    y = take(x, axis, index).reshape(*x.shape[:axis], count, size, *x.shape[axis + 1 :])
    return y.transpose(*(i for i in range(y.rank) if i != axis + 1), axis + 1)


def diagonal(x: Tensor, *, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return shared.diagonal(x, offset=offset, dim1=dim1, dim2=dim2)
