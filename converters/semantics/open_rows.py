"""Tensors of which counts of selected rows decide a dimension: made, joined, cut and padded.

As in selected_rows.py there is room for the most rows, and a count; which rows are used is noted where
the operators do not tell it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from edgekit.converters.semantics import selected_rows
from edgekit.converters.semantics.counted_sizes import SELECTS, Size, Sizes, notes, size, sizes
from edgekit.converters.semantics.movement import cast, expand, pad, part, where
from edgekit.converters.semantics.onnx import shape
from edgekit.converters.semantics.selected_rows import MixedRows, SelectedRows, used_cells
from edgekit.converters.tensor import Operand, Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Where
from edgekit.core.ops.non_zero import NonZero
from edgekit.core.ops.rank import TopK
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType


def settled(x: Tensor) -> Tensor:
    """A constant in place of what was computed of counts, where it is the same for any of them."""
    if x.data is not None or x.builder.kinds.isdisjoint(SELECTS) or x.dtype.is_float:
        return x
    found = sizes(x)
    if found is None or not all(one.is_known for one in found.reshape(-1)):
        return x
    if x.name in selected_rows.trace(x.builder):  # whose rows are counted
        return x
    values = [one.constant for one in found.reshape(-1)]
    return x.new(np.array(values, x.dtype.numpy).reshape(x.shape), "size")


def shape_of(x: Tensor, dtype: DType) -> Tensor:
    """The shape, with the number of rows that there are."""
    rows = selected_rows.of(x)
    if rows is None:
        return x.new(np.array(x.shape, dtype.numpy), "shape")
    counts = [x.new(np.array([n], dtype.numpy)) for n in x.shape]
    counts[rows.axis] = cast(selected_rows.count(x.builder, rows), dtype).reshape(1)
    return concat(counts, 0)


def size_of(x: Tensor, dtype: DType) -> Tensor:
    """The number of elements of the rows that there are."""
    if selected_rows.of(x) is None:
        return x.new(np.array(x.type.size, dtype.numpy), "size")
    sizes = shape_of(x, dtype)
    return prod((part(sizes, 0, axis, 1).reshape() for axis in range(x.rank)), start=sizes.like(1))


def open_axis(found: Sizes | None) -> int | None:
    """The only dimension of a shape that counts decide; None where there is none, or another fault."""
    axes = [] if found is None else [i for i, one in enumerate(found) if not one.is_known]
    return axes[0] if len(axes) == 1 and found is not None and found[axes[0]].least >= 0 else None


def open_sizes(x: Tensor) -> Sizes | None:
    """The sizes of a shape that counts decide at run time; None where it is constant, or data decide it."""
    return None if x.data is not None or x.rank != 1 or x.builder.kinds.isdisjoint(SELECTS) else sizes(x)


def rooms(found: Sizes) -> list[int]:
    """A shape with room for the most rows."""
    return [one.most for one in found]


def noted(x: Tensor, axis: int, count: Tensor, blank: bool = False) -> Tensor:
    """x, of which so many cells along an axis are rows, and those beyond are unused."""
    before = selected_rows.trace(x.builder).get(x.name)
    if isinstance(before, MixedRows):
        return x
    if before is not None and before.axis != axis:
        message = f"rows of {x.type} are selected along two dimensions"
        raise selected_rows.refusal(x.builder, before, message, f"node {x.builder.origin}")
    return _with_rows(x, axis, count, blank)


def _with_rows(x: Tensor, axis: int, count: Tensor, blank: bool = False) -> Tensor:
    number = count.reshape()
    by = next(kind.__name__ for kind in SELECTS if kind in x.builder.kinds)
    y = x.apply(Reshape(x.shape))
    found = _size(number)
    notes(x.builder).rows[y.name] = SelectedRows(axis, number.name, x.shape[axis], by, found, blank)
    return y


def _size(count: Tensor) -> Size:
    found = size(count)
    assert found is not None, "the number of rows is computed of counts"
    return found


def whole(x: Tensor) -> Tensor:
    """x, of which all cells are rows."""
    y = x.apply(Reshape(x.shape))
    notes(x.builder).rows[y.name] = None
    return y


def repeated(value: Tensor, sizes: Sequence[int], axis: int, count: Tensor) -> Tensor:
    """The value in so many rows, and 0 in unused ones."""
    value.builder.afford(sizes)
    return with_blanks(expand(value.reshape(), sizes), axis, count)


def with_blanks(x: Tensor, axis: int, count: Tensor) -> Tensor:
    """The first rows of x, so many, and 0 in unused ones."""
    number = count.reshape()
    rows = SelectedRows(axis, number.name, x.shape[axis], "", _size(number))
    nothing = x.like(np.zeros(x.shape))
    return _with_rows(where(used_cells(x, rows), x, nothing), axis, number, blank=True)


def reshaped(x: Tensor, to: Tensor, allowzero: int) -> Tensor | None:
    """Rows stay those of a dimension, of which their number is the size; None where it is no such size."""
    found, rows = open_sizes(to), selected_rows.of(x)
    axis = open_axis(found)
    if found is None or axis is None or rows is None or found[axis] != rows.used:
        return None
    dims = rooms(found)
    dims[axis] = x.shape[rows.axis]
    y = shape.Reshape(x, to.new(np.array(dims, np.int64)), allowzero=allowzero)
    after = selected_rows.of(y)
    return y if after is not None and after.axis == axis else None


def numbered(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor | None:
    """The numbers from one on, as many as counts say; None where it is constant, or not by steps of 1."""
    if limit.data is not None or start.data is None or delta.data is None or start.dtype.is_float:
        return None
    found = open_sizes((limit - start).reshape(1)) if scalar(delta, "the step of Range") == 1 else None
    if found is None:
        return None
    most, first = max(found[0].most, 0), int(scalar(start, "the start of Range"))
    start.builder.afford((most,))
    numbers = start.new(np.arange(first, first + most).astype(start.dtype.numpy), "range")
    count = limit - start
    return with_blanks(numbers, 0, count if found[0].least >= 0 else count.max(0))


def best(x: Tensor, axis: int, count: Tensor, *, largest: bool) -> tuple[Tensor, ...] | None:
    """As many as counts say, and where they are; None where it is constant."""
    found = open_sizes(count.reshape(1))
    if found is None or found[0].least < 0:
        return None
    x = selected_rows.ranked_last(x, axis, largest=largest)
    made = x.apply_all(TopK(axis, min(found[0].most, x.shape[axis]), largest))
    return tuple(noted(y, axis, count) for y in made)


def expanded(x: Tensor, to: Tensor) -> Tensor | None:
    """x repeated along a dimension whose size counts decide; None where it is constant."""
    found, rows = open_sizes(to), selected_rows.of(x)
    axis = open_axis(found)
    if found is None or axis is None:
        return None
    dims = rooms(found)
    x.builder.afford(dims)
    own = axis - len(dims) + x.rank
    if rows is not None and rows.axis == own and rows.used == found[axis]:
        dims[axis] = x.shape[own]
        return expand(x, dims)
    if rows is not None or (own >= 0 and x.shape[own] != 1):
        return None
    y, count = expand(x, dims), part(to, 0, axis, 1)
    return noted(y, axis, count) if y.data is None else with_blanks(y, axis, count)


def first_rows(x: Tensor, axis: int, count: Tensor) -> Tensor:
    """So many cells along an axis, or all where there are fewer."""
    rows = selected_rows.of(x)
    number, n = count.reshape(), x.shape[axis]
    if rows is not None and rows.axis == axis:
        number = number.min(cast(selected_rows.count(x.builder, rows), number.dtype))
    number = number.min(n) if _size(number).most > n else number
    return noted(part(x, axis, 0, min(_size(number).most, n)), axis, number)


def padded(x: Tensor, pads: Tensor, value: Tensor) -> Tensor:
    """A border of the value around rows; counts may decide how wide it is at their end."""
    found = sizes(pads)
    if found is None or found.shape != (x.rank, 2) or any(one.least < 0 for one in found.reshape(-1)):
        pads.constant("the border of Pad")
        raise EdgeKitError("E0401", f"Pad of {x.type} by {pads.type} cells")
    rows = selected_rows.of(x)
    is_open = [not all(n.is_known for n in found[i]) or bool(rows and rows.axis == i) for i in range(x.rank)]
    amounts = [[0, 0] if is_open[i] else [n.constant for n in found[i]] for i in range(x.rank)]
    value = value.reshape()
    x = pad(x, [n for n, _ in amounts], [n for _, n in amounts], "constant", value)
    for axis in (i for i in range(x.rank) if is_open[i]):
        borders = [_border(x, value, axis, found[axis][i], _cell(pads, axis, i)) for i in (0, 1)]
        x = joined([*borders[0], x, *borders[1]], axis)
    return x


def _border(x: Tensor, value: Tensor, axis: int, cells: Size, count: Tensor) -> list[Tensor]:
    room = [cells.most if i == axis else n for i, n in enumerate(x.shape)]
    x.builder.afford(room)
    if not cells.most:
        return []
    return [expand(value, room) if cells.is_known else repeated(value, room, axis, count)]


def _cell(pads: Tensor, axis: int, end: int) -> Tensor:
    return part(part(pads, 0, axis, 1), 1, end, 1)


def joined(xs: Sequence[Tensor], axis: int) -> Tensor:
    """One behind the other, the rows that there are without the unused ones between them."""
    first, *others = xs
    axis = first.axis(axis)
    if not others:
        return first
    builder = first.builder
    found = {} if builder.kinds.isdisjoint(SELECTS) else selected_rows.trace(builder)
    rows = [found.get(x.name) for x in xs]
    if not any(isinstance(r, SelectedRows) and r.axis == axis for r in rows) or any(
        isinstance(r, MixedRows) or (r is not None and r.axis != axis) for r in rows
    ):
        return concat(xs, axis)
    parts = [(x, r if isinstance(r, SelectedRows) else None) for x, r in zip(xs, rows, strict=True)]
    total = sum((r.used if r else Size(x.shape[axis]) for x, r in parts), Size())
    if total.is_known and len(xs) == 2 and (value := _fill(others[0])) is not None and parts[0][1]:
        x = selected_rows.filled(first, axis, value)
        behind = [total.constant - first.shape[axis] if i == axis else 0 for i in range(x.rank)]
        return whole(pad(x, [0] * x.rank, behind, "constant", value))
    used = [used_cells(x, r).reshape(x.shape[axis]) if r else _all(x, axis) for x, r in parts]
    index, _ = concat(used, 0).apply_all(NonZero())
    every = concat(xs, axis)
    index = part(index, 1, 0, min(total.most, every.shape[axis]))
    along = [index.type.size if i == axis else 1 for i in range(every.rank)]
    y = every.apply(Gather(axis), index.reshape(*along))
    return whole(y) if total.is_known else _with_rows(y, axis, _sum(parts, axis))


def _all(x: Tensor, axis: int) -> Tensor:
    return x.new(np.ones(x.shape[axis], bool))


def _sum(parts: Sequence[tuple[Tensor, SelectedRows | None]], axis: int) -> Tensor:
    counts = [cast(selected_rows.count(x.builder, r), DType.S32) if r else None for x, r in parts]
    total, *others = [one for one in counts if one is not None]
    for one in others:
        total = total + one
    known = sum(x.shape[axis] for x, r in parts if r is None)
    return total + known if known else total


def _fill(x: Tensor) -> Operand | None:
    """The number that all rows are, where it is one."""
    note, node, data = notes(x.builder).rows.get(x.name), x.builder.producers.get(x.name), x.data
    inner = x.builder.producers.get(node.inputs[0]) if node else None
    if isinstance(note, SelectedRows) and note.blank and inner and isinstance(inner.op, Where):
        data = x.builder.data(inner.inputs[1])  # see `repeated`
    if data is None or not data.size or not np.array_equal(data, np.broadcast_to(data.flat[0], data.shape)):
        return None
    return x.like(data.flat[0])
