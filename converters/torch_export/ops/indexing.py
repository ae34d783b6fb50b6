"""Elements by index: lookups, gathers, scatters, parts that are written into a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

import numpy as np

from edgekit.converters.semantics.aten import indexing as shared
from edgekit.converters.semantics.aten.indexing import _linear, _spread
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.movement import cast, expand, part
from edgekit.converters.semantics.movement import where as _where
from edgekit.converters.semantics.onnx import indexing as _onnx
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.torch_export.ops.reduce import amax as _amax
from edgekit.converters.torch_export.ops.reduce import mean as _mean
from edgekit.converters.torch_export.ops.reduce import sum as _sum
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.scatter import Scatter
from edgekit.core.types import DType


def embedding(
    weight: Tensor,
    *,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    return _onnx.Gather(weight, indices)


def embedding_bag(
    weight: Tensor,
    *,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or extremes of rows, for bags of one size."""
    (n,) = indices.shape
    starts = offsets.constant("where bags begin").tolist()[: -1 if include_last_offset else None]
    count = max(len(starts), 1)
    if starts != [i * n // count for i in range(count)] or not n or n % count:
        hint = "rows of a matrix are bags of one size; sum what embedding gives of others"
        raise EdgeKitError("E0205", "embedding_bag with bags of different sizes is not supported", hint=hint)
    if padding_idx not in (None, -1):
        hint = "make that row of the table zero, and leave out padding_idx"
        raise EdgeKitError("E0205", "embedding_bag with padding_idx is not supported", hint=hint)
    rows = embedding(weight, indices=indices)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(n, 1)
    bags = rows.reshape(count, n // count, weight.shape[1])
    return (_sum, _mean, _amax)[mode](bags, dim=[1])


embedding_bag_forward_only = embedding_bag


def index_select(x: Tensor, *, dim: int, index: Tensor) -> Tensor:
    return _onnx.Gather(x, index, axis=dim)


def gather(x: Tensor, *, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    return _onnx.GatherElements(x, index, axis=dim)


def index_put(
    x: Tensor, *, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    given = list(indices)
    if len(given) == 1 and given[0] is not None and given[0].dtype is DType.BOOL and values.type.size == 1:
        mask = given[0].reshape(*given[0].shape, *(1,) * (x.rank - given[0].rank))
        fill = cast(values.reshape(), x.dtype)
        return _where(mask, x + fill if accumulate else fill, x)
    parts = [(axis, i) for axis, i in enumerate(_spread(given)) if i is not None]
    if len(parts) == 1 and parts[0][1].rank <= 1 and not accumulate:
        return _written(x, *parts[0], values)
    return _put(x, parts, values, accumulate)


def _put(x: Tensor, parts: Sequence[tuple[int, Tensor]], values: Tensor, accumulate: bool) -> Tensor:
    """Indices of several dimensions go together: these come to the front, and are one dimension there."""
    axes = [axis for axis, _ in parts]
    rest = [axis for axis in range(x.rank) if axis not in axes]
    sizes, others = ([x.shape[axis] for axis in these] for these in (axes, rest))
    at = _linear([i for _, i in parts], sizes)
    first = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0  # where values have the index
    places = range(first, first + at.rank)
    shape = [*others[:first], *at.shape, *others[first:]]
    update = _of_shape(values, shape).transpose(*places, *(i for i in range(len(shape)) if i not in places))
    order = [*axes, *rest]
    rows = x.transpose(*order).reshape(_prod(sizes), *others)
    reduction = "add" if accumulate else "none"
    y = _onnx.ScatterND(rows, at.reshape(*at.shape, 1), update, reduction=reduction)
    return y.reshape(*sizes, *others).transpose(*(order.index(axis) for axis in range(x.rank)))


def _written(x: Tensor, axis: int, at: Tensor, values: Tensor) -> Tensor:
    """Rows along one axis replaced."""
    shape = [*x.shape[:axis], *at.shape, *x.shape[axis + 1 :]]
    update = _of_shape(values, shape).reshape(*x.shape[:axis], at.type.size, *x.shape[axis + 1 :])
    return index_copy(x, dim=axis, index=at.reshape(at.type.size), source=update)


def _of_shape(values: Tensor, shape: Sequence[int]) -> Tensor:
    """Values broadcast; those of more dimensions have 1 in front."""
    spare = max(0, values.rank - len(shape))
    return expand(values.reshape(*values.shape[spare:]) if spare else values, shape)


def index_copy(x: Tensor, *, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Rows along one axis replaced: what static caches do for each token."""
    axis = x.axis(dim)
    at = index.reshape(*(index.type.size if i == axis else 1 for i in range(x.rank)))
    if (*x.shape[:axis], index.type.size, *x.shape[axis + 1 :]) != source.shape:
        raise EdgeKitError("E0401", f"{source.type} is not {index.type.size} rows of {x.type}")
    return x.apply(Scatter(axis), _linear([at], [x.shape[axis]]), source)


def scatter(
    x: Tensor,
    *,
    dim: int,
    index: Tensor,
    src: Tensor | None = None,
    value: Number = 0,
    reduce: str | None = None,
) -> Tensor:
    return shared.scatter(x, dim=dim, index=index, src=src, value=value, reduce=reduce)


def scatter_add(x: Tensor, *, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return scatter(x, dim=dim, index=index, src=src, reduce="add")


def scatter_reduce(
    x: Tensor, *, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    if not include_self:
        raise EdgeKitError("E0205", "scatter_reduce without the elements that are there is not supported")
    return scatter(x, dim=dim, index=index, src=src, reduce=reduce)


def slice_scatter(
    x: Tensor, *, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    axis = x.axis(dim)
    n = x.shape[axis]
    cells = range(*slice(start, end, step).indices(n))
    if src.shape != (*x.shape[:axis], len(cells), *x.shape[axis + 1 :]):
        raise EdgeKitError("E0401", f"{src.type} does not fit into axis {axis} of {x.type}")
    if step != 1:
        at = np.asarray(cells).reshape([-1 if i == axis else 1 for i in range(x.rank)])
        return x.apply(Scatter(axis), x.new(at.astype(np.int32), "index"), src)
    behind = cells.start + len(cells)
    pieces = [part(x, axis, 0, cells.start), src, part(x, axis, behind, n - behind)]
    return concat([p for p in pieces if p.shape[axis]] or [x], axis) if len(cells) else x


def select_scatter(x: Tensor, *, src: Tensor, dim: int, index: int) -> Tensor:
    axis = x.axis(dim)
    at = index % x.shape[axis]
    row = src.reshape(*src.shape[:axis], 1, *src.shape[axis:])
    return slice_scatter(x, src=row, dim=axis, start=at, end=at + 1)


def one_hot(x: Tensor, *, num_classes: int = -1) -> Tensor:
    if num_classes < 1:
        raise EdgeKitError("E0301", "the count of classes depends on the data", hint="state num_classes")
    values = x.new(np.asarray([0, 1], np.int64))
    return _onnx.OneHot(x, x.new(np.asarray(num_classes)), values)
