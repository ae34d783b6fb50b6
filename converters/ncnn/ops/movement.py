"""Shapes, parts, joints, borders and other places of elements."""

from __future__ import annotations

from math import prod as _prod

from edgekit.converters.ncnn.file import Layer as _Layer
from edgekit.converters.ncnn.file import Weights as _Weights
from edgekit.converters.semantics.aten import movement as _torch
from edgekit.converters.semantics.movement import box as _box
from edgekit.converters.semantics.movement import pad as _pad
from edgekit.converters.semantics.movement import part as _part
from edgekit.converters.semantics.onnx import movement as _onnx
from edgekit.converters.semantics.onnx.resize import Axis as _Axis
from edgekit.converters.semantics.onnx.resize import ResizeStyle as _Style
from edgekit.converters.semantics.onnx.resize import resize as _resize
from edgekit.converters.semantics.onnx.shape import unsqueeze as _unsqueeze
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import concat as _concat
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError

_DIMENSIONS = {1: "w", 2: "hw", 3: "chw", 4: "cdhw"}  # of blobs
_NONE = -233  # no dimension, no end, or equal parts
# The widths and heights of a result, as dimensions of what it is made of: the first is the last dimension.
_ORDERS = {
    2: ("wh", "hw"),
    3: ("whc", "hwc", "wch", "cwh", "hcw", "chw"),
    4: (
        *("whdc", "hwdc", "wdhc", "dwhc", "hdwc", "dhwc", "whcd", "hwcd", "wchd", "cwhd", "hcwd", "chwd"),
        *("wdch", "dwch", "wcdh", "cwdh", "dcwh", "cdwh", "hdcw", "dhcw", "hcdw", "chdw", "dchw", "cdhw"),
    ),
}
_BORDERS = ("constant", "edge", "reflect")


