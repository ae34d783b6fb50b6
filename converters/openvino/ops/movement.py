"""Shapes, parts, joints, borders and other places of elements."""

from __future__ import annotations

import numpy as np

from edgekit.converters.openvino.attributes import Ints as _Ints
from edgekit.converters.semantics.aten import movement as _torch
from edgekit.converters.semantics.movement import box as _box
from edgekit.converters.semantics.movement import expand as _expand
from edgekit.converters.semantics.movement import pad as _pad
from edgekit.converters.semantics.movement import part as _part
from edgekit.converters.semantics.movement import reverse_sequence as _reverse_sequence
from edgekit.converters.semantics.movement import tile as _tile
from edgekit.converters.semantics.onnx import movement as _onnx
from edgekit.converters.semantics.onnx.shape import Reshape as _Reshape
from edgekit.converters.semantics.onnx.shape import Squeeze as _Squeeze
from edgekit.converters.semantics.onnx.shape import unsqueeze as _unsqueeze
from edgekit.converters.semantics.tensorflow import movement as _tensorflow
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import concat as _concat
from edgekit.converters.tensor import scalar as _scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

_BORDERS = {"constant": "constant", "edge": "edge", "reflect": "reflect", "symmetric": "symmetric"}


def Reshape(x: Tensor, shape: Tensor, *, special_zero: bool) -> Tensor:
    return _Reshape(x, shape, allowzero=int(not special_zero))


def Squeeze(x: Tensor, axes: Tensor | None = None, *, allow_axis_skip: bool = False) -> Tensor:
    if axes is not None and allow_axis_skip:
        kept = [x.axis(a) for a in axes.ints("the axes of Squeeze")]
        axes = axes.new(np.array([a for a in kept if x.shape[a] == 1], np.int64))
        return x if not axes.type.size else _Squeeze(x, axes)
    return _Squeeze(x, axes if axes is not None and axes.type.size else None)


def Unsqueeze(x: Tensor, axes: Tensor) -> Tensor:
    return _unsqueeze(x, axes.ints("the axes of Unsqueeze"))


def ShapeOf(x: Tensor, *, output_type: DType = DType.S64) -> Tensor:
    return x.new(np.array(x.shape, output_type.numpy), "shape")


def Transpose(x: Tensor, order: Tensor) -> Tensor:
    perm = order.ints("the order of Transpose") or tuple(range(x.rank))[::-1]
    return x.transpose(*(x.axis(a) for a in perm))


def Concat(*xs: Tensor, axis: int) -> Tensor:
    return _concat(xs, axis)


