"""Elements by index: lookups, gathers, scatters, parts that are written into a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

import numpy as np

from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.semantics.movement import where as _where
from edgekit.converters.semantics.onnx import indexing as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import Less
from edgekit.core.types import DType

_REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def index(x: Tensor, *, indices: Sequence[Tensor | None]) -> Tensor:
    """x[..., i, ..., j, ...]: indices of several dimensions go together. Their dimension comes where the
    first of them is, or in front where they do not stand side by side."""
    chosen = [(axis, i) for axis, i in enumerate(_spread(indices)) if i is not None]
    if not chosen:
        return x
    axes = [axis for axis, _ in chosen]
    together = axes == list(range(axes[0], axes[-1] + 1))
    rest = [i for i in range(x.rank) if i not in axes]
    at = axes[0] if together else 0
    sizes = [x.shape[a] for a in axes]
    before, behind = rest[:at], rest[at:]
    flat = x.transpose(*before, *axes, *behind)
    flat = flat.reshape(*(x.shape[i] for i in before), _prod(sizes), *(x.shape[i] for i in behind))
    return _onnx.Gather(flat, _linear([i for _, i in chosen], sizes), axis=at)


def scatter(
    x: Tensor,
    *,
    dim: int,
    index: Tensor,
    src: Tensor | None = None,
    value: Number = 0,
    reduce: str | None = None,
) -> Tensor:
    update = x.new(np.full(index.shape, value, x.dtype.numpy)) if src is None else _fitting(src, index)
    return _onnx.ScatterElements(x, index, update, axis=dim, reduction=_reduction(reduce))


def _spread(indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Masks as the indices of what is true in them."""
    found: list[Tensor | None] = []
    for i in indices:
        if i is not None and i.dtype is DType.BOOL:
            data = i.constant("the size of what a mask selects")
            i.builder.afford((i.rank, int(np.count_nonzero(data))))
            found += [i.new(places) for places in np.nonzero(data)]
        else:
            found.append(i)
    return found


def _linear(indices: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """Indices of several dimensions as one of all of them laid flat, none negative."""
    total: Tensor | None = None
    for i, n in zip(indices, sizes, strict=True):
        wide = cast(i, DType.S64)
        if i.data is not None and i.data.size and not -n <= int(i.data.min()) <= int(i.data.max()) < n:
            raise EdgeKitError("E0401", f"an index is outside of {n} elements")
        if len(sizes) > 1 or i.data is not None:  # Gather counts from the back itself
            wide = _where(wide.apply(Less(), 0), wide + n, wide)
        total = wide if total is None else total * n + wide
    assert total is not None, "there are indices"
    return total


def _fitting(src: Tensor, index: Tensor) -> Tensor:
    """The part of src that an index speaks of."""
    for axis, n in enumerate(index.shape):
        src = part(src, axis, 0, n)
    return src


def _reduction(name: str | None) -> str:
    if name is not None and name not in _REDUCTIONS:
        raise EdgeKitError("E0205", f"scatter that takes the {name} is not supported")
    return "none" if name is None else _REDUCTIONS[name]
