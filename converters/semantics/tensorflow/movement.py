"""Shapes, parts, joints, repetition, borders and other orders of elements."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics import movement
from edgekit.converters.semantics.movement import part, take
from edgekit.converters.semantics.onnx import movement as onnx
from edgekit.converters.semantics.onnx import shape
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError


def Reshape(x: Tensor, to: Tensor) -> Tensor:
    return shape.Reshape(x, to, allowzero=1)


def Squeeze(x: Tensor, *, squeeze_dims: tuple[int, ...] = ()) -> Tensor:
    return shape.Squeeze(x, axes=squeeze_dims or None)


def ExpandDims(x: Tensor, axis: Tensor) -> Tensor:
    return shape.unsqueeze(x, axis.ints("the axis of ExpandDims"))


def Transpose(x: Tensor, perm: Tensor) -> Tensor:
    order = perm.ints("the order of Transpose")
    if sorted(order) != list(range(x.rank)):
        raise EdgeKitError("E0401", f"Transpose of {x.type} to the order {list(order)}")
    return x.transpose(*order)


def Split(axis: Tensor, x: Tensor, *, num_split: int) -> list[Tensor]:
    along = x.axis(int(scalar(axis, "the axis of Split")))
    if num_split < 1 or x.shape[along] % num_split:
        raise EdgeKitError("E0401", f"Split of {x.type} into {num_split} parts")
    return onnx.Split(x, axis=along, outputs=num_split)


def SplitV(x: Tensor, sizes: Tensor, axis: Tensor, *, num_split: int) -> list[Tensor]:
    along = x.axis(int(scalar(axis, "the axis of SplitV")))
    given = list(sizes.ints("the sizes of SplitV"))
    if given.count(-1) == 1:
        given[given.index(-1)] = x.shape[along] - sum(g for g in given if g >= 0)
    return onnx.Split(x, axis=along, split=tuple(given), outputs=num_split)


def Pack(*xs: Tensor, axis: int = 0) -> Tensor:
    if not xs:
        raise EdgeKitError("E0401", "Pack of nothing")
    axis = axis + xs[0].rank + 1 if axis < 0 else axis
    return concat([shape.unsqueeze(x, (axis,)) for x in xs], axis)


def Unpack(x: Tensor, *, num: int, axis: int = 0) -> list[Tensor]:
    axis = x.axis(axis)
    if x.shape[axis] != num:
        raise EdgeKitError("E0401", f"Unpack of {x.type} into {num} results")
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [part(x, axis, i, 1).reshape(*rest) for i in range(num)]


def Slice(x: Tensor, begin: Tensor, size: Tensor) -> Tensor:
    starts, sizes = begin.ints("the begin of Slice"), size.ints("the size of Slice")
    if not len(starts) == len(sizes) == x.rank:
        raise EdgeKitError("E0401", f"Slice of {x.type} from {list(starts)[:8]} on")
    ends = [n - s if m == -1 else m for n, s, m in zip(x.shape, starts, sizes, strict=True)]
    return movement.box(x, starts, ends)


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
    """x[first : last : step, ...]; bits of the masks say what stands for something else than a range."""
    first, last = begin.ints("the begin of StridedSlice"), end.ints("the end of StridedSlice")
    steps = strides.ints("the strides of StridedSlice")
    if not len(first) == len(last) == len(steps):
        raise EdgeKitError("E0401", "StridedSlice has begins, ends and strides of different lengths")
    if 0 in steps:
        raise EdgeKitError("E0401", f"StridedSlice has the strides {list(steps)[:8]}")

    def has(mask: int, i: int) -> bool:
        return bool(mask >> i & 1)

    fixed = sum(not has(new_axis_mask, i) and not has(ellipsis_mask, i) for i in range(len(first)))
    if fixed > x.rank:
        raise EdgeKitError("E0401", f"StridedSlice of {x.type} has {fixed} dimensions")
    shape: list[int] = []
    axis = 0
    for i, (start, stop, step) in enumerate(zip(first, last, steps, strict=True)):
        if has(ellipsis_mask, i):
            free = x.rank - fixed
            shape += x.shape[axis : axis + free]
            axis += free
        elif has(new_axis_mask, i):
            shape.append(1)
        else:
            n = x.shape[axis]
            if has(shrink_axis_mask, i):
                if not -n <= start < n:
                    raise EdgeKitError("E0401", f"StridedSlice takes cell {start} of {n}")
                x = part(x, axis, start % n, 1)
            else:
                begins, ends = has(begin_mask, i), has(end_mask, i)
                window = slice(None if begins else start, None if ends else stop, step)
                cells = range(*window.indices(n))
                x = part(x, axis, cells.start, len(cells), step)
                shape.append(len(cells))
            axis += 1
    return x.reshape(*shape, *x.shape[axis:])


def ReverseV2(x: Tensor, axes: Tensor) -> Tensor:
    for axis in axes.ints("the axes of ReverseV2"):
        n = x.shape[x.axis(axis)]
        x = take(x, x.axis(axis), np.arange(n - 1, -1, -1))
    return x


def Tile(x: Tensor, times: Tensor) -> Tensor:
    counts = times.ints("the multiples of Tile")
    if len(counts) != x.rank or min(counts, default=1) < 0:
        raise EdgeKitError("E0401", f"Tile of {x.type} by {list(counts)[:8]}")
    return movement.tile(x, counts)


def BroadcastTo(x: Tensor, to: Tensor) -> Tensor:
    return movement.expand(x, to.ints("the shape of BroadcastTo"))


# Borders


def _border(x: Tensor, pads: Tensor) -> tuple[list[int], list[int]]:
    """How many cells a border has before and after each dimension."""
    cells = pads.constant("the border of Pad")
    if cells.shape != (x.rank, 2) or (cells < 0).any():
        raise EdgeKitError("E0401", f"Pad of {x.type} by {pads.type} cells")
    return [int(n) for n in cells[:, 0]], [int(n) for n in cells[:, 1]]


def Pad(x: Tensor, pads: Tensor) -> Tensor:
    return movement.pad(x, *_border(x, pads), "constant", _zero(x))


def PadV2(x: Tensor, pads: Tensor, value: Tensor) -> Tensor:
    return movement.pad(x, *_border(x, pads), "constant", value.reshape())


def MirrorPad(x: Tensor, pads: Tensor, *, mode: str) -> Tensor:
    """REFLECT mirrors without the edge itself, SYMMETRIC with it."""
    before, after = _border(x, pads)
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise EdgeKitError("E0203", f"MirrorPad of mode {mode[:20]} is not supported")
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        if max(b, a) > x.shape[axis] - (mode == "REFLECT"):
            raise EdgeKitError("E0401", f"a mirrored border of {max(b, a)} cells is wider than {x.type}")
    if mode == "REFLECT":
        return movement.pad(x, before, after, "reflect")
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        n = x.shape[axis]
        parts = [take(x, axis, np.arange(b - 1, -1, -1))] if b else []
        parts += [x] + ([take(x, axis, np.arange(n - 1, n - 1 - a, -1))] if a else [])
        x = concat(parts, axis)
    return x


# Blocks of images


def SpaceToDepth(x: Tensor, *, block_size: int, data_format: str = "NHWC") -> Tensor:
    x = _channels_last(x, data_format)
    n, h, w, c = x.shape
    b = block_size
    if b < 1 or h % b or w % b:
        raise EdgeKitError("E0401", f"SpaceToDepth of {x.type} by blocks of {b}")
    cells = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return _as_before(cells.reshape(n, h // b, w // b, b * b * c), data_format)


def DepthToSpace(x: Tensor, *, block_size: int, data_format: str = "NHWC") -> Tensor:
    x = _channels_last(x, data_format)
    n, h, w, c = x.shape
    b = block_size
    if b < 1 or c % (b * b):
        raise EdgeKitError("E0401", f"DepthToSpace of {x.type} by blocks of {b}")
    cells = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return _as_before(cells.reshape(n, h * b, w * b, c // (b * b)), data_format)


def _channels_last(x: Tensor, data_format: str) -> Tensor:
    if x.rank != 4 or data_format not in ("NHWC", "NCHW"):
        raise EdgeKitError("E0205", f"images {x.type} of the layout {data_format[:20]} are not supported")
    return x if data_format == "NHWC" else x.to_nhwc()


def _as_before(x: Tensor, data_format: str) -> Tensor:
    return x if data_format == "NHWC" else x.to_nchw()


def SpaceToBatchND(x: Tensor, block: Tensor, pads: Tensor) -> Tensor:
    sizes = block.ints("the block of SpaceToBatchND")
    cells = pads.constant("the border of SpaceToBatchND").reshape(-1, 2)
    m = len(sizes)
    if len(cells) != m or m >= x.rank or min(sizes, default=1) < 1 or cells.min(initial=0) < 0:
        raise EdgeKitError("E0401", f"SpaceToBatchND of {x.type} by blocks of {list(sizes)}")
    rest = [0] * (x.rank - 1 - m)
    before, after = ([0, *(int(v) for v in cells[:, i]), *rest] for i in (0, 1))
    x = movement.pad(x, before, after, "constant", _zero(x))
    n, area, tail = x.shape[0], x.shape[1 : m + 1], x.shape[m + 1 :]
    if any(a % b for a, b in zip(area, sizes, strict=True)):
        raise EdgeKitError("E0401", f"blocks of {list(sizes)} do not divide {x.type}")
    apart = [d for a, b in zip(area, sizes, strict=True) for d in (a // b, b)]
    perm = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m + 1, 2), *range(2 * m + 1, 2 * m + 1 + len(tail))]
    return x.reshape(n, *apart, *tail).transpose(*perm).reshape(n * prod(sizes), *apart[::2], *tail)


def BatchToSpaceND(x: Tensor, block: Tensor, crops: Tensor) -> Tensor:
    sizes = block.ints("the block of BatchToSpaceND")
    cuts = crops.constant("the crops of BatchToSpaceND").reshape(-1, 2)
    m, total = len(sizes), prod(sizes)
    if len(cuts) != m or m >= x.rank or total < 1 or x.shape[0] % total or cuts.min(initial=0) < 0:
        raise EdgeKitError("E0401", f"BatchToSpaceND of {x.type} by blocks of {list(sizes)}")
    n, area, tail = x.shape[0] // total, x.shape[1 : m + 1], x.shape[m + 1 :]
    perm = [m, *(d for i in range(m) for d in (m + 1 + i, i)), *range(2 * m + 1, 2 * m + 1 + len(tail))]
    cells = x.reshape(*sizes, n, *area, *tail).transpose(*perm)
    cells = cells.reshape(n, *(a * b for a, b in zip(area, sizes, strict=True)), *tail)
    starts = [0, *(int(c) for c in cuts[:, 0]), *(0 for _ in tail)]
    ends = [0, *(int(c) for c in cuts[:, 1]), *(0 for _ in tail)]
    left = [size - a - b for size, a, b in zip(cells.shape, starts, ends, strict=True)]
    return movement.box(cells, starts, left)


def _zero(x: Tensor) -> int:
    """What stands for 0 in x, which may be quantized."""
    return x.type.quant.zero[0] if x.type.quant is not None else 0
