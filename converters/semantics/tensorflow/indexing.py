"""Elements by index, extremes and their places, and constants."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics import movement
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.onnx import indexing, shape
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.gather import GatherND
from edgekit.core.ops.logic import Equal


def GatherV2(x: Tensor, index: Tensor, axis: Tensor, *, batch_dims: int = 0) -> Tensor:
    """x[.., index, ..] along an axis; the first dimensions of both may be batches."""
    along = x.axis(int(scalar(axis, "the axis of GatherV2")))
    if batch_dims == 0:
        return indexing.Gather(x, index, axis=along)
    batch = batch_dims + index.rank if batch_dims < 0 else batch_dims
    if not 0 < batch <= min(along, index.rank):
        raise EdgeKitError("E0401", f"Gather of {x.type} with {batch} batch dimensions")
    many = prod(x.shape[:batch])
    rows, at = x.reshape(many, *x.shape[batch:]), index.reshape(many, *index.shape[batch:])
    parts = [
        indexing.Gather(
            part(rows, 0, i, 1).reshape(*rows.shape[1:]),
            part(at, 0, i, 1).reshape(*at.shape[1:]),
            axis=along - batch,
        )
        for i in range(many)
    ]
    whole = concat([p.reshape(1, *p.shape) for p in parts], 0)
    return whole.reshape(*x.shape[:batch], *whole.shape[1:])


def GatherNd(x: Tensor, index: Tensor) -> Tensor:
    if index.data is not None:
        return indexing.GatherND(x, index)
    return x.apply(GatherND(0), index)


def OneHot(index: Tensor, depth: Tensor, on: Tensor, off: Tensor, *, axis: int = -1) -> Tensor:
    """Indices outside of the depth give a row of `off`."""
    size = int(scalar(depth, "the depth of OneHot"))
    index.builder.afford((*index.shape, size))
    axis = axis + index.rank + 1 if axis < 0 else axis
    index = shape.unsqueeze(index, [axis])
    cells = index.like(np.arange(size).reshape([-1 if i == axis else 1 for i in range(index.rank)]))
    return movement.where(index.apply(Equal(), cells), on.reshape(), off.reshape())


# Constants


def Fill(dims: Tensor, value: Tensor) -> Tensor:
    return movement.expand(value, dims.ints("the shape of Fill"))


def ZerosLike(x: Tensor) -> Tensor:
    x.builder.afford(x.shape)
    return x.new(np.zeros(x.shape, x.dtype.numpy), "zeros")


def Range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    first, end, step = (scalar(v, "an end of Range") for v in (start, limit, delta))
    if step == 0:
        raise EdgeKitError("E0401", "Range by steps of 0")
    start.builder.afford((max(int(np.ceil((end - first) / step)), 0),))
    return start.new(np.arange(first, end, step).astype(start.dtype.numpy), "range")
