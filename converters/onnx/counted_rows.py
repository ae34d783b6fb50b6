"""Operators of ONNX where counts of selected rows are numbers that the model computes with (ADR 0222).

Files are read so where they are refused with shapes that are constants (row_counts.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgekit.converters.onnx.ops import constants, indexing, movement, sequences
from edgekit.converters.onnx.ops import shape as shapes
from edgekit.converters.onnx.tensor_list import TensorList
from edgekit.converters.semantics import selected_rows
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.semantics.open_rows import (
    best,
    expanded,
    first_rows,
    joined,
    numbered,
    open_sizes,
    padded,
    reshaped,
    shape_of,
    size_of,
)
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.ops import arithmetic
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.logic import Not
from edgekit.core.types import Array, DType


def Shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    cells = range(x.rank)[slice(start, end)]
    return part(shape_of(x, DType.S64), 0, cells.start, len(cells))


def Size(x: Tensor) -> Tensor:
    return size_of(x, DType.S64)


def Reshape(
    x: Tensor, given: Tensor | None = None, *, allowzero: int = 0, shape: tuple[int, ...] = ()
) -> Tensor:
    made = None if given is None else reshaped(x, given, allowzero)
    return shapes.Reshape(x, given, allowzero=allowzero, shape=shape) if made is None else made


def ConstantOfShape(shape: Tensor, *, value: Array | None = None) -> Tensor:
    fill = np.zeros(1, np.float32) if value is None else value
    made = expanded(shape.new(fill.reshape(-1)[:1].reshape(())), shape)
    return constants.ConstantOfShape(shape, value=value) if made is None else made


def Add(a: Tensor, b: Tensor) -> Tensor:
    """tf2onnx writes a choice as the sum of both, one times 1 and the other times 0."""
    if not a.dtype.is_float:
        for condition, yes in _under_conditions(a):
            for other, no in _under_conditions(b):
                negated = a.builder.producers.get(other.name)
                if negated and isinstance(negated.op, Not) and negated.inputs == (condition.name,):
                    return where(condition, yes, no)
    return a + b


def _under_conditions(x: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The conditions that are factors, and the other factor of each."""
    node = x.builder.producers.get(x.name)
    if node is None or not isinstance(node.op, arithmetic.Mul):
        return
    for name, other in (node.inputs, node.inputs[::-1]):
        made = x.builder.producers.get(name)
        if made and isinstance(made.op, Cast) and x.builder.type(made.inputs[0]).dtype is DType.BOOL:
            yield Tensor(x.builder, made.inputs[0]), Tensor(x.builder, other)


def Range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    made = numbered(start, limit, delta)
    return constants.Range(start, limit, delta) if made is None else made


def Expand(x: Tensor, shape: Tensor) -> Tensor:
    made = expanded(x, shape)
    return movement.Expand(x, shape) if made is None else made


def Concat(*xs: Tensor, axis: int = 1) -> Tensor:
    return joined(xs, axis)


def ConcatFromSequence(x: TensorList, *, axis: int, new_axis: int = 0) -> Tensor:
    if new_axis or not x.items:
        return sequences.ConcatFromSequence(x, axis=axis, new_axis=new_axis)
    return joined(x.items, axis)


def Slice(
    x: Tensor,
    first: Tensor | None = None,
    last: Tensor | None = None,
    along: Tensor | None = None,
    step: Tensor | None = None,
    *,
    starts: tuple[int, ...] = (),
    ends: tuple[int, ...] = (),
    axes: tuple[int, ...] | None = None,
) -> Tensor:
    """An end that counts rows is the end of them."""
    found = None if last is None else open_sizes(last)
    if last is not None and found is not None and all(one.is_known or one.least >= 0 for one in found):
        places = along.ints("the axes of Slice") if along is not None else range(len(found))
        fixed = []
        for i, (axis, end) in enumerate(zip(places, found, strict=True)):
            if not end.is_known:
                x = first_rows(x, x.axis(axis), part(last, 0, i, 1))
            fixed.append(end.constant if end.is_known else x.shape[axis])
        last = last.new(np.array(fixed, np.int64))
    return movement.Slice(x, first, last, along, step, starts=starts, ends=ends, axes=axes)


def Pad(
    x: Tensor,
    given: Tensor | None = None,
    fill: Tensor | None = None,
    along: Tensor | None = None,
    *,
    mode: str = "constant",
    pads: tuple[int, ...] = (),
    value: float = 0.0,
) -> Tensor:
    """A border along rows, or as wide as counts say."""
    cells = given if given is not None else x.new(np.array(pads, np.int64))
    axes = [x.axis(a) for a in along.ints("the axes of Pad")] if along is not None else list(range(x.rank))
    rows = selected_rows.of(x)
    if mode != "constant" or cells.type.size != 2 * len(axes) or (rows is None and cells.data is not None):
        return movement.Pad(x, given, fill, along, mode=mode, pads=pads, value=value)
    amounts = cells.reshape(2, len(axes)).transpose(1, 0)
    none = amounts.like([[0, 0]])
    by_axis = [part(amounts, 0, axes.index(i), 1) if i in axes else none for i in range(x.rank)]
    return padded(x, concat(by_axis, 0), x.like(value) if fill is None else fill)


def TopK(
    x: Tensor, count: Tensor | None = None, *, axis: int = -1, k: int = 0, largest: int = 1, sorted: int = 1
) -> tuple[Tensor, ...]:
    made = None if count is None else best(x, x.axis(axis), count, largest=bool(largest))
    if made is None:
        return indexing.TopK(x, count, axis=axis, k=k, largest=largest, sorted=sorted)
    return made
