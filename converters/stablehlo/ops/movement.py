"""Shapes, parts, joints, borders and other orders of elements, and tensors that are known at import."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod as _prod

import numpy as np

from edgekit.converters.semantics.movement import box, expand, part, take
from edgekit.converters.semantics.movement import pad as _pad
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.stablehlo.node import StablehloNode
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError


def reshape(node: StablehloNode, x: Tensor) -> Tensor:
    return x.reshape(*node.shape)


def dynamic_reshape(node: StablehloNode, x: Tensor, shape: Tensor) -> Tensor:
    return x.reshape(*shape.ints("the shape of dynamic_reshape"))


def transpose(node: StablehloNode, x: Tensor) -> Tensor:
    order = node.ints("dims", "permutation", count=x.rank)
    if sorted(order) != list(range(x.rank)):
        raise EdgeKitError("E0401", f"transpose of {x.type} to the order {list(order)}")
    return x.transpose(*order)


def slice_(node: StablehloNode, x: Tensor) -> Tensor:
    if "ranges" in node.attributes:
        ranges = node.attributes["ranges"]
        if len(ranges) != x.rank or not all(isinstance(r, list) and 2 <= len(r) <= 3 for r in ranges):
            raise EdgeKitError("E0401", f"slice of {x.type} by {str(ranges)[:60]}")
        starts, ends = [r[0] for r in ranges], [r[1] for r in ranges]
        steps = [r[2] if len(r) > 2 else 1 for r in ranges]
    else:
        starts, ends = (list(node.ints(key, count=x.rank)) for key in ("start_indices", "limit_indices"))
        steps = list(node.ints("strides", default=[1] * x.rank, count=x.rank))
    for start, end, step, size in zip(starts, ends, steps, x.shape, strict=True):
        if not 0 <= start <= end <= size or step < 1:
            raise EdgeKitError("E0401", f"slice {start}:{end}:{step} is outside of {x.type}")
    return box(x, starts, [-(-(e - s) // t) for s, e, t in zip(starts, ends, steps, strict=True)], steps)


def concatenate(node: StablehloNode, *xs: Tensor) -> Tensor:
    if not xs:
        raise EdgeKitError("E0401", "concatenate of nothing")
    return concat(xs, node.integer("dim", "dimension"))


def pad(node: StablehloNode, x: Tensor, value: Tensor) -> Tensor:
    before, after = node.ints("low", "edge_padding_low"), node.ints("high", "edge_padding_high")
    inside = node.ints("interior", "interior_padding", default=[0] * x.rank)
    if not len(before) == len(after) == len(inside) == x.rank or min(inside, default=0) < 0:
        raise EdgeKitError("E0401", f"pad of {x.type} by {before}, {after} and {inside} cells")
    return _pad(_apart(x, inside, value), before, after, "constant", value)


def _apart(x: Tensor, inside: tuple[int, ...], value: Tensor) -> Tensor:
    """With so many cells between each two."""
    for axis, gap in enumerate(inside):
        if gap and x.shape[axis] > 1:
            head, n, rest = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
            cells = x.reshape(*head, n, 1, *rest)
            zero = (0,) * cells.rank
            cells = _pad(
                cells, zero, [gap if i == axis + 1 else 0 for i in range(cells.rank)], "constant", value
            )
            x = cells.reshape(*head, n * (gap + 1), *rest)
            x = _pad(x, (0,) * x.rank, [-gap if i == axis else 0 for i in range(x.rank)], "constant")
    return x


def reverse(node: StablehloNode, x: Tensor) -> Tensor:
    for axis in {x.axis(a) for a in node.ints("dims", "dimensions")}:
        x = take(x, axis, np.arange(x.shape[axis])[::-1])
    return x


def get_dimension_size(node: StablehloNode, x: Tensor) -> Tensor:
    return x.new(np.array(x.shape[x.axis(node.integer("dim", "dimension"))], np.int32))


def broadcast(node: StablehloNode, x: Tensor) -> Tensor:
    return expand(x, (*node.ints("dims", "broadcast_sizes"), *x.shape))


def real_dynamic_slice(
    node: StablehloNode, x: Tensor, start: Tensor, limit: Tensor, stride: Tensor
) -> Tensor:
    starts, ends, steps = (t.ints("the bounds of real_dynamic_slice") for t in (start, limit, stride))
    if min(steps, default=1) < 1 or len(starts) != x.rank:
        raise EdgeKitError("E0401", f"slice of {x.type} from {starts} in steps of {steps}")
    return box(x, starts, [-(-(e - s) // t) for s, e, t in zip(starts, ends, steps, strict=True)], steps)


def dynamic_slice(node: StablehloNode, x: Tensor, *starts: Tensor) -> Tensor:
    sizes = node.ints("sizes", "slice_sizes", count=x.rank)
    if len(starts) != x.rank or any(not 0 <= m <= n for m, n in zip(sizes, x.shape, strict=True)):
        raise EdgeKitError("E0401", f"dynamic_slice of {sizes} cells of {x.type} from {len(starts)} numbers")
    if any(start.data is None for start in starts):
        places = concat([start.reshape(1, 1) for start in starts], 1)
        return _boxes(x, places, range(x.rank), sizes).reshape(*sizes)
    begins = [int(scalar(start, "the start of dynamic_slice")) for start in starts]
    limits = [n - m for n, m in zip(x.shape, sizes, strict=True)]
    return box(x, [min(max(b, 0), most) for b, most in zip(begins, limits, strict=True)], sizes)


def dynamic_update_slice(node: StablehloNode, x: Tensor, update: Tensor, *starts: Tensor) -> Tensor:
    """x with a box of cells replaced; a box that would reach over the end is moved back."""
    begins = [int(scalar(start, "the start of dynamic_update_slice")) for start in starts]
    sizes = update.shape
    if len(begins) != x.rank or any(m > n for m, n in zip(sizes, x.shape, strict=True)):
        raise EdgeKitError("E0401", f"dynamic_update_slice of {x.type} by {update.type} from {begins}")
    limits = [n - m for n, m in zip(x.shape, sizes, strict=True)]
    return _replaced(x, update, [min(max(b, 0), most) for b, most in zip(begins, limits, strict=True)])


def gather(node: StablehloNode, x: Tensor, index: Tensor) -> Tensor:
    """Boxes of x from places on that the last dimension of the index, or each of its numbers, says."""
    numbers = node.within("dimension_numbers")
    sizes, offsets = node.ints("slice_sizes", count=x.rank), numbers.ints("offset_dims", default=())
    where, collapsed = numbers.ints("start_index_map"), numbers.ints("collapsed_slice_dims", default=())
    shared = numbers.ints("operand_batching_dims", default=())
    by = numbers.ints("start_indices_batching_dims", default=())
    last = numbers.integer("index_vector_dim", default=0)
    if last not in (index.rank, index.rank - 1):
        raise EdgeKitError(
            "E0205", f"gather at places along dimension {last} of {index.type} is not supported"
        )
    places = index if last < index.rank else index.reshape(*index.shape, 1)
    axes, gone = [x.axis(a) for a in where], {*collapsed, *shared}
    boxed = all(0 <= m <= n for m, n in zip(sizes, x.shape, strict=True))
    single = all(0 <= i < x.rank and sizes[i] == 1 for i in gone)
    matched = len(shared) == len(by) and all(0 <= i < places.rank - 1 for i in by)
    if len(set(axes)) != len(axes) or places.shape[-1] != len(axes) or not (boxed and single and matched):
        raise EdgeKitError("E0401", f"gather of {list(sizes)[:8]} cells of {x.type} at {places.type}")
    batch, own = places.shape[:-1], [n for i, n in enumerate(sizes) if i not in gone]
    whole = [1 if i == axes[0] else n for i, n in enumerate(x.shape)] if len(axes) == 1 else []
    if list(sizes) == whole and tuple(axes) == collapsed and not shared:
        y = _slices(x, places.reshape(*batch), axes[0])
    else:
        y = _boxes(x, places, axes, sizes, list(zip(shared, by, strict=True))).reshape(*batch, *own)
    if len(offsets) != len(own) or any(not 0 <= i < y.rank for i in offsets):
        raise EdgeKitError("E0401", f"gather: offset_dims {list(offsets)} of {y.type}")
    # The dimensions of the index stand first now; the file says where those of x should be.
    others = iter(range(len(batch)))
    order = [len(batch) + offsets.index(i) if i in offsets else next(others) for i in range(y.rank)]
    return y.transpose(*order)


def _slices(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Whole slices along one dimension, those of the index first: what x[index] and jnp.take are."""
    y = indexing.Gather(x, index.max(0).min(x.shape[axis] - 1), axis=axis)
    moved = range(axis, axis + index.rank)
    return y.transpose(*moved, *(i for i in range(y.rank) if i not in moved))


