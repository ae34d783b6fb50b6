"""MediaPipe's operators: transposed convolution with a bias, pooling with places, landmarks and crops."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import cos, sin

import numpy as np

from edgekit.converters.semantics.compose import reduce
from edgekit.converters.semantics.movement import cast, part, take, where
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.tflite.layer import TfliteLayer, dequantized
from edgekit.converters.tflite.ops.contract import same_pads
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.grid_sample import GridSample
from edgekit.core.ops.logic import And, Equal, Less
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import ArgMaxPool2d, Pool2d
from edgekit.core.types import DType

CUSTOM = "MediaPipe"
_SAME, _VALID = 1, 2  # paddings in the structs of LiteRT, which MediaPipe's options are


def Convolution2DTransposeBias(layer: TfliteLayer, x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    same, *strides = _struct(layer, 3)
    w, b = dequantized(w), dequantized(b)
    if x.rank != 4 or w.rank != 4 or min(strides) < 1 or b.shape != w.shape[:1]:
        raise EdgeKitError("E0401", f"a transposed convolution of {x.type} with {w.type} and {b.type}")
    size, pads = [], []
    for n, k, s in zip(x.shape[1:3], w.shape[1:3], reversed(strides), strict=True):
        cut = max(0, k - (n - 1) % s - 1) if same else 0
        size.append(s * (n - 1) + k - cut)
        pads.append(cut // 2)
    op = ConvTranspose2d((size[0], size[1]), (strides[1], strides[0]), (pads[0], pads[1]))
    return x.apply(op, w, b)


def MaxPoolingWithArgmax2D(layer: TfliteLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    """The second result says which cell of its window each maximum is, counted row by row, and 0.1 more."""
    size, strides, same, activation = _window(layer, x)
    pads = same_pads(x.shape[1:3], size, strides) if same else (0, 0, 0, 0)
    y = x.apply(Pool2d("max", size, strides, pads).fitted(*x.shape[1:3]))
    op = ArgMaxPool2d(size, (0, size[1], 1, 0), strides, pads).fitted(*x.shape[1:3])
    rows, columns = (np.arange(n) * s - p for n, s, p in zip(y.shape[1:3], strides, pads, strict=False))
    first = (rows[:, None] * size[1] + columns).reshape(1, *y.shape[1:3], 1)
    return layer.activated(y, activation), cast(x.apply(op), x.dtype) - x.like(first) + 0.1


def MaxUnpooling2D(layer: TfliteLayer, x: Tensor, places: Tensor) -> Tensor:
    """Each x at its place in a window of zeros."""
    size, strides, _, _ = _window(layer, x)
    if size != strides:
        raise EdgeKitError("E0203", f"MaxUnpooling2D of {size[0]} x {size[1]} at other strides")
    if places.shape != x.shape:
        raise EdgeKitError("E0401", f"MaxUnpooling2D of {x.type} with places {places.type}")
    n, h, w, c = x.shape
    x.builder.afford((n, h, w, size[0] * size[1], c))
    cell = cast(places, DType.S32).reshape(n, h, w, 1, c)
    is_here = cell.apply(Equal(), cell.like(np.arange(size[0] * size[1])[:, None]))
    windows = where(is_here, x.reshape(n, h, w, 1, c), 0.0).reshape(n, h, w, *size, c)
    return windows.transpose(0, 1, 3, 2, 4, 5).reshape(n, h * size[0], w * size[1], c)


def TransformLandmarks(layer: TfliteLayer, x: Tensor, matrix: Tensor) -> Tensor:
    """The first two coordinates of each landmark by an affine matrix; the third stays. In the older version
    all are in the last dimension, and what is added is scaled."""
    is_older = "dimensions" in layer.attributes
    dimensions = layer.option("dimensions") if is_older else x.shape[-1] if x.rank else 0
    if dimensions not in (2, 3) or x.type.size % dimensions:
        raise EdgeKitError("E0401", f"landmarks {x.type} of {dimensions} coordinates")
    turn, shift = _affine(matrix)
    if is_older:
        shift = shift * layer.real("scale")
    points = x.reshape(x.type.size // dimensions, dimensions)
    y = part(points, 1, 0, 2).apply(MatMul((), (1, 0)), turn) + shift
    return concat([y, part(points, 1, 2, dimensions - 2)], 1).reshape(*x.shape)


def TransformTensorBilinear(layer: TfliteLayer, x: Tensor, matrix: Tensor) -> Tensor:
    """The image at the places of an affine matrix, in cells; 0 outside. The newer version counts from the
    edges of cells, the older one from their centres."""
    is_older = "output_size" in layer.attributes
    size = (
        layer.integers("output_size")
        if is_older
        else (layer.option("output_height"), layer.option("output_width"))
    )
    if x.rank != 4 or x.shape[0] != 1 or len(size) != 2 or min(size) < 1 or not x.type.size:
        raise EdgeKitError("E0401", f"a crop of {list(size)} from {x.type}")
    if layer.attributes.get("mode", "bilinear") != "bilinear":
        raise EdgeKitError("E0203", "crops that are interpolated in another way than bilinear")
    x.builder.afford((*size, x.shape[3]))
    turn, shift = _affine(matrix)
    if not is_older:
        shift = shift + reduce(turn, "sum", [1], keepdims=False) * 0.5 - 0.5
    grid, inside = [], None
    for axis, n in enumerate((x.shape[2], x.shape[1])):
        a, b = (part(part(turn, 0, axis, 1), 1, i, 1) for i in (0, 1))
        columns, rows = x.like(np.arange(size[1])), x.like(np.arange(size[0])[:, None])
        at = columns * a + rows * b + part(shift, 0, axis, 1)
        is_inside = at.apply(Equal(), at.clip(0.0, n - 1.0))
        inside = is_inside if inside is None else inside.apply(And(), is_inside)
        grid.append((at * (2 / max(n - 1, 1)) - 1.0).reshape(*size, 1))
    assert inside is not None
    y = x.apply(GridSample(align=True), concat(grid, 2).reshape(1, *size, 2))
    return where(inside.reshape(1, *size, 1), y, 0.0)


def TransformTensor(layer: TfliteLayer, x: Tensor, matrix: Tensor) -> Tensor:
    return TransformTensorBilinear(layer, x, matrix)


def Landmarks2TransformMatrix(layer: TfliteLayer, x: Tensor) -> Tensor:
    """The matrix that leads from the cells of a crop to the box around some landmarks, turned such that the
    line through two of them is level, or has a given angle."""
    return (_crop_by_size if "subset_idxs" in layer.attributes else _crop_by_range)(layer, x)


def _crop_by_size(layer: TfliteLayer, x: Tensor) -> Tensor:
    """The newer version."""
    points = _points(x, 3)
    dx, dy, length = _line(layer, points)
    angle = layer.real("target_rotation_radians")
    c = (dx * cos(angle) + dy * sin(angle)) / length
    s = (dx * sin(angle) - dy * cos(angle)) / length
    extent, middle = _box(points, layer.integers("subset_idxs"), c, s)
    height, width = layer.option("output_height"), layer.option("output_width")
    if min(height, width) < 1:
        raise EdgeKitError("E0401", f"a crop of {height} x {width} cells")
    scale = extent * x.like([layer.real("scale_x") / width, layer.real("scale_y") / height])
    turn = _turn(c, s) * scale
    return _matrix(turn, middle - _times(turn, x.like([width / 2, height / 2])))


def _crop_by_range(layer: TfliteLayer, x: Tensor) -> Tensor:
    """The older version, with coordinates up to a range, and no difference of left and right."""
    if layer.option("dimensions") != 3:
        raise EdgeKitError("E0203", "landmarks of 3 coordinates are supported")
    points = _points(x, 3)
    dx, dy, length = _line(layer, points)
    side = where(dx.apply(Less(), 0.0), dx.like(-1.0), 1.0)
    c, s = dx * side / length, dy * (side * -1.0) / length
    extent, middle = _box(points, layer.integers("subset"), c, s)
    to, of = layer.integers("output_hw"), layer.integers("input_hw")
    reach = layer.real("landmarks_range")
    if len(to) != 2 or len(of) != 2 or min(to) < 2 or reach == 0:
        raise EdgeKitError("E0401", f"a crop of {list(to)} cells from {list(of)} with range {reach:g}")
    halves = x.like([(of[1] - 1) / 2, (of[0] - 1) / 2])
    turn = _turn(c, s) * (extent * (layer.real("bbox_size_multiplier") / reach)) * halves.reshape(2, 1)
    centre = middle * (2 / reach) * halves
    return _matrix(
        turn * x.like([2 / (to[1] - 1), 2 / (to[0] - 1)]), centre - _times(turn, x.like([1.0, 1.0]))
    )


def _points(x: Tensor, dimensions: int) -> Tensor:
    """x and y of each landmark."""
    if not x.dtype.is_float or x.type.size % dimensions or not x.type.size:
        raise EdgeKitError("E0401", f"landmarks {x.type} of {dimensions} coordinates")
    return part(x.reshape(x.type.size // dimensions, dimensions), 1, 0, 2)


def _chosen(points: Tensor, numbers: Sequence[int]) -> Tensor:
    """Some of the landmarks."""
    if not numbers or not 0 <= min(numbers) <= max(numbers) < points.shape[0]:
        raise EdgeKitError("E0401", f"landmarks {list(numbers)[:8]} of {points.shape[0]}")
    return take(points, 0, np.array(numbers))


def _line(layer: TfliteLayer, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The line from the left to the right landmark, and its length; where that is 0, it is level."""
    left, right = (_chosen(points, [layer.option(f"{side}_rotation_idx")]) for side in ("left", "right"))
    line = right - left
    length = reduce(line * line, "sum", [0, 1], keepdims=False).reshape(1).apply(Sqrt())
    is_point = length.apply(Equal(), 0.0)
    dx, dy = (part(line, 1, i, 1).reshape(1) for i in (0, 1))
    return where(is_point, dx.like([1.0]), dx), dy, where(is_point, length.like([1.0]), length)


