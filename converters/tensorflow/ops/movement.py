"""Moving elements, where TensorFlow states more than TFLite does: see semantics/tensorflow/movement.py."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics import selected_rows
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.open_rows import (
    first_rows,
    joined,
    noted,
    open_axis,
    open_sizes,
    padded,
    reshaped,
    rooms,
    shape_of,
    size_of,
)
from edgekit.converters.semantics.selected_rows import check_end
from edgekit.converters.semantics.tensorflow import movement as shared
from edgekit.converters.semantics.tensorflow.movement import BatchToSpaceND, SpaceToBatchND
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def Identity(x: Tensor) -> Tensor:
    return x


def IdentityN(*xs: Tensor) -> list[Tensor]:
    return list(xs)


def StopGradient(x: Tensor) -> Tensor:
    return x


def PreventGradient(x: Tensor) -> Tensor:
    return x


def Snapshot(x: Tensor) -> Tensor:
    return x


def ReadVariableOp(x: Tensor) -> Tensor:
    """What the variable holds, which the importer has read."""
    return x


def VarIsInitializedOp(x: Tensor) -> Tensor:
    return x.new(np.array(True))


IsVariableInitialized = VarIsInitializedOp


def EnsureShape(x: Tensor) -> Tensor:
    return x


def Shape(x: Tensor, *, out_type: DType | None = None) -> Tensor:
    return shape_of(x, out_type or DType.S32)


def ShapeN(*xs: Tensor, out_type: DType | None = None) -> list[Tensor]:
    return [Shape(x, out_type=out_type) for x in xs]


def Rank(x: Tensor) -> Tensor:
    return x.new(np.array(x.rank, np.int32), "rank")


def Size(x: Tensor, *, out_type: DType | None = None) -> Tensor:
    return size_of(x, out_type or DType.S32)


def Reshape(x: Tensor, to: Tensor) -> Tensor:
    made = reshaped(x, to, allowzero=1)
    return shared.Reshape(x, to) if made is None else made


def Slice(x: Tensor, begin: Tensor, size: Tensor) -> Tensor:
    """A size that counts rows gives so many."""
    found = open_sizes(size)
    axis = open_axis(found)
    if found is None or axis is None or axis >= x.rank:
        return shared.Slice(x, begin, size)
    starts, dims = begin.ints("the begin of Slice"), rooms(found)
    dims[axis] = min(dims[axis], *(x.shape[axis] - start for start in starts[axis : axis + 1]))
    return noted(shared.Slice(x, begin, size.new(np.array(dims))), axis, part(size, 0, axis, 1))


def StridedSlice(
    x: Tensor,
    begin: Tensor,
    end: Tensor,
    strides: Tensor,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """An end that counts rows is the end of them."""
    found = open_sizes(end)
    axis = open_axis(found)
    others = end_mask | shrink_axis_mask
    if found is not None and axis is not None and not (ellipsis_mask or new_axis_mask or others >> axis & 1):
        if axis < x.rank:
            x = first_rows(x, axis, part(end, 0, axis, 1))
        end, end_mask = end.new(np.array(rooms(found))), end_mask | 1 << axis
    for i, last in enumerate(end.ints("the end of StridedSlice")):
        if last < 0 and not others >> i & 1:
            for along in range(x.rank) if ellipsis_mask or new_axis_mask else [i] if i < x.rank else []:
                check_end(x, along)
    return shared.StridedSlice(
        x,
        begin,
        end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


def Pad(x: Tensor, pads: Tensor) -> Tensor:
    return shared.Pad(x, pads) if _is_closed(x, pads) else padded(x, pads, x.like(0))


def PadV2(x: Tensor, pads: Tensor, value: Tensor) -> Tensor:
    return shared.PadV2(x, pads, value) if _is_closed(x, pads) else padded(x, pads, value)


def _is_closed(x: Tensor, pads: Tensor) -> bool:
    """Do rows end where they did, if there are some, and are borders as they are for any number of them?"""
    rows = selected_rows.of(x)
    return pads.data is not None and (rows is None or not pads.data.reshape(-1, 2)[rows.axis :][:1].any())


def ConcatV2(*xs_and_axis: Tensor) -> Tensor:
    *xs, axis = xs_and_axis
    if not xs:
        raise EdgeKitError("E0401", "ConcatV2 of nothing")
    return joined(xs, int(scalar(axis, "the axis of ConcatV2")))


def Concat(axis: Tensor, *xs: Tensor) -> Tensor:
    return ConcatV2(*xs, axis)


def BroadcastArgs(a: Tensor, b: Tensor) -> Tensor:
    made = np.broadcast_shapes(a.ints("the shape of BroadcastArgs"), b.ints("the shape of BroadcastArgs"))
    return a.like(np.array(made))


def SpaceToBatch(x: Tensor, pads: Tensor, *, block_size: int) -> Tensor:
    return SpaceToBatchND(x, pads.like([block_size] * 2), pads)


def BatchToSpace(x: Tensor, crops: Tensor, *, block_size: int) -> Tensor:
    return BatchToSpaceND(x, crops.like([block_size] * 2), crops)


def Roll(x: Tensor, shift: Tensor, axis: Tensor) -> Tensor:
    for by, along in zip(shift.ints("the shift of Roll"), axis.ints("the axis of Roll"), strict=True):
        dim = x.axis(along)
        n = x.shape[dim]
        at = by % n if n else 0
        x = concat([part(x, dim, n - at, at), part(x, dim, 0, n - at)], dim) if at else x
    return x


def InvertPermutation(x: Tensor) -> Tensor:
    return x.like(np.argsort(x.constant("the order of InvertPermutation")))
