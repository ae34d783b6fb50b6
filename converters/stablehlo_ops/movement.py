"""Shapes, parts, joints, borders and other orders of elements, and tensors that are known at import."""

from __future__ import annotations

from math import prod as _prod

import numpy as np

from edgekit.converters.movement import box, expand, take
from edgekit.converters.movement import pad as _pad
from edgekit.converters.onnx_ops import indexing
from edgekit.converters.stablehlo_node import Node
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.errors import EdgeKitError


def reshape(node: Node, x: Tensor) -> Tensor:
    return x.reshape(*node.shape)


def dynamic_reshape(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    return x.reshape(*shape.ints("the shape of dynamic_reshape"))


def transpose(node: Node, x: Tensor) -> Tensor:
    order = node.ints("dims", "permutation", count=x.rank)
    if sorted(order) != list(range(x.rank)):
        raise EdgeKitError("E0401", f"transpose of {x.type} to the order {list(order)}")
    return x.transpose(*order)


def slice_(node: Node, x: Tensor) -> Tensor:
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


def concatenate(node: Node, *xs: Tensor) -> Tensor:
    if not xs:
        raise EdgeKitError("E0401", "concatenate of nothing")
    return concat(xs, node.integer("dim", "dimension"))


def pad(node: Node, x: Tensor, value: Tensor) -> Tensor:
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


def reverse(node: Node, x: Tensor) -> Tensor:
    for axis in {x.axis(a) for a in node.ints("dims", "dimensions")}:
        x = take(x, axis, np.arange(x.shape[axis])[::-1])
    return x


def get_dimension_size(node: Node, x: Tensor) -> Tensor:
    return x.new(np.array(x.shape[x.axis(node.integer("dim", "dimension"))], np.int32))


def broadcast(node: Node, x: Tensor) -> Tensor:
    return expand(x, (*node.ints("dims", "broadcast_sizes"), *x.shape))


def real_dynamic_slice(node: Node, x: Tensor, start: Tensor, limit: Tensor, stride: Tensor) -> Tensor:
    starts, ends, steps = (t.ints("the bounds of real_dynamic_slice") for t in (start, limit, stride))
    if min(steps, default=1) < 1 or len(starts) != x.rank:
        raise EdgeKitError("E0401", f"slice of {x.type} from {starts} in steps of {steps}")
    return box(x, starts, [-(-(e - s) // t) for s, e, t in zip(starts, ends, steps, strict=True)], steps)


def dynamic_slice(node: Node, x: Tensor, *starts: Tensor) -> Tensor:
    sizes = node.ints("sizes", "slice_sizes", count=x.rank)
    begins = [int(scalar(start, "the start of dynamic_slice")) for start in starts]
    if len(begins) != x.rank or any(not 0 <= m <= n for m, n in zip(sizes, x.shape, strict=True)):
        raise EdgeKitError("E0401", f"dynamic_slice of {sizes} cells of {x.type} from {begins}")
    limits = [n - m for n, m in zip(x.shape, sizes, strict=True)]
    return box(x, [min(max(b, 0), most) for b, most in zip(begins, limits, strict=True)], sizes)


def gather(node: Node, x: Tensor, index: Tensor) -> Tensor:
    """Whole slices along one dimension: what x[index] and jnp.take are."""
    numbers = node.within("dimension_numbers")
    sizes, offsets = node.ints("slice_sizes", count=x.rank), numbers.ints("offset_dims", default=())
    where, gone = numbers.ints("start_index_map"), numbers.ints("collapsed_slice_dims", default=())
    batches = numbers.ints("operand_batching_dims", default=())
    last = numbers.integer("index_vector_dim", default=0)
    if len(where) != 1 or where != gone or batches or last not in (index.rank, index.rank - 1):
        raise EdgeKitError("E0205", "gather of more than whole slices along one dimension is not supported")
    axis, shape = x.axis(where[0]), index.shape if last == index.rank else index.shape[:-1]
    if sizes != tuple(1 if i == axis else n for i, n in enumerate(x.shape)) or index.type.size != _prod(
        shape
    ):
        raise EdgeKitError("E0205", f"gather of {list(sizes)} cells of {x.type} is not supported")
    y = indexing.Gather(x, index.max(0).min(x.shape[axis] - 1).reshape(*shape), axis=axis)
    # Now the dimensions of the index stand where that of x was; the file says where those of x should be.
    own = [i if i < axis else i + len(shape) - 1 for i in range(x.rank) if i != axis]
    if len(offsets) != len(own) or any(not 0 <= i < y.rank for i in offsets):
        raise EdgeKitError("E0401", f"gather: offset_dims {list(offsets)} of {y.type}")
    others = iter(i for i in range(y.rank) if i not in own)
    return y.transpose(*(own[offsets.index(i)] if i in offsets else next(others) for i in range(y.rank)))
