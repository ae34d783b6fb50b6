"""Elements by index, and extremes with their places: see semantics/tensorflow/indexing.py."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics import selected_rows
from edgekit.converters.semantics.movement import cast, expand, part, where
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.semantics.open_rows import (
    noted,
    open_axis,
    open_sizes,
    repeated,
    rooms,
    with_blanks,
)
from edgekit.converters.semantics.selected_rows import ranked_last
from edgekit.converters.semantics.tensorflow import indexing as shared
from edgekit.converters.semantics.tensorflow.indexing import GatherV2
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.rank import TopK
from edgekit.core.types import DType


def Gather(x: Tensor, index: Tensor) -> Tensor:
    return GatherV2(x, index, index.like(0))


def ResourceGather(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Tensor:
    return GatherV2(x, index, index.like(batch_dims), batch_dims=batch_dims)


def ArgMax(x: Tensor, axis: Tensor, *, output_type: DType | None = None) -> Tensor:
    along = int(scalar(axis, "the axis of ArgMax"))
    return cast(indexing.ArgMax(x, axis=along, keepdims=0), output_type or DType.S64)


def ArgMin(x: Tensor, axis: Tensor, *, output_type: DType | None = None) -> Tensor:
    along = int(scalar(axis, "the axis of ArgMin"))
    return cast(indexing.ArgMin(x, axis=along, keepdims=0), output_type or DType.S64)


def TopKV2(
    x: Tensor, count: Tensor, *, sorted: bool = True, index_type: DType | None = None
) -> dict[str, Tensor]:
    """As many as there are rows gives all of them."""
    axis = x.axis(-1)
    found = open_sizes(count.reshape(1))
    x = ranked_last(x, axis, largest=True)
    most = int(scalar(count, "the k of TopKV2")) if found is None else min(found[0].most, x.shape[axis])
    best, at = x.apply_all(TopK(axis, most))
    at = cast(at, index_type or DType.S32)
    if found is not None:
        best, at = (noted(y, axis, count) for y in (best, at))
    return {"values": best, "indices": at}


def Fill(dims: Tensor, value: Tensor) -> Tensor:
    """A size that counts rows gives so many."""
    found = open_sizes(dims)
    axis = open_axis(found)
    if found is None or axis is None:
        return shared.Fill(dims, value)
    return repeated(value, rooms(found), axis, part(dims, 0, axis, 1))


def ZerosLike(x: Tensor) -> Tensor:
    return _like(x, 0)


def OnesLike(x: Tensor) -> Tensor:
    return _like(x, 1)


def _like(x: Tensor, value: int) -> Tensor:
    x.builder.afford(x.shape)
    every = x.new(np.full(x.shape, value, x.dtype.numpy), "zeros" if value == 0 else "ones")
    rows = selected_rows.of(x)
    return every if rows is None else with_blanks(every, rows.axis, selected_rows.count(x.builder, rows))


def Range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    """Numbers up to one that counts rows are so many."""
    is_plain = limit.data is not None or start.data is None or delta.data is None or delta.data.size != 1
    found = None if is_plain or delta.data != 1 else open_sizes((limit - start).reshape(1))
    if found is None:
        return shared.Range(start, limit, delta)
    most, first = max(found[0].most, 0), int(scalar(start, "the start of Range"))
    start.builder.afford((most,))
    numbers = start.new(np.arange(first, first + most).astype(start.dtype.numpy), "range")
    count = limit - start
    return with_blanks(numbers, 0, count if found[0].least >= 0 else count.max(0))


def Cumsum(x: Tensor, axis: Tensor, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    return _cumulative("sum", x, axis, exclusive, reverse)


def Cumprod(x: Tensor, axis: Tensor, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    return _cumulative("prod", x, axis, exclusive, reverse)


def _cumulative(kind: str, x: Tensor, axis: Tensor, exclusive: bool, reverse: bool) -> Tensor:
    along = x.axis(int(scalar(axis, "the axis of a cumulative sum")))
    return x.apply(Cumulative(kind, along, exclusive, reverse))


def ScatterNd(index: Tensor, updates: Tensor, to: Tensor) -> Tensor:
    size = to.ints("the shape of ScatterNd")
    index.builder.afford(size)
    return indexing.ScatterND(updates.like(np.zeros(size)), index, updates, reduction="add")


def TensorScatterUpdate(x: Tensor, index: Tensor, updates: Tensor) -> Tensor:
    return indexing.ScatterND(x, index, updates)


def TensorScatterAdd(x: Tensor, index: Tensor, updates: Tensor) -> Tensor:
    return indexing.ScatterND(x, index, updates, reduction="add")


def LinSpace(start: Tensor, stop: Tensor, count: Tensor) -> Tensor:
    first, last = (scalar(v, "an end of LinSpace") for v in (start, stop))
    number = int(scalar(count, "the count of LinSpace"))
    start.builder.afford((max(number, 0),))
    return start.like(np.linspace(first, last, number))


def MatrixBandPart(x: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    below, above = (int(scalar(v, "a width of MatrixBandPart")) for v in (lower, upper))
    if x.rank < 2:
        raise EdgeKitError("E0401", f"MatrixBandPart of {x.type}")
    rows, columns = np.ogrid[: x.shape[-2], : x.shape[-1]]
    inside = ((below < 0) | (rows - columns <= below)) & ((above < 0) | (columns - rows <= above))
    return where(expand(x.new(inside, "band"), x.shape), x, 0)
