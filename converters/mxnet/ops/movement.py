"""Operators that move elements, pick them, or make tensors that are known."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.mxnet.file import dtype_named
from edgekit.converters.semantics import movement as shared
from edgekit.converters.semantics.aten.pool import adaptive_avg_pool2d
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.semantics.onnx import movement as onnx_movement
from edgekit.converters.semantics.onnx import shape as onnx_shape
from edgekit.converters.semantics.onnx.resize import Axis, ResizeStyle, resize
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

Ints = tuple[int, ...]
Places = tuple[int | None, ...]
_MAX_CELLS = 1 << 26


def Flatten(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], prod(x.shape[1:]))


def Reshape(
    x: Tensor, *, shape: Ints | int = (), reverse: bool = False, keep_highest: bool = False
) -> Tensor:
    """0 copies a dimension, -1 is what is left, -2 copies all that follow, -3 joins two, and -4 splits one
    into the two numbers behind it. `reverse` goes from the back to the front."""
    wanted = list(shape) if isinstance(shape, tuple) else [shape]
    if reverse and -4 in wanted:
        raise EdgeKitError("E0203", "Reshape from the back with -4 is not supported")
    dims = _reshaped(x.shape[::-1], wanted[::-1])[::-1] if reverse else _reshaped(x.shape, wanted)
    if dims.count(-1) == 1:
        known = prod(d for d in dims if d != -1)
        dims[dims.index(-1)] = x.type.size // known if known else 0
    return x.reshape(*dims)


def _reshaped(old: Ints, wanted: list[int]) -> list[int]:
    """The dimensions, with -1 for one that follows from the others."""
    left, codes = list(old), list(wanted)
    made: list[int] = []
    while codes:
        code = codes.pop(0)
        needed = {-3: 2, 0: 1, -4: 1}.get(code, 0)
        if code < -4 or len(left) < needed or (code == -4 and len(codes) < 2):
            raise EdgeKitError("E0401", f"shape {wanted[:8]} makes no sense for {list(old)}")
        if code == -4:
            size, first, second = left.pop(0), codes.pop(0), codes.pop(0)
            first = size // second if first == -1 and second > 0 else first
            made += [first, size // first if second == -1 and first > 0 else second]
        elif code == -3:
            made.append(left.pop(0) * left.pop(0))
        elif code == -2:
            made += left
            left = []
        else:
            size = left.pop(0) if left else 1
            made.append(size if code == 0 else code)
    return made


def transpose(x: Tensor, *, axes: Ints = ()) -> Tensor:
    order = tuple(x.axis(a) for a in axes) or tuple(reversed(range(x.rank)))
    if sorted(order) != list(range(x.rank)):
        raise EdgeKitError("E0401", f"transpose {list(axes)[:8]} of {x.type}")
    return x.transpose(*order)


def SwapAxis(x: Tensor, *, dim1: int = 0, dim2: int = 0) -> Tensor:
    order = list(range(x.rank))
    a, b = x.axis(dim1), x.axis(dim2)
    order[a], order[b] = b, a
    return x.transpose(*order)


def expand_dims(x: Tensor, *, axis: int) -> Tensor:
    return onnx_shape.unsqueeze(x, [axis])


def squeeze(x: Tensor, *, axis: int | Ints | None = None) -> Tensor:
    return onnx_shape.Squeeze(x, axes=(axis,) if isinstance(axis, int) else axis)


def Concat(*xs: Tensor, dim: int = 1) -> Tensor:
    return concat(xs, dim)


rnn_param_concat = Concat


def stack(*xs: Tensor, axis: int = 0) -> Tensor:
    parts = [onnx_shape.unsqueeze(x, [axis]) for x in xs]
    return concat(parts, axis)


def SliceChannel(x: Tensor, *, num_outputs: int, axis: int = 1, squeeze_axis: bool = False) -> list[Tensor]:
    at = x.axis(axis)
    if num_outputs < 1 or x.shape[at] % num_outputs:
        raise EdgeKitError("E0401", f"axis {axis} of {x.type} does not split into {num_outputs}")
    size = x.shape[at] // num_outputs
    parts = [part(x, at, i * size, size) for i in range(num_outputs)]
    return [onnx_shape.Squeeze(p, axes=(at,)) for p in parts] if squeeze_axis else parts


def slice_axis(x: Tensor, *, axis: int, begin: int | None = None, end: int | None = None) -> Tensor:
    return _sliced(x, x.axis(axis), begin, end, None)


def slice_(x: Tensor, *, begin: Places, end: Places, step: Places = ()) -> Tensor:
    steps = step or (None,) * len(begin)
    for axis, (a, b, s) in enumerate(zip(begin, end, steps, strict=True)):
        x = _sliced(x, x.axis(axis), a, b, s)
    return x


def slice_like(x: Tensor, like: Tensor, *, axes: Ints = ()) -> Tensor:
    for axis in axes or range(min(x.rank, like.rank)):
        x = _sliced(x, x.axis(axis), 0, like.shape[like.axis(axis)], None)
    return x


def _sliced(x: Tensor, axis: int, begin: int | None, end: int | None, step: int | None) -> Tensor:
    cells = range(*slice(begin, end, step).indices(x.shape[axis]))
    return part(x, axis, cells.start, len(cells), cells.step)


def Crop(
    x: Tensor,
    like: Tensor | None = None,
    *,
    offset: Ints = (0, 0),
    h_w: Ints = (0, 0),
    center_crop: bool = False,
) -> Tensor:
    """A part of an image, as large as another one or as said."""
    size = h_w if like is None else like.shape[2:]
    starts = [(n - m) // 2 for n, m in zip(x.shape[2:], size, strict=True)] if center_crop else offset
    for axis, (start, n) in enumerate(zip(starts, size, strict=True), 2):
        if start < 0 or n < 1 or start + n > x.shape[axis]:
            raise EdgeKitError("E0401", f"Crop of {n} cells from {start} on, of {x.type}")
        x = part(x, axis, start, n)
    return x


def Pad(x: Tensor, *, mode: str, pad_width: Ints, constant_value: float = 0.0) -> Tensor:
    if mode not in ("constant", "edge", "reflect") or len(pad_width) != 2 * x.rank:
        raise EdgeKitError("E0401", f"Pad of {x.type} by {list(pad_width)[:8]} in mode {mode}")
    return shared.pad(x, pad_width[::2], pad_width[1::2], mode, constant_value)


def tile(x: Tensor, *, reps: Ints) -> Tensor:
    rank = max(x.rank, len(reps))
    wide = x.reshape(*(1,) * (rank - x.rank), *x.shape)
    return shared.tile(wide, ((1,) * (rank - len(reps))) + reps)


def repeat(x: Tensor, *, repeats: int, axis: int | None = None) -> Tensor:
    if axis is None:
        return shared.repeat_along(x.reshape(x.type.size), 0, repeats)
    return shared.repeat_along(x, x.axis(axis), repeats)


def reverse(x: Tensor, *, axis: int | Ints) -> Tensor:
    for a in (axis,) if isinstance(axis, int) else axis:
        x = shared.take(x, x.axis(a), np.arange(x.shape[x.axis(a)])[::-1])
    return x


def broadcast_to(x: Tensor, *, shape: Ints) -> Tensor:
    if len(shape) != x.rank:
        raise EdgeKitError("E0401", f"broadcast of {x.type} to {list(shape)[:8]}")
    return shared.expand(x, [m or n for n, m in zip(x.shape, shape, strict=True)])


def broadcast_like(x: Tensor, like: Tensor) -> Tensor:
    return shared.expand(x, like.shape)


def broadcast_axis(x: Tensor, *, axis: int | Ints = (), size: int | Ints = ()) -> Tensor:
    axes = (axis,) if isinstance(axis, int) else axis
    sizes = (size,) if isinstance(size, int) else size
    wanted = dict(zip([x.axis(a) for a in axes], sizes, strict=True))
    return shared.expand(x, [wanted.get(i, n) for i, n in enumerate(x.shape)])


def depth_to_space(x: Tensor, *, block_size: int) -> Tensor:
    return onnx_movement.DepthToSpace(x, blocksize=block_size)


def space_to_depth(x: Tensor, *, block_size: int) -> Tensor:
    return onnx_movement.SpaceToDepth(x, blocksize=block_size)


def take(x: Tensor, index: Tensor, *, axis: int = 0, mode: str = "clip") -> Tensor:
    """Places outside are the last ones inside."""
    if mode not in ("clip", "raise"):
        raise EdgeKitError("E0203", f"take: mode {mode} is not supported")
    last = x.shape[x.axis(axis)] - 1
    return indexing.Gather(x, cast(index, DType.S32).max(0).min(last), axis=axis)


def one_hot(
    index: Tensor, *, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: str = "float32"
) -> Tensor:
    values = index.new(np.array([off_value, on_value], dtype_named(dtype).numpy))
    cells = cast(index, DType.S64)
    return indexing.OneHot(cells, index.new(np.array(depth)), values)


def argmax(x: Tensor, *, axis: int, keepdims: bool = False) -> Tensor:
    """The place as a number of the type of x."""
    return cast(indexing.ArgMax(x, axis=axis, keepdims=int(keepdims)), x.dtype)


def argmin(x: Tensor, *, axis: int, keepdims: bool = False) -> Tensor:
    return cast(indexing.ArgMin(x, axis=axis, keepdims=int(keepdims)), x.dtype)


def BilinearResize2D(
    x: Tensor,
    *,
    height: int = 1,
    width: int = 1,
    scale_height: float = 0.0,
    scale_width: float = 0.0,
    mode: str = "size",
    align_corners: bool = True,
) -> Tensor:
    if mode != "size":
        raise EdgeKitError("E0203", f"BilinearResize2D: mode {mode} is not supported")
    scales = (scale_height, scale_width)
    sizes = zip(x.shape[2:], (height, width), scales, strict=True)
    out = [int(n * s) if s else m for n, m, s in sizes]
    if min(out) < 1:
        raise EdgeKitError("E0401", f"BilinearResize2D of {x.type} to {out}")
    axes = [Axis(i + 2, n, m, m / n) for i, (n, m) in enumerate(zip(x.shape[2:], out, strict=True))]
    return resize(x, axes, ResizeStyle("linear", "align_corners" if align_corners else "half_pixel"))


def AdaptiveAvgPooling2D(x: Tensor, *, output_size: int | Ints = (1,)) -> Tensor:
    return adaptive_avg_pool2d(x, output_size=(output_size,) if isinstance(output_size, int) else output_size)


def SequenceLast(x: Tensor, *, use_sequence_length: bool = False, axis: int = 0) -> Tensor:
    _check_whole(use_sequence_length)
    at = x.axis(axis)
    return onnx_shape.Squeeze(part(x, at, x.shape[at] - 1, 1), axes=(at,))


def SequenceReverse(x: Tensor, *, use_sequence_length: bool = False, axis: int = 0) -> Tensor:
    _check_whole(use_sequence_length)
    return reverse(x, axis=axis)


def zeros(*, shape: Ints, dtype: str = "float32") -> Array:
    return _filled(shape, 0, dtype)


def ones(*, shape: Ints, dtype: str = "float32") -> Array:
    return _filled(shape, 1, dtype)


def full(*, shape: Ints, value: float, dtype: str = "float32") -> Array:
    return _filled(shape, value, dtype)


def arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    dtype: str = "float32",
) -> Array:
    first, last = (0.0, start) if stop is None else (start, stop)
    count = (last - first) / step if step else 0
    if not 0 <= count * repeat <= _MAX_CELLS:
        raise EdgeKitError("E0402", f"a range of {count:g} numbers is absurd")
    return np.repeat(np.arange(first, last, step), repeat).astype(dtype_named(dtype).numpy)


def _filled(shape: Ints, value: float, dtype: str) -> Array:
    if absurd(shape) or prod(shape) > _MAX_CELLS:
        raise EdgeKitError("E0402", f"a constant of shape {list(shape)[:8]} is absurd")
    return np.full(shape, value, dtype_named(dtype).numpy)


def _check_whole(use_sequence_length: bool) -> None:
    if use_sequence_length:
        raise EdgeKitError("E0203", "sequences of different lengths are not supported")
