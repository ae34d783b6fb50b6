"""Shapes: asking for them and giving a tensor another one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def Reshape(
    x: Tensor, given: Tensor | None = None, *, allowzero: int = 0, shape: tuple[int, ...] = ()
) -> Tensor:
    dims = list(given.ints("the shape of Reshape") if given is not None else shape)
    copied = [] if allowzero else [i for i, d in enumerate(dims) if d == 0]
    if any(i >= x.rank for i in copied) or dims.count(-1) > 1:
        raise EdgeKitError("E0401", f"shape {dims} makes no sense for {x.type}")
    dims = [x.shape[i] if i in copied else d for i, d in enumerate(dims)]
    if -1 in dims:
        known = prod(d for d in dims if d != -1)
        dims[dims.index(-1)] = x.type.size // known if known else 0
    return x.reshape(*dims)


def Squeeze(x: Tensor, given: Tensor | None = None, *, axes: tuple[int, ...] | None = None) -> Tensor:
    axes = given.ints("the axes of Squeeze") if given is not None else axes
    drop = {x.axis(a) for a in axes} if axes is not None else {i for i, n in enumerate(x.shape) if n == 1}
    if any(x.shape[i] != 1 for i in drop):
        raise EdgeKitError("E0401", f"Squeeze of axes {sorted(drop)} of {x.type}, which are not all 1")
    return x.reshape(*(n for i, n in enumerate(x.shape) if i not in drop))


def unsqueeze(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Dimensions of size 1 put in, so that they have these positions in the result."""
    rank = x.rank + len(axes)
    places = {a % rank for a in axes if -rank <= a < rank}
    if len(places) != len(axes):
        raise EdgeKitError("E0401", f"axes {list(axes)} do not fit a result of {rank} dimensions")
    sizes = iter(x.shape)
    return x.reshape(*(1 if i in places else next(sizes) for i in range(rank)))