def Split(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> list[Tensor]:
    return [x] * len(layer.outputs)


def Concat(builder: Builder, layer: _Layer, weights: _Weights, *xs: Tensor) -> Tensor:
    return _concat(xs, layer.integer(0))


def Slice(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> list[Tensor]:
    """Into parts of these sizes, or at these places."""
    axis, count = x.axis(layer.integer(1)), len(layer.outputs)
    n, sizes, places = x.shape[axis], layer.integers(0), layer.integers(2)
    at, made = 0, []
    for i in range(count):
        if places:
            size = n - at if i == count - 1 else places[i] % n - at
        else:
            size = sizes[i] if sizes[i] != _NONE else (n - at) // (count - i)
        made.append(_part(x, axis, at, size))
        at += size
    return made


def Crop(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor, like: Tensor | None = None) -> Tensor:
    """From starts to ends of axes, or from an offset on: to a size, or to that of another blob."""
    layer.refuse(19, 20, 21)
    if starts := layer.integers(9):
        axes = layer.integers(11) or list(range(len(starts)))
        for axis, first, last in zip(axes, starts, layer.integers(10), strict=True):
            n = x.shape[x.axis(axis)]
            first, last = (0 if first == _NONE else first), (n if last == _NONE else last)
            cells = range(*slice(first, last).indices(n))
            x = _part(x, x.axis(axis), cells.start, len(cells))
        return x
    keys = {1: [(0, 3, 6)], 2: [(1, 4, 7), (0, 3, 6)], 3: [(2, 5, 8), (1, 4, 7), (0, 3, 6)]}.get(x.rank)
    if keys is None:
        raise EdgeKitError("E0205", f"Crop of {x.type} is not supported")
    offsets = [layer.integer(start) for start, _, _ in keys]
    if like is not None:
        return _box(x, offsets, like.shape)
    sizes = [
        n - offset - layer.integer(end) if layer.integer(size) in (0, _NONE) else layer.integer(size)
        for n, offset, (_, size, end) in zip(x.shape, offsets, keys, strict=True)
    ]
    return _box(x, offsets, sizes)


def Reshape(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    """0 keeps a size, -1 is what is left."""
    layer.refuse(6, 12, 13)
    wanted = [layer.integer(key, _NONE) for key in (2, 11, 1, 0)]
    own = dict(zip(_DIMENSIONS[x.rank], x.shape, strict=True))
    shape = [own.get(name, 1) if n == 0 else n for name, n in zip("cdhw", wanted, strict=True) if n != _NONE]
    if -1 in shape:
        shape[shape.index(-1)] = x.type.size // (_prod(n for n in shape if n != -1) or 1)
    return x.reshape(*shape)


def Flatten(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    return x.reshape(x.type.size)


def Squeeze(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    """Of axes, or of named dimensions."""
    drop = {x.axis(a) for a in layer.integers(3)}
    if not drop:
        names = _DIMENSIONS[x.rank]
        asked = {name for name, key in (("w", 0), ("h", 1), ("d", 11), ("c", 2)) if layer.integer(key)}
        drop = {i for i, name in enumerate(names) if name in asked}
    return x.reshape(*(n for i, n in enumerate(x.shape) if i not in drop or n != 1))


def ExpandDims(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    layer.refuse(0, 1, 2, 11)
    return _unsqueeze(x, layer.integers(3))


def Permute(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    kind, orders = layer.integer(0), _ORDERS.get(x.rank, ("w",))
    if not 0 <= kind < len(orders):
        raise EdgeKitError("E0401", f"order {kind} of {x.type}")
    names = orders[0][::-1]
    return x.transpose(*(names.index(name) for name in orders[kind][::-1]))


def Padding(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    layer.refuse(6)
    kind = layer.integer(4)
    if not 0 <= kind < len(_BORDERS):
        raise EdgeKitError("E0203", f"a border of the kind {kind} is not supported")
    begins = [layer.integer(key) for key in (7, 0, 2)]
    ends = [layer.integer(key) for key in (8, 1, 3)]
    if x.rank > 3:
        raise EdgeKitError("E0205", f"a border around {x.type} is not supported")
    return _pad(x, begins[-x.rank :], ends[-x.rank :], _BORDERS[kind], layer.number(5))


def Interp(
    builder: Builder, layer: _Layer, weights: _Weights, x: Tensor, like: Tensor | None = None
) -> Tensor:
    """To a size, by factors, or to the size of another blob."""
    layer.refuse(9)
    if x.rank != 3:
        raise EdgeKitError("E0205", f"Interp of {x.type} is not supported")
    kind = {1: "nearest", 2: "linear", 3: "cubic"}.get(layer.integer(0))
    if kind is None:
        raise EdgeKitError("E0203", f"Interp of the kind {layer.integer(0)} is not supported")
    stated = [layer.integer(3), layer.integer(4)]
    scales = [layer.number(1, 1.0), layer.number(2, 1.0)]
    axes = []
    for i, (n, out, scale) in enumerate(zip(x.shape[1:], stated, scales, strict=True)):
        out = like.shape[like.rank - 2 + i] if like is not None else out or int(n * scale)
        if out < 1 or not n:
            raise EdgeKitError("E0401", f"Interp of {x.type} to {out}")
        axes.append(_Axis(i + 1, n, out, out / n))
    corners = bool(layer.integer(6)) and kind != "nearest"
    coordinates = "asymmetric" if kind == "nearest" else "align_corners" if corners else "half_pixel"
    return _resize(x, axes, _Style(kind, coordinates, "floor"))


def PixelShuffle(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    mode = "DCR" if layer.integer(1) else "CRD"
    y = _onnx.DepthToSpace(x.reshape(1, *x.shape), blocksize=layer.integer(0, 1), mode=mode)
    return y.reshape(*y.shape[1:])


def ShuffleChannel(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    groups = layer.integer(0, 1)
    if groups < 1 or x.shape[0] % groups:
        raise EdgeKitError("E0401", f"{groups} groups of the channels of {x.type}")
    groups = x.shape[0] // groups if layer.integer(1) else groups
    y = _torch.channel_shuffle(x.reshape(1, *x.shape), groups=groups)
    return y.reshape(*x.shape)


def MemoryData(builder: Builder, layer: _Layer, weights: _Weights) -> Tensor:
    sizes = [n for n in (layer.integer(key) for key in (2, 11, 1, 0)) if n]
    load = weights.plain if layer.integer(21, 1) == 1 else weights.tagged
    return Tensor(builder, builder.const(load(*sizes)))