def _box(points: Tensor, numbers: Sequence[int], c: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """The extent of the box around landmarks that are turned by an angle, and its middle, turned back."""
    turned = _chosen(points, numbers).apply(MatMul((), (1, 0)), _turn(c, s * -1.0))
    high, low = (reduce(turned, kind, [0], keepdims=False) for kind in ("max", "min"))
    return high - low, _times(_turn(c, s), (high + low) * 0.5)


def _turn(c: Tensor, s: Tensor) -> Tensor:
    """The matrix that turns by the negative of the angle with this cosine and sine."""
    return concat([c, s, s * -1.0, c], 0).reshape(2, 2)


def _times(turn: Tensor, v: Tensor) -> Tensor:
    return v.reshape(1, 2).apply(MatMul((), (1, 0)), turn).reshape(2)


def _matrix(turn: Tensor, shift: Tensor) -> Tensor:
    """A matrix of four rows and columns, as shaders have it."""
    nothing, last = turn.like(np.zeros((2, 1))), turn.like([[0, 0, 1, 0], [0, 0, 0, 1]])
    return concat([concat([turn, nothing, shift.reshape(2, 1)], 1), last], 0).reshape(1, 4, 4)


def _affine(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """What a matrix does to x and y, and what it adds to them."""
    if matrix.type.size != 16 or not matrix.dtype.is_float:
        raise EdgeKitError("E0401", f"a matrix {matrix.type} where it should be of 4 x 4")
    rows = part(matrix.reshape(4, 4), 0, 0, 2)
    return part(rows, 1, 0, 2), part(rows, 1, 3, 1).reshape(2)


def _window(layer: TfliteLayer, x: Tensor) -> tuple[tuple[int, int], tuple[int, int], bool, int]:
    """The size and the strides of pooling windows, whether borders are padded, and the activation."""
    same, stride_w, stride_h, width, height, activation = _struct(layer, 6)
    if x.rank != 4 or not x.dtype.is_float or min(stride_w, stride_h, width, height) < 1:
        raise EdgeKitError(
            "E0401", f"windows of {height} x {width} every {stride_h} x {stride_w} of {x.type}"
        )
    return (height, width), (stride_h, stride_w), bool(same), activation


def _struct(layer: TfliteLayer, count: int) -> list[int]:
    """Options that are a struct of LiteRT, integers of which the first one is the padding: is it SAME?"""
    if len(layer.custom) < 4 * count:
        raise EdgeKitError("E0401", f"options of {len(layer.custom)} bytes")
    padding, *rest = struct.unpack_from(f"<{count}i", layer.custom)
    if padding not in (_SAME, _VALID):
        raise EdgeKitError("E0401", f"padding {padding} is unknown")
    return [padding == _SAME, *rest]