def _boxes(
    x: Tensor,
    places: Tensor,
    axes: Sequence[int],
    sizes: Sequence[int],
    shared: Sequence[tuple[int, int]] = (),
) -> Tensor:
    """[places, cells] of x laid out flat: what would reach over the end is moved back. Dimensions that are
    `shared` with the places run along with these."""
    steps = [_prod(x.shape[i + 1 :]) for i in range(x.rank)]
    places.builder.afford(sizes)
    cells = np.zeros((1,), np.int64)
    for size, step in zip(sizes, steps, strict=True):
        cells = (cells[:, None] + np.arange(size) * step).reshape(-1)
    count = _prod(places.shape[:-1])
    first = places.like(np.zeros((count, 1)))
    for i, axis in enumerate(axes):
        along = part(places, places.rank - 1, i, 1).reshape(count, 1)
        first = first + along.max(0).min(x.shape[axis] - sizes[axis]) * steps[axis]
    for axis, other in shared:
        run = np.arange(places.shape[other]).reshape(
            [-1 if i == other else 1 for i in range(places.rank - 1)]
        )
        first = first + places.like(np.broadcast_to(run * steps[axis], places.shape[:-1]).reshape(count, 1))
    return indexing.Gather(x.reshape(x.type.size), first + places.like(cells), axis=0)


def _replaced(x: Tensor, update: Tensor, begins: list[int]) -> Tensor:
    """Along the first dimension that is not replaced as a whole: what is before, new and behind."""
    axis = next((i for i, n in enumerate(x.shape) if update.shape[i] != n), None)
    if axis is None:
        return update
    start, size = begins[axis], update.shape[axis]
    end = start + size
    middle = _replaced(part(x, axis, start, size), update, begins)
    pieces = [part(x, axis, 0, start), middle, part(x, axis, end, x.shape[axis] - end)]
    return concat([piece for piece in pieces if piece.shape[axis]], axis)
