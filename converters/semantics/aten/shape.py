"""Other shapes and types for the same elements, and questions about them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

from edgekit.converters.semantics.movement import expand as _expand
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def view(x: Tensor, *, size: Sequence[int] | None = None, dtype: DType | None = None) -> Tensor:
    if size is None:
        raise EdgeKitError("E0205", f"the bits of {x.dtype.value} as another type are not supported")
    return x.reshape(*_whole(size, x.type.size))


def reshape(x: Tensor, *, shape: Sequence[int]) -> Tensor:
    return view(x, size=shape)


def flatten(x: Tensor, *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    if not x.rank:
        return x.reshape(1)
    first, last = x.axis(start_dim), x.axis(end_dim)
    return x.reshape(*x.shape[:first], _prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def squeeze(x: Tensor, *, dim: int | Sequence[int] | None = None) -> Tensor:
    given = range(x.rank) if dim is None else [dim] if isinstance(dim, int) else dim
    drop = {x.axis(d) for d in given} if x.rank else set()
    return x.reshape(*(n for i, n in enumerate(x.shape) if i not in drop or n != 1))


def permute(x: Tensor, *, dims: Sequence[int]) -> Tensor:
    return x.transpose(*(x.axis(d) for d in dims))


def expand(x: Tensor, *, size: Sequence[int]) -> Tensor:
    """-1 keeps what is there; new dimensions come in front."""
    new = len(size) - x.rank
    if new < 0 or -1 in size[:new]:
        raise EdgeKitError("E0401", f"{x.type} does not expand to {list(size)[:8]}")
    return _expand(x, [x.shape[i - new] if n == -1 else n for i, n in enumerate(size)])


def _whole(shape: Sequence[int], size: int) -> list[int]:
    """A shape with -1, which stands for what is left, filled in."""
    known = _prod(n for n in shape if n != -1)
    return [(size // known if known else 0) if n == -1 else n for n in shape]
