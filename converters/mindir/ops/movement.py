"""Shapes, parts, joints, borders, and elements by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgekit.converters.mindir.file import dtype_of as _dtype_of
from edgekit.converters.semantics import movement as _shared
from edgekit.converters.semantics.aten import create as _create
from edgekit.converters.semantics.aten import movement as _torch
from edgekit.converters.semantics.aten import shape as _shapes
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.movement import cast as _cast
from edgekit.converters.semantics.onnx import indexing as _onnx
from edgekit.converters.semantics.onnx.movement import DepthToSpace as _DepthToSpace
from edgekit.converters.semantics.onnx.shape import unsqueeze as _unsqueeze
from edgekit.converters.semantics.tensorflow.movement import StridedSlice as _StridedSlice
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import concat as _concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

_Ints = Sequence[int]
_MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "edge": "edge",
    "circular": "wrap",
    "replicate": "edge",
}


def Reshape(x: Tensor, shape: Any) -> Tensor:
    return _shapes.reshape(x, shape=_ints(shape))


def Flatten(x: Tensor) -> Tensor:
    return _shapes.flatten(x, start_dim=1)


def FlattenExt(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    return _shapes.flatten(x, start_dim=start_dim, end_dim=end_dim)


def Squeeze(x: Tensor, axis: Any = ()) -> Tensor:
    return _shapes.squeeze(x, dim=_ints(axis) or None)


def ExpandDims(x: Tensor, axis: int) -> Tensor:
    return _unsqueeze(x, [axis])


def Transpose(x: Tensor, input_perm: Any) -> Tensor:
    return _shapes.permute(x, dims=_ints(input_perm))


def BroadcastTo(x: Tensor, shape: Any) -> Tensor:
    return _shapes.expand(x, size=_ints(shape))


def Tile(x: Tensor, dims: Any) -> Tensor:
    return _torch.tile(x, dims=_ints(dims))


def Shape(x: Tensor) -> tuple[int, ...]:
    return x.shape


def Concat(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    return _concat(list(xs), axis)


def Stack(xs: Sequence[Tensor], axis: int = 0) -> Tensor:
    return _torch.stack(list(xs), dim=axis)


StackExt = Stack


def Unstack(x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    return tuple(_torch.unbind(x, dim=axis))


def Split(x: Tensor, axis: int = 0, output_num: int = 1) -> tuple[Tensor, ...]:
    n = x.shape[x.axis(axis)]
    if output_num < 1 or n % output_num:
        raise EdgeKitError("E0401", f"{output_num} parts of axis {axis} of {x.type}")
    return tuple(_torch.split(x, split_size=max(n // output_num, 1), dim=axis))


def SplitTensor(x: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_torch.split(x, split_size=split_size, dim=dim))


def SplitWithSize(x: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return tuple(_torch.split_with_sizes(x, split_sizes=_ints(split_sizes), dim=dim))


def Slice(x: Tensor, begin: Any, size: Any) -> Tensor:
    starts = _ints(begin)
    sizes = [n - b if s == -1 else s for n, b, s in zip(x.shape, starts, _ints(size), strict=True)]
    return _shared.box(x, starts, sizes)


def StridedSlice(
    x: Tensor,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    if ellipsis_mask or new_axis_mask:
        raise EdgeKitError("E0205", "StridedSlice with an ellipsis or new dimensions is not supported")
    return _StridedSlice(
        x,
        *(x.new(np.array(_ints(bounds), np.int64)) for bounds in (begin, end, strides)),
        begin_mask=begin_mask,
        end_mask=end_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


def Gather(x: Tensor, index: Tensor, axis: int = 0, batch_dims: int = 0) -> Tensor:
    if batch_dims:
        raise EdgeKitError("E0205", "Gather within a batch is not supported")
    return _onnx.Gather(x, index, axis=axis)


def GatherD(x: Tensor, dim: int, index: Tensor) -> Tensor:
    return _onnx.GatherElements(x, index, axis=dim)


def GatherNd(x: Tensor, index: Tensor) -> Tensor:
    return _onnx.GatherND(x, index)


def IndexSelect(x: Tensor, dim: int, index: Tensor) -> Tensor:
    return _onnx.Gather(x, index, axis=dim)


def TensorScatterUpdate(x: Tensor, index: Tensor, update: Tensor) -> Tensor:
    return _onnx.ScatterND(x, index, update)


def OneHot(x: Tensor, depth: Any, on: Tensor, off: Tensor, axis: int = -1) -> Tensor:
    values = _concat([off.reshape(1), on.reshape(1)], 0)
    (count,) = _ints(depth)
    return _onnx.OneHot(x, x.new(np.asarray(count)), values, axis=axis)


def ReverseV2(x: Tensor, axis: Any) -> Tensor:
    return _torch.flip(x, dims=_ints(axis))


def Pad(x: Tensor, *, paddings: Sequence[_Ints]) -> Tensor:
    """A border around each dimension."""
    return _shared.pad(x, [a for a, _ in paddings], [b for _, b in paddings], "constant")


def PadV3(
    x: Tensor,
    paddings: Any,
    constant: Any = 0,
    *,
    mode: str = "constant",
    paddings_contiguous: bool = True,
) -> Tensor:
    """The last dimension comes first."""
    border = _ints(paddings)
    if not paddings_contiguous or mode not in _MODES or len(border) % 2 or len(border) > 2 * x.rank:
        raise EdgeKitError("E0203", f"a border {border[:8]} in mode {mode[:20]} for {x.type}")
    before, after = [0] * x.rank, [0] * x.rank
    for i in range(len(border) // 2):
        before[x.rank - 1 - i], after[x.rank - 1 - i] = border[2 * i], border[2 * i + 1]
    value = constant.constant("the border").reshape(()).item() if isinstance(constant, Tensor) else constant
    return _shared.pad(x, before, after, _MODES[mode], value or 0)


def MirrorPad(x: Tensor, paddings: Any, *, mode: str = "REFLECT") -> Tensor:
    pairs = np.asarray(_ints(paddings)).reshape(-1, 2).tolist()
    modes = {"REFLECT": "reflect", "SYMMETRIC": "symmetric"}
    if mode not in modes or len(pairs) != x.rank:
        raise EdgeKitError("E0203", f"a border {pairs[:4]} in mode {mode[:20]} for {x.type}")
    return _shared.pad(x, [a for a, _ in pairs], [b for _, b in pairs], modes[mode])


def Im2Col(
    x: Tensor,
    *,
    ksizes: _Ints,
    strides: _Ints = (1,),
    dilations: _Ints = (1,),
    pads: _Ints = (0,),
    padding_mode: str = "CALCULATED",
) -> Tensor:
    """The cells of each window of an image, as a column of each channel."""
    both = [list(v) * 2 if len(v) == 1 else list(v) for v in (ksizes, dilations, pads, strides)]
    if padding_mode != "CALCULATED" or any(len(v) != 2 for v in both):
        raise EdgeKitError("E0203", f"Im2Col with the padding {padding_mode[:20]} {list(pads)[:8]}")
    kernel, holes, border, steps = both
    y = _torch.im2col(x, kernel_size=kernel, dilation=holes, padding=border, stride=steps)
    return y.reshape(*x.shape[:2], kernel[0] * kernel[1], y.shape[-1])


def Tril(x: Tensor, diagonal: int = 0) -> Tensor:
    return _torch.tril(x, diagonal=diagonal)


def Triu(x: Tensor, diagonal: int = 0) -> Tensor:
    return _torch.triu(x, diagonal=diagonal)


def Meshgrid(xs: Sequence[Tensor], indexing: int | str = "xy") -> tuple[Tensor, ...]:
    order = indexing if isinstance(indexing, str) else ("ij", "xy")[indexing]
    return tuple(_torch.meshgrid(list(xs), indexing=order))


def DepthToSpace(x: Tensor, *, block_size: int) -> Tensor:
    return _DepthToSpace(x, blocksize=block_size)


def ZerosLike(x: Tensor) -> Array:
    return _create.zeros_like(x)


def OnesLike(x: Tensor) -> Array:
    return _create.ones_like(x)


def FillV2(shape: Any, value: Tensor) -> Tensor:
    return _shared.expand(value.reshape(), _ints(shape))


def Zeros(shape: Any, dtype: int | None = None) -> Array:
    return _create.zeros(_ints(shape), dtype=_given(dtype))


def Ones(shape: Any, dtype: int | None = None) -> Array:
    return _create.ones(_ints(shape), dtype=_given(dtype))


def FillScalar(shape: Any, value: Number, dtype: int | None = None) -> Array:
    return _create.full(_ints(shape), fill_value=value, dtype=_given(dtype))


def Range(start: Any, end: Any, step: Any) -> Tensor | Array:
    if not isinstance(start, Tensor):
        return _create.arange(start, end=end, step=step)
    first, last, by = (x.constant("a range").reshape(()).item() for x in (start, end, step))
    return _cast(start.new(_create.arange(first, end=last, step=by)), start.dtype)


def _given(dtype: int | None) -> DType | None:
    return None if dtype is None else _dtype_of(dtype)


def _ints(given: Any) -> list[int]:
    """Integers, which have to be known at import."""
    if given is None:
        return []
    if isinstance(given, Tensor):
        return list(given.ints("a shape, an axis or an index"))
    if isinstance(given, int):
        return [int(given)]
    return [n for item in given for n in _ints(item)]
