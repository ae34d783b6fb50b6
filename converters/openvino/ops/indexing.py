"""Elements by index: gathers, scatters, the largest k, ranges."""

from __future__ import annotations

from math import ceil as _ceil

import numpy as np

from edgekit.converters.semantics.aten import reduce as _torch
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.onnx import indexing as _onnx
from edgekit.converters.semantics.tensorflow import indexing as _tensorflow
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import scalar as _scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

# Ways to join updates, as ONNX calls them.
_REDUCTIONS = {"none": "none", "sum": "add", "prod": "mul", "min": "min", "max": "max"}


def Gather(x: Tensor, index: Tensor, axis: Tensor, *, batch_dims: int = 0) -> Tensor:
    if batch_dims:
        return _tensorflow.GatherV2(x, index, axis, batch_dims=batch_dims)
    return _onnx.Gather(x, index, axis=int(_scalar(axis, "the axis of Gather")))


def GatherElements(x: Tensor, index: Tensor, *, axis: int) -> Tensor:
    return _onnx.GatherElements(x, index, axis=axis)


def GatherND(x: Tensor, index: Tensor, *, batch_dims: int = 0) -> Tensor:
    return _onnx.GatherND(x, index, batch_dims=batch_dims)


def ScatterElementsUpdate(
    x: Tensor,
    index: Tensor,
    update: Tensor,
    axis: Tensor,
    *,
    reduction: str = "none",
    use_init_val: bool = True,
) -> Tensor:
    if reduction not in _REDUCTIONS or not use_init_val:
        raise EdgeKitError("E0205", f"ScatterElementsUpdate by {reduction[:20]} without what was there")
    along = int(_scalar(axis, "the axis of ScatterElementsUpdate"))
    return _onnx.ScatterElements(x, index, update, axis=along, reduction=_REDUCTIONS[reduction])


def ScatterNDUpdate(x: Tensor, index: Tensor, update: Tensor, *, reduction: str = "none") -> Tensor:
    if reduction not in _REDUCTIONS:
        raise EdgeKitError("E0205", f"ScatterNDUpdate by {reduction[:20]} is not supported")
    return _onnx.ScatterND(x, index, update, reduction=_REDUCTIONS[reduction])


def ScatterUpdate(x: Tensor, index: Tensor, update: Tensor, axis: Tensor) -> Tensor:
    """Slices of x along an axis replaced."""
    along = x.axis(int(_scalar(axis, "the axis of ScatterUpdate")))
    order = (along, *(i for i in range(x.rank) if i != along))
    back = tuple(order.index(i) for i in range(x.rank))
    places = index.type.size
    rest = [x.shape[i] for i in order[1:]]
    cells = update.reshape(*x.shape[:along], places, *x.shape[along + 1 :]).transpose(*order)
    made = _onnx.ScatterND(x.transpose(*order), index.reshape(places, 1), cells.reshape(places, *rest))
    return made.transpose(*back)


def OneHot(index: Tensor, depth: Tensor, on: Tensor, off: Tensor, *, axis: int) -> Tensor:
    return _tensorflow.OneHot(index, depth, on, off, axis=axis)


def TopK(
    x: Tensor,
    k: Tensor,
    *,
    axis: int,
    mode: str,
    sort: str,
    stable: bool = False,
    index_element_type: DType = DType.S32,
) -> tuple[Tensor, ...]:
    """By values, largest or smallest first. Where the order is another one, that of places is not known."""
    count = int(_scalar(k, "the k of TopK"))
    if sort == "index":
        raise EdgeKitError("E0205", "TopK in the order of places is not supported")
    values, places = _torch.topk(x, k=count, dim=axis, largest=mode == "max")
    return values, _cast(places, index_element_type)


def CumSum(x: Tensor, axis: Tensor, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    return _onnx.CumSum(x, axis, exclusive=int(exclusive), reverse=int(reverse))


def Range(start: Tensor, stop: Tensor, step: Tensor, *, output_type: DType = DType.F32) -> Tensor:
    first, last, by = (_scalar(t, "the range") for t in (start, stop, step))
    if not by or not all(np.isfinite([float(v) for v in (first, last, by)])):
        raise EdgeKitError("E0401", f"a range from {first} to {last} in steps of {by}")
    count = max(_ceil((last - first) / by), 0)
    start.builder.afford((count,))
    return start.new((first + by * np.arange(count)).astype(output_type.numpy), "range")
