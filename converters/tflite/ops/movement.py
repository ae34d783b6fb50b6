"""Shapes, parts, joints, repetition, borders and other orders of elements."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics import movement
from edgekit.converters.semantics.movement import cast, part, take
from edgekit.converters.semantics.onnx import indexing, shape
from edgekit.converters.semantics.onnx import movement as onnx
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.converters.tflite.layer import TfliteLayer, centred, is_plain, labelled, raw, single
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.gather import GatherND
from edgekit.core.ops.logic import Equal
from edgekit.core.ops.quantize import Requantize
from edgekit.core.types import DType


def SHAPE(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.new(np.array(x.shape, layer.outs[0].dtype.numpy), "shape")


def RANK(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.new(np.array(x.rank, np.int32), "rank")


def RESHAPE(layer: TfliteLayer, x: Tensor, to: Tensor | None = None) -> Tensor:
    if to is None or to.rank != 1:
        return x.reshape(*layer.outs[0].shape)
    return shape.Reshape(x, to, allowzero=1)


def SQUEEZE(layer: TfliteLayer, x: Tensor) -> Tensor:
    axes = tuple(int(a) for a in layer.options.array(0, "<i4"))
    return shape.Squeeze(x, axes=axes or None)


def EXPAND_DIMS(layer: TfliteLayer, x: Tensor, axis: Tensor) -> Tensor:
    return shape.unsqueeze(x, axis.ints("the axis of EXPAND_DIMS"))


def TRANSPOSE(layer: TfliteLayer, x: Tensor, perm: Tensor) -> Tensor:
    order = perm.ints("the order of TRANSPOSE")
    if sorted(order) != list(range(x.rank)):
        raise EdgeKitError("E0401", f"TRANSPOSE of {x.type} to the order {list(order)}")
    return x.transpose(*order)


def DENSIFY(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x  # sparse constants are made dense as they are read: tflite_sparse.py


def CONCATENATION(layer: TfliteLayer, *xs: Tensor) -> Tensor:
    if not xs:
        raise EdgeKitError("E0401", "CONCATENATION of nothing")
    if not is_plain(xs):
        y = layer.out_quant
        xs = tuple(_in_scale(layer, x) for x in xs)
        xs = tuple(labelled(x, y) for x in xs)
    return layer.activated(concat(xs, layer.options.integer(0)), layer.options.integer(1, "b"))


def _in_scale(layer: TfliteLayer, x: Tensor) -> Tensor:
    own, y = layer.quant_of(x), layer.out_quant
    if (own.scale, own.zero) == (y.scale, y.zero):
        return x
    if x.dtype is DType.S8:
        return layer.apply(Requantize(), x)
    return layer.rescaled(centred(x), single(own) / single(y))


def SPLIT(layer: TfliteLayer, axis: Tensor, x: Tensor) -> list[Tensor]:
    return onnx.Split(x, axis=int(scalar(axis, "the axis of SPLIT")), outputs=len(layer.outs))


def SPLIT_V(layer: TfliteLayer, x: Tensor, sizes: Tensor, axis: Tensor) -> list[Tensor]:
    along = x.axis(int(scalar(axis, "the axis of SPLIT_V")))
    given = list(sizes.ints("the sizes of SPLIT_V"))
    if given.count(-1) == 1:
        given[given.index(-1)] = x.shape[along] - sum(g for g in given if g >= 0)
    return onnx.Split(x, axis=along, split=tuple(given), outputs=len(layer.outs))


def PACK(layer: TfliteLayer, *xs: Tensor) -> Tensor:
    axis = layer.options.integer(1)
    axis = axis + xs[0].rank + 1 if axis < 0 else axis
    return concat([shape.unsqueeze(x, (axis,)) for x in xs], axis)


def UNPACK(layer: TfliteLayer, x: Tensor) -> list[Tensor]:
    axis = x.axis(layer.options.integer(1))
    if x.shape[axis] != len(layer.outs):
        raise EdgeKitError("E0401", f"UNPACK of {x.type} into {len(layer.outs)} results")
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [part(x, axis, i, 1).reshape(*rest) for i in range(x.shape[axis])]


def SLICE(layer: TfliteLayer, x: Tensor, begin: Tensor, size: Tensor) -> Tensor:
    starts, sizes = begin.ints("the begin of SLICE"), size.ints("the size of SLICE")
    ends = [n - s if m == -1 else m for n, s, m in zip(x.shape, starts, sizes, strict=True)]
    return movement.box(x, starts, ends)


def STRIDED_SLICE(layer: TfliteLayer, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor) -> Tensor:
    first, last = begin.ints("the begin of STRIDED_SLICE"), end.ints("the end of STRIDED_SLICE")
    steps = strides.ints("the strides of STRIDED_SLICE")
    if not len(first) == len(last) == len(steps):
        raise EdgeKitError("E0401", "STRIDED_SLICE has begins, ends and strides of different lengths")
    if 0 in steps:
        raise EdgeKitError("E0401", f"STRIDED_SLICE has the strides {list(steps)[:8]}")
    begins, ends, ellipsis, new, shrink = (layer.options.integer(i) for i in range(5))
    if layer.options.integer(5, "b"):
        raise EdgeKitError("E0205", "STRIDED_SLICE with ends that are offsets is not supported")

    def has(mask: int, i: int) -> bool:
        return bool(mask >> i & 1)

    fixed = sum(not has(new, i) and not has(ellipsis, i) for i in range(len(first)))
    shape: list[int] = []
    axis = 0
    for i, (start, stop, step) in enumerate(zip(first, last, steps, strict=True)):
        if has(ellipsis, i):
            free = x.rank - fixed
            shape += x.shape[axis : axis + free]
            axis += free
        elif has(new, i):
            shape.append(1)
        else:
            n = x.shape[axis]
            if has(shrink, i):
                if not -n <= start < n:
                    raise EdgeKitError("E0401", f"STRIDED_SLICE takes cell {start} of {n}")
                x = part(x, axis, start % n, 1)
            else:
                window = slice(None if has(begins, i) else start, None if has(ends, i) else stop, step)
                cells = range(*window.indices(n))
                x = part(x, axis, cells.start, len(cells), step)
                shape.append(len(cells))
            axis += 1
    return x.reshape(*shape, *x.shape[axis:])


def GATHER(layer: TfliteLayer, x: Tensor, index: Tensor) -> Tensor:
    axis, batch = x.axis(layer.options.integer(0)), layer.options.integer(1)
    if batch == 0:
        return indexing.Gather(x, index, axis=axis)
    batch = batch + index.rank if batch < 0 else batch
    if not 0 < batch <= min(axis, index.rank):
        raise EdgeKitError("E0401", f"GATHER of {x.type} with {batch} batch dimensions")
    many = prod(x.shape[:batch])
    rows, at = x.reshape(many, *x.shape[batch:]), index.reshape(many, *index.shape[batch:])
    along = axis - batch
    parts = [
        indexing.Gather(
            part(rows, 0, i, 1).reshape(*rows.shape[1:]),
            part(at, 0, i, 1).reshape(*at.shape[1:]),
            axis=along,
        )
        for i in range(many)
    ]
    whole = concat([p.reshape(1, *p.shape) for p in parts], 0)
    return whole.reshape(*x.shape[:batch], *whole.shape[1:])


def GATHER_ND(layer: TfliteLayer, x: Tensor, index: Tensor) -> Tensor:
    if index.data is not None:
        return indexing.GatherND(x, index)
    return raw(x).apply(GatherND(0), index)


def REVERSE_V2(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    for axis in axes.ints("the axes of REVERSE_V2"):
        n = x.shape[x.axis(axis)]
        x = take(x, x.axis(axis), np.arange(n - 1, -1, -1))
    return x


# Borders and repetition


def _border(x: Tensor, pads: Tensor) -> tuple[list[int], list[int]]:
    cells = pads.constant("the border of PAD")
    if cells.shape != (x.rank, 2) or (cells < 0).any():
        raise EdgeKitError("E0401", f"PAD of {x.type} by {pads.type} cells")
    return [int(n) for n in cells[:, 0]], [int(n) for n in cells[:, 1]]


def PAD(layer: TfliteLayer, x: Tensor, pads: Tensor) -> Tensor:
    zero = x.type.quant.zero[0] if x.type.quant is not None else 0
    return movement.pad(x, *_border(x, pads), "constant", zero)


def PADV2(layer: TfliteLayer, x: Tensor, pads: Tensor, value: Tensor) -> Tensor:
    return movement.pad(x, *_border(x, pads), "constant", raw(value).reshape())


def MIRROR_PAD(layer: TfliteLayer, x: Tensor, pads: Tensor) -> Tensor:
    before, after = _border(x, pads)
    if layer.options.integer(0, "b") == 0:
        return movement.pad(x, before, after, "reflect")
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        if max(b, a) > x.shape[axis]:
            raise EdgeKitError("E0401", f"a mirrored border of {max(b, a)} cells is wider than {x.type}")
        n = x.shape[axis]
        parts = [take(x, axis, np.arange(b - 1, -1, -1))] if b else []
        parts += [x] + ([take(x, axis, np.arange(n - 1, n - 1 - a, -1))] if a else [])
        x = concat(parts, axis)
    return x


def TILE(layer: TfliteLayer, x: Tensor, times: Tensor) -> Tensor:
    counts = times.ints("the multiples of TILE")
    if len(counts) != x.rank or min(counts, default=1) < 0:
        raise EdgeKitError("E0401", f"TILE of {x.type} by {list(counts)}")
    return movement.tile(x, counts)


def BROADCAST_TO(layer: TfliteLayer, x: Tensor, to: Tensor) -> Tensor:
    return movement.expand(x, to.ints("the shape of BROADCAST_TO"))


def SPACE_TO_DEPTH(layer: TfliteLayer, x: Tensor) -> Tensor:
    block = layer.options.integer(0)
    n, h, w, c = x.shape
    if block < 1 or h % block or w % block:
        raise EdgeKitError("E0401", f"SPACE_TO_DEPTH of {x.type} by blocks of {block}")
    cells = x.reshape(n, h // block, block, w // block, block, c).transpose(0, 1, 3, 2, 4, 5)
    return cells.reshape(n, h // block, w // block, block * block * c)


def DEPTH_TO_SPACE(layer: TfliteLayer, x: Tensor) -> Tensor:
    block = layer.options.integer(0)
    n, h, w, c = x.shape
    if block < 1 or c % (block * block):
        raise EdgeKitError("E0401", f"DEPTH_TO_SPACE of {x.type} by blocks of {block}")
    depth = c // (block * block)
    cells = x.reshape(n, h, w, block, block, depth).transpose(0, 1, 3, 2, 4, 5)
    return cells.reshape(n, h * block, w * block, depth)


def SPACE_TO_BATCH_ND(layer: TfliteLayer, x: Tensor, block: Tensor, pads: Tensor) -> Tensor:
    sizes = block.ints("the block of SPACE_TO_BATCH_ND")
    border = pads.constant("the border of SPACE_TO_BATCH_ND").reshape(-1, 2)
    m = len(sizes)
    if len(border) != m or m >= x.rank or min(sizes, default=1) < 1 or border.min(initial=0) < 0:
        raise EdgeKitError("E0401", f"SPACE_TO_BATCH_ND of {x.type} by blocks of {list(sizes)}")
    rest = [0] * (x.rank - 1 - m)
    before, after = ([0, *(int(v) for v in border[:, i]), *rest] for i in (0, 1))
    zero = x.type.quant.zero[0] if x.type.quant is not None else 0
    x = movement.pad(x, before, after, "constant", zero)
    n, area, tail = x.shape[0], x.shape[1 : m + 1], x.shape[m + 1 :]
    if any(a % b for a, b in zip(area, sizes, strict=True)):
        raise EdgeKitError("E0401", f"blocks of {list(sizes)} do not divide {x.type}")
    apart = [d for a, b in zip(area, sizes, strict=True) for d in (a // b, b)]
    perm = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m + 1, 2), *range(2 * m + 1, 2 * m + 1 + len(tail))]
    cells = x.reshape(n, *apart, *tail).transpose(*perm)
    return cells.reshape(n * prod(sizes), *apart[::2], *tail)


def BATCH_TO_SPACE_ND(layer: TfliteLayer, x: Tensor, block: Tensor, crops: Tensor) -> Tensor:
    sizes = block.ints("the block of BATCH_TO_SPACE_ND")
    cuts = crops.constant("the crops of BATCH_TO_SPACE_ND").reshape(-1, 2)
    m, total = len(sizes), prod(sizes)
    if len(cuts) != m or m >= x.rank or total < 1 or x.shape[0] % total or cuts.min(initial=0) < 0:
        raise EdgeKitError("E0401", f"BATCH_TO_SPACE_ND of {x.type} by blocks of {list(sizes)}")
    n, area, tail = x.shape[0] // total, x.shape[1 : m + 1], x.shape[m + 1 :]
    perm = [m, *(d for i in range(m) for d in (m + 1 + i, i)), *range(2 * m + 1, 2 * m + 1 + len(tail))]
    cells = x.reshape(*sizes, n, *area, *tail).transpose(*perm)
    cells = cells.reshape(n, *(a * b for a, b in zip(area, sizes, strict=True)), *tail)
    starts = [0, *(int(c) for c in cuts[:, 0]), *(0 for _ in tail)]
    ends = [0, *(int(c) for c in cuts[:, 1]), *(0 for _ in tail)]
    left = [size - a - b for size, a, b in zip(cells.shape, starts, ends, strict=True)]
    return movement.box(cells, starts, left)


# Constants


def FILL(layer: TfliteLayer, dims: Tensor, value: Tensor) -> Tensor:
    return movement.expand(value, dims.ints("the shape of FILL"))


def ZEROS_LIKE(layer: TfliteLayer, x: Tensor) -> Tensor:
    x.builder.afford(x.shape)
    return x.new(np.zeros(x.shape, x.dtype.numpy), "zeros")


def RANGE(layer: TfliteLayer, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    first, end, step = (scalar(v, "an end of RANGE") for v in (start, limit, delta))
    if step == 0:
        raise EdgeKitError("E0401", "RANGE by steps of 0")
    start.builder.afford((max(int(np.ceil((end - first) / step)), 0),))
    return start.new(np.arange(first, end, step).astype(start.dtype.numpy), "range")


def ONE_HOT(layer: TfliteLayer, index: Tensor, depth: Tensor, on: Tensor, off: Tensor) -> Tensor:
    """Indices outside of the depth give a row of `off`."""
    size, axis = int(scalar(depth, "the depth of ONE_HOT")), layer.options.integer(0)
    index.builder.afford((*index.shape, size))
    axis = axis + index.rank + 1 if axis < 0 else axis
    index = shape.unsqueeze(index, [axis])
    cells = index.like(np.arange(size).reshape([-1 if i == axis else 1 for i in range(index.rank)]))
    return movement.where(index.apply(Equal(), cells), raw(on).reshape(), raw(off).reshape())


def ARG_MAX(layer: TfliteLayer, x: Tensor, axis: Tensor) -> Tensor:
    along = int(scalar(axis, "the axis of ARG_MAX"))
    return cast(indexing.ArgMax(raw(x), axis=along, keepdims=0), layer.outs[0].dtype)


def ARG_MIN(layer: TfliteLayer, x: Tensor, axis: Tensor) -> Tensor:
    along = int(scalar(axis, "the axis of ARG_MIN"))
    return cast(indexing.ArgMin(raw(x), axis=along, keepdims=0), layer.outs[0].dtype)
