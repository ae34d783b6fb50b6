"""Moving elements, where TensorFlow states more than TFLite does: see semantics/tensorflow/movement.py."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import part
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
    return x.new(np.array(x.shape, (out_type or DType.S32).numpy), "shape")


def ShapeN(*xs: Tensor, out_type: DType | None = None) -> list[Tensor]:
    return [Shape(x, out_type=out_type) for x in xs]


def Rank(x: Tensor) -> Tensor:
    return x.new(np.array(x.rank, np.int32), "rank")


def Size(x: Tensor, *, out_type: DType | None = None) -> Tensor:
    return x.new(np.array(x.type.size, (out_type or DType.S32).numpy), "size")


def ConcatV2(*xs_and_axis: Tensor) -> Tensor:
    *xs, axis = xs_and_axis
    if not xs:
        raise EdgeKitError("E0401", "ConcatV2 of nothing")
    return concat(xs, int(scalar(axis, "the axis of ConcatV2")))


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
