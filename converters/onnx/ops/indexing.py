"""Elements by index: gathers, scatters, extremes, the largest k, cumulative sums, selections."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, take, where
from edgekit.converters.semantics.onnx import indexing as shared
from edgekit.converters.semantics.selected_rows import filled, ranked_last
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.ops import non_zero, rank, scatter
from edgekit.core.ops._strided import RANK
from edgekit.core.ops.logic import Less
from edgekit.core.types import DType


def Gather(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
    return shared.Gather(x, index, axis=axis)


def GatherElements(x: Tensor, index: Tensor, *, axis: int = 0) -> Tensor:
    return shared.GatherElements(x, index, axis=axis)


def GatherND(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Tensor:
    return shared.GatherND(x, index, batch_dims=batch_dims)


def ScatterElements(
    x: Tensor, index: Tensor, update: Tensor, *, axis: int = 0, reduction: str = "none"
) -> Tensor:
    return shared.ScatterElements(x, index, update, axis=axis, reduction=reduction)


def Scatter(x: Tensor, index: Tensor, update: Tensor, *, axis: int = 0) -> Tensor:
    return ScatterElements(x, index, update, axis=axis)


def ScatterND(x: Tensor, index: Tensor, update: Tensor, *, reduction: str = "none") -> Tensor:
    return shared.ScatterND(x, index, update, reduction=reduction)


def TensorScatter(
    cache: Tensor, update: Tensor, index: Tensor | None = None, *, axis: int = -2, mode: str = "linear"
) -> Tensor:
    """The update goes into the cache from step index[b] of batch b on; `circular` goes on at the front."""
    axis = cache.axis(axis)
    steps = np.arange(update.shape[axis]).reshape([-1 if i == axis else 1 for i in range(cache.rank)])
    at = update.new(steps)
    if index is not None:
        at = cast(index, DType.S64).reshape(*(n if i == 0 else 1 for i, n in enumerate(cache.shape))) + at
    if mode == "circular":
        at = where(at.apply(Less(), cache.shape[axis]), at, at - cache.shape[axis])
    return cache.apply(scatter.Scatter(axis), at, update)


def OneHot(index: Tensor, depth: Tensor, values: Tensor, *, axis: int = -1) -> Tensor:
    return shared.OneHot(index, depth, values, axis=axis)


def ArgMax(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    return shared.ArgMax(x, axis=axis, keepdims=keepdims, select_last_index=select_last_index)


def ArgMin(x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Tensor:
    return shared.ArgMin(x, axis=axis, keepdims=keepdims, select_last_index=select_last_index)


def TopK(
    x: Tensor, count: Tensor | None = None, *, axis: int = -1, k: int = 0, largest: int = 1, sorted: int = 1
) -> tuple[Tensor, ...]:
    size = int(scalar(count, "the k of TopK")) if count is not None else k
    x = ranked_last(x, x.axis(axis), largest=bool(largest))
    return x.apply_all(rank.TopK(x.axis(axis), size, bool(largest)))


def CumSum(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    return shared.CumSum(x, axis, exclusive=exclusive, reverse=reverse)


def CumProd(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
    return shared.CumProd(x, axis, exclusive=exclusive, reverse=reverse)


def Compress(x: Tensor, condition: Tensor, *, axis: int | None = None) -> Tensor:
    x, axis = (x.reshape(x.type.size), 0) if axis is None else (x, x.axis(axis))
    if condition.data is not None:
        return take(x, axis, np.flatnonzero(condition.data))
    return Gather(x, NonZero(condition).reshape(condition.type.size), axis=axis)


def NonZero(x: Tensor) -> Tensor:
    """There is room for all elements; those of a constant are counted here."""
    if x.data is not None or not 1 <= x.rank <= RANK or not x.type.size:
        data = x.constant("the size of the result of NonZero")
        x.builder.afford((x.rank, int(np.count_nonzero(data))))
        return x.new(np.array(np.nonzero(data), np.int64))
    for axis in range(x.rank):  # of rows that another operator selects
        x = filled(x, axis, 0)
    for node in x.builder.nodes:  # exporters ask once for each tensor that a mask is for: rows of one count
        if isinstance(node.op, non_zero.NonZero) and node.inputs == (x.name,):
            return Tensor(x.builder, node.outputs[0])
    index, _ = x.apply_all(non_zero.NonZero())
    return index


def Unique(x: Tensor, *, axis: int | None = None, sorted: int = 1) -> tuple[Tensor, ...]:
    data = x.constant("the size of the result of Unique")
    values, first, inverse, counts = np.unique(data, True, True, True, axis=axis)
    order = np.arange(first.size) if sorted else np.argsort(first)
    place = np.argsort(order)
    results = [np.take(values, order, axis or 0), first[order], place[inverse.reshape(-1)], counts[order]]
    return tuple(x.new(r if i == 0 else r.astype(np.int64)) for i, r in enumerate(results))
