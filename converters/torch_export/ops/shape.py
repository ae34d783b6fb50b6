"""Other shapes and types for the same elements, and questions about them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.semantics.aten import shape as shared
from edgekit.converters.semantics.aten.shape import _whole, expand
from edgekit.converters.semantics.movement import cast, take
from edgekit.converters.semantics.movement import expand as _expand
from edgekit.converters.semantics.onnx.shape import unsqueeze as _unsqueeze
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType


def view(x: Tensor, *, size: Sequence[int] | None = None, dtype: DType | None = None) -> Tensor:
    return shared.view(x, size=size, dtype=dtype)


def unsafe_view(x: Tensor, *, size: Sequence[int]) -> Tensor:
    return view(x, size=size)


def view_as(x: Tensor, *, other: Tensor) -> Tensor:
    return x.reshape(*other.shape)


def reshape_as(x: Tensor, *, other: Tensor) -> Tensor:
    return x.reshape(*other.shape)


def flatten(x: Tensor, *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    return shared.flatten(x, start_dim=start_dim, end_dim=end_dim)


def unflatten(x: Tensor, *, dim: int, sizes: Sequence[int]) -> Tensor:
    axis = x.axis(dim)
    return x.reshape(*x.shape[:axis], *_whole(sizes, x.shape[axis]), *x.shape[axis + 1 :])


def squeeze(x: Tensor, *, dim: int | Sequence[int] | None = None) -> Tensor:
    return shared.squeeze(x, dim=dim)


def unsqueeze(x: Tensor, *, dim: int) -> Tensor:
    return _unsqueeze(x, [dim])


def transpose(x: Tensor, *, dim0: int, dim1: int) -> Tensor:
    order = list(range(x.rank))
    a, b = x.axis(dim0), x.axis(dim1)
    order[a], order[b] = b, a
    return x.transpose(*order)


def swapaxes(x: Tensor, *, axis0: int, axis1: int) -> Tensor:
    return transpose(x, dim0=axis0, dim1=axis1)


def swapdims(x: Tensor, *, dim0: int, dim1: int) -> Tensor:
    return transpose(x, dim0=dim0, dim1=dim1)


def t(x: Tensor) -> Tensor:
    return x.transpose(1, 0) if x.rank == 2 else x


def numpy_T(x: Tensor) -> Tensor:
    return x.transpose(*range(x.rank - 1, -1, -1))


def mT(x: Tensor) -> Tensor:
    return transpose(x, dim0=-2, dim1=-1)


def movedim(x: Tensor, *, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    sources = [x.axis(d) for d in ([source] if isinstance(source, int) else source)]
    targets = [x.axis(d) for d in ([destination] if isinstance(destination, int) else destination)]
    rest = iter([i for i in range(x.rank) if i not in sources])
    placed = dict(zip(targets, sources, strict=True))
    return x.transpose(*(placed[i] if i in placed else next(rest) for i in range(x.rank)))


def expand_as(x: Tensor, *, other: Tensor) -> Tensor:
    return _expand(x, other.shape)


def broadcast_to(x: Tensor, *, size: Sequence[int]) -> Tensor:
    return expand(x, size=size)


def as_strided(
    x: Tensor,
    *,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    own_strides: Sequence[int],
    own_offset: int,
) -> Tensor:
    """Elements by where they lie in memory, as the file says that x lies there."""
    x.builder.afford(size)
    x.builder.afford(x.shape)
    there = own_offset + _offsets(x.shape, own_strides)
    wanted = (own_offset if storage_offset is None else storage_offset) + _offsets(size, stride)
    order = np.argsort(there, kind="stable")
    place = np.searchsorted(there, wanted, sorter=order).clip(max=max(order.size - 1, 0))
    index = order[place] if order.size else place
    if not np.array_equal(there[index], wanted):
        raise EdgeKitError("E0205", f"memory outside of {x.type} is read", hint="reshape it instead")
    return take(x.reshape(x.type.size), 0, index).reshape(*size)


def contiguous(x: Tensor) -> Tensor:
    return x


def clone(x: Tensor) -> Tensor:
    return x


def alias(x: Tensor) -> Tensor:
    return x


def detach(x: Tensor) -> Tensor:
    return x


def lift_fresh(x: Tensor) -> Tensor:
    return x


def lift_fresh_copy(x: Tensor) -> Tensor:
    return x


def to(x: Tensor, *, dtype: DType | None = None, other: Tensor | None = None) -> Tensor:
    return cast(x, other.dtype if other is not None else dtype or x.dtype)


def to_copy(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    return to(x, dtype=dtype)


def type_as(x: Tensor, *, other: Tensor) -> Tensor:
    return cast(x, other.dtype)


def copy(x: Tensor, *, src: Tensor) -> Tensor:
    return _expand(cast(src, x.dtype), x.shape)


def sym_size(x: Tensor, *, dim: int) -> int:
    return x.shape[x.axis(dim)]


def sym_numel(x: Tensor) -> int:
    return x.type.size


def item(x: Tensor) -> float | int | bool:
    return x.constant("a number").reshape(()).item()  # type: ignore[no-any-return]  # one number


def local_scalar_dense(x: Tensor) -> float | int | bool:
    return item(x)


def _offsets(shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Where each element of a tensor lies, in order."""
    if len(shape) != len(strides) or any(not 0 <= s < 1 << 32 for s in strides):
        raise EdgeKitError("E0401", f"strides {list(strides)[:8]} do not fit {list(shape)[:8]}")
    total = np.zeros((), np.int64)
    for n, step in zip(shape, strides, strict=True):
        total = total[..., None] + np.arange(n, dtype=np.int64) * step
    return total.reshape(-1)