def Split(x: Tensor, axis: Tensor, *, num_splits: int) -> list[Tensor]:
    along = x.axis(int(_scalar(axis, "the axis of Split")))
    n = x.shape[along]
    if num_splits < 1 or n % num_splits:
        raise EdgeKitError("E0401", f"{num_splits} parts of axis {along} of {x.type}")
    return [_part(x, along, i * (n // num_splits), n // num_splits) for i in range(num_splits)]


def VariadicSplit(x: Tensor, axis: Tensor, lengths: Tensor) -> list[Tensor]:
    """Into parts of these lengths, of which one may be -1."""
    along = x.axis(int(_scalar(axis, "the axis of VariadicSplit")))
    sizes = list(lengths.ints("the lengths of VariadicSplit"))
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[along] - sum(n for n in sizes if n != -1)
    return _torch.split_with_sizes(x, split_sizes=sizes, dim=along)


def StridedSlice(
    x: Tensor,
    begin: Tensor,
    end: Tensor,
    strides: Tensor | None = None,
    *,
    begin_mask: _Ints,
    end_mask: _Ints,
    new_axis_mask: _Ints = (),
    shrink_axis_mask: _Ints = (),
    ellipsis_mask: _Ints = (),
) -> Tensor:
    count = begin.type.size
    steps = begin.like(np.ones(count)) if strides is None else strides
    return _tensorflow.StridedSlice(
        *(x, begin, end, steps),
        begin_mask=_bits(begin_mask),
        end_mask=_bits(end_mask),
        new_axis_mask=_bits(new_axis_mask[:count]),
        shrink_axis_mask=_bits(shrink_axis_mask[:count]),
        ellipsis_mask=_bits(ellipsis_mask[:count]),
    )


def Slice(x: Tensor, start: Tensor, stop: Tensor, step: Tensor, given: Tensor | None = None) -> Tensor:
    firsts, lasts = start.ints("the start of Slice"), stop.ints("the stop of Slice")
    steps = step.ints("the step of Slice")
    axes = tuple(range(len(firsts))) if given is None else given.ints("the axes of Slice")
    if not len(firsts) == len(lasts) == len(steps) == len(axes) or 0 in steps:
        raise EdgeKitError("E0401", f"Slice from {firsts[:8]} to {lasts[:8]} by {steps[:8]}")
    for axis, first, last, by in zip((x.axis(a) for a in axes), firsts, lasts, steps, strict=True):
        cells = range(*slice(first, last, by).indices(x.shape[axis]))
        x = _part(x, axis, cells.start, len(cells), by)
    return x


def Pad(x: Tensor, before: Tensor, after: Tensor, value: Tensor | None = None, *, pad_mode: str) -> Tensor:
    """Negative numbers cut cells off."""
    begins, ends = before.ints("the border of Pad"), after.ints("the border of Pad")
    if pad_mode not in _BORDERS or not len(begins) == len(ends) == x.rank:
        raise EdgeKitError("E0401", f"Pad of {x.type} by {pad_mode[:20]} with {begins[:8]} and {ends[:8]}")
    cut = [max(-b, 0) for b in begins]
    left = [n - b - max(-e, 0) for n, b, e in zip(x.shape, cut, ends, strict=True)]
    if any(cut) or left != list(x.shape):
        if min(left, default=0) < 0:
            raise EdgeKitError("E0401", f"Pad of {x.type} cuts more than there is")
        x = _box(x, cut, left)
    fill = 0 if value is None else _scalar(value, "what Pad puts around")
    return _pad(x, [max(b, 0) for b in begins], [max(e, 0) for e in ends], _BORDERS[pad_mode], fill)


def Tile(x: Tensor, repeats: Tensor) -> Tensor:
    """A number for each dimension; where there are more or fewer, the last dimensions count."""
    times = repeats.ints("the repeats of Tile")
    rank = max(x.rank, len(times))
    wide = x.reshape(*(1,) * (rank - x.rank), *x.shape)
    return _tile(wide, (1,) * (rank - len(times)) + times)


def Broadcast(x: Tensor, shape: Tensor, mapping: Tensor | None = None, *, mode: str = "numpy") -> Tensor:
    wanted = shape.ints("the shape of Broadcast")
    if mode == "explicit" and mapping is not None:
        axes = mapping.ints("the axes of Broadcast")
        sizes = dict(zip(axes, x.shape, strict=True))
        x = x.reshape(*(sizes.get(i, 1) for i in range(len(wanted))))
    elif mode not in ("numpy", "bidirectional"):
        raise EdgeKitError("E0205", f"Broadcast by {mode[:20]} is not supported")
    return _expand(x, wanted)


def DepthToSpace(x: Tensor, *, mode: str, block_size: int) -> Tensor:
    return _onnx.DepthToSpace(x, blocksize=block_size, mode="DCR" if mode == "blocks_first" else "CRD")


def SpaceToDepth(x: Tensor, *, mode: str, block_size: int) -> Tensor:
    if mode == "depth_first":
        return _torch.pixel_unshuffle(x, downscale_factor=block_size)
    return _onnx.SpaceToDepth(x, blocksize=block_size)


def ShuffleChannels(x: Tensor, *, axis: int = 1, group: int = 1) -> Tensor:
    along = x.axis(axis)
    n = x.shape[along]
    if group < 1 or n % group:
        raise EdgeKitError("E0401", f"{group} groups of axis {along} of {x.type}")
    apart = x.reshape(*x.shape[:along], group, n // group, *x.shape[along + 1 :])
    order = (*range(along), along + 1, along, *range(along + 2, x.rank + 1))
    return apart.transpose(*order).reshape(*x.shape)


def ReverseSequence(x: Tensor, lengths: Tensor, *, batch_axis: int = 0, seq_axis: int = 1) -> Tensor:
    return _reverse_sequence(x, lengths, x.axis(batch_axis), x.axis(seq_axis))


def Roll(x: Tensor, shift: Tensor, axes: Tensor) -> Tensor:
    """Several shifts along one axis add up."""
    shifts, along = shift.ints("the shift of Roll"), axes.ints("the axes of Roll")
    shifts = shifts * len(along) if len(shifts) == 1 else shifts
    for axis, by in zip(along, shifts, strict=True):
        x = _torch.roll(x, shifts=[by], dims=[axis])
    return x


def _bits(mask: _Ints) -> int:
    return sum(1 << i for i, flag in enumerate(mask) if flag)
