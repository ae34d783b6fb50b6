"""Sequences and optionals, which import resolves: generated code knows tensors only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto

from edgekit.converters.onnx.tensor_list import Edge, TensorList
from edgekit.converters.semantics.movement import part
from edgekit.converters.semantics.onnx.shape import unsqueeze
from edgekit.converters.semantics.selected_rows import check_end
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError

if TYPE_CHECKING:
    from edgekit.converters.onnx.reader import OnnxImporter


# Each becomes a piece of code.
_MAX_PARTS = 10_000


def SequenceEmpty(*, dtype: int = 1) -> TensorList:
    return TensorList(())


def SequenceConstruct(*xs: Tensor) -> TensorList:
    return TensorList(xs)


def SequenceAt(xs: TensorList, position: Tensor) -> Tensor:
    return xs.items[_place(xs, position, 0)]


def SequenceInsert(xs: TensorList, x: Tensor, position: Tensor | None = None) -> TensorList:
    at = len(xs.items) if position is None else _place(xs, position, 1)
    return TensorList((*xs.items[:at], x, *xs.items[at:]))


def SequenceErase(xs: TensorList, position: Tensor | None = None) -> TensorList:
    at = len(xs.items) - 1 if position is None else _place(xs, position, 0)
    return TensorList((*xs.items[:at], *xs.items[at + 1 :]))


def SequenceLength(xs: TensorList, *, importer: OnnxImporter) -> Tensor:
    return importer.const(np.array(len(xs.items), np.int64), "length")


def SplitToSequence(
    x: Tensor, split: Tensor | None = None, *, axis: int = 0, keepdims: int = 1
) -> TensorList:
    axis = x.axis(axis)
    check_end(x, axis)
    n = x.shape[axis]
    if split is None:
        sizes = [1] * n
    elif split.rank == 0:
        size = max(int(scalar(split, "the size of the parts of SplitToSequence")), 1)
        sizes = [min(size, n - i) for i in range(0, n, size)]
    else:
        sizes = list(split.ints("the sizes of SplitToSequence"))
    if sum(sizes) != n or min(sizes, default=0) < 0:
        raise EdgeKitError("E0401", f"SplitToSequence into {sizes} does not fit axis {axis} of {x.type}")
    if len(sizes) > _MAX_PARTS:
        raise EdgeKitError("E0205", f"SplitToSequence into {len(sizes)} parts is not supported")
    starts = np.cumsum([0, *sizes]).tolist()
    parts = [part(x, axis, start, size) for start, size in zip(starts, sizes, strict=False)]
    if split is None and not keepdims:
        parts = [p.reshape(*x.shape[:axis], *x.shape[axis + 1 :]) for p in parts]
    return TensorList(tuple(parts))


def ConcatFromSequence(xs: TensorList, *, axis: int, new_axis: int = 0) -> Tensor:
    if not xs.items:
        raise EdgeKitError("E0401", "ConcatFromSequence of an empty sequence")
    if new_axis:
        rank = xs.items[0].rank + 1
        axis = axis + rank if axis < 0 else axis
        return concat([unsqueeze(x, [axis]) for x in xs.items], axis)
    return concat(xs.items, axis)


def SequenceMap(xs: TensorList, *others: Edge, body: GraphProto, importer: OnnxImporter) -> list[TensorList]:
    """The body applied to each element, to those of the other sequences at its place, and to tensors."""
    rows = []
    for i, x in enumerate(xs.items):
        more = [other.items[i] if isinstance(other, TensorList) else other for other in others]
        rows.append(importer.subgraph(body, (x, *more), str(i)))
    return [TensorList(tuple(row[k] for row in rows)) for k in range(len(body.output))]


def OptionalHasElement(x: Edge | None = None, *, importer: OnnxImporter) -> Tensor:
    return importer.const(np.array(x is not None), "present")


def OptionalGetElement(x: Edge) -> Edge:
    return x


def _place(xs: TensorList, position: Tensor, extra: int) -> int:
    """A position in a sequence, counted from the front; `extra` more than there are elements are allowed."""
    at, n = int(scalar(position, "the position in a sequence")), len(xs.items)
    if not -n <= at < n + extra:
        raise EdgeKitError("E0401", f"position {at} is outside of a sequence of {n}")
    return at + n if at < 0 else at
