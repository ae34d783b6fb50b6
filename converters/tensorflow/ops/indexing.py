"""Elements by index, and extremes with their places: see semantics/tensorflow/indexing.py."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics import selected_rows
from edgekit.converters.semantics.movement import cast, expand, part, where
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.semantics.open_rows import (
    best,
    numbered,
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
    axis = x.axis(-1)
    made = best(x, axis, count, largest=True)
    if made is None:
        x = ranked_last(x, axis, largest=True)
        made = x.apply_all(TopK(axis, int(scalar(count, "the k of TopKV2"))))
    return {"values": made[0], "indices": cast(made[1], index_type or DType.S32)}


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
    made = numbered(start, limit, delta)
    return shared.Range(start, limit, delta) if made is None else made


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
