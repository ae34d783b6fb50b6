"""Norms, scales, softmax and sums over dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from edgekit.converters.ncnn.file import Layer as _Layer
from edgekit.converters.ncnn.file import Weights as _Weights
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.compose import softmax as _softmax
from edgekit.converters.semantics.onnx import elementwise as _math
from edgekit.converters.semantics.onnx import normalize as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError

_TWO_INPUTS = -233


def BatchNorm(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    n = layer.integer(0)
    slope, mean, variance, bias = (x.new(weights.plain(n)) for _ in range(4))
    images = x.reshape(1, *x.shape)
    y = _onnx.BatchNormalization(images, slope, bias, mean, variance, epsilon=layer.number(1))[0]
    return y.reshape(*x.shape)


def Scale(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor, by: Tensor | None = None) -> Tensor:
    """By a number for each cell of the first dimension."""
    n = layer.integer(0)
    if n == _TWO_INPUTS and by is not None:
        n, scale = by.type.size, by
    else:
        scale = x.new(weights.plain(n))
    shape = (n, *(1,) * (x.rank - 1))
    y = x * scale.reshape(*shape)
    return y + x.new(weights.plain(n)).reshape(*shape) if layer.integer(1) else y


def Bias(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    n = layer.integer(0)
    return x + x.new(weights.plain(n)).reshape(n, *(1,) * (x.rank - 1))


def InstanceNorm(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    scale, bias = _affine(layer, weights, x, layer.integer(0))
    y = _onnx.InstanceNormalization(x.reshape(1, *x.shape), scale, bias, epsilon=layer.number(1, 0.001))
    return y.reshape(*x.shape)


def GroupNorm(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    n = layer.integer(1)
    scale, bias = _affine(layer, weights, x, n, key=3)
    y = _onnx.GroupNormalization(
        x.reshape(1, *x.shape), scale, bias, num_groups=layer.integer(0, 1), epsilon=layer.number(2, 0.001)
    )
    return y.reshape(*x.shape)


def LayerNorm(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    """Over the last dimensions, as many as have so many elements."""
    n = layer.integer(0)
    axis = _axis_of(x, n)
    scale, bias = _affine(layer, weights, x, n)
    rows = x.reshape(*x.shape[:axis], n)
    return _onnx.LayerNormalization(rows, scale, bias, epsilon=layer.number(1, 0.001))[0].reshape(*x.shape)


def RMSNorm(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    n = layer.integer(0)
    rows = x.reshape(*x.shape[: _axis_of(x, n)], n)
    scale = x.new(weights.plain(n) if layer.integer(2, 1) else np.ones(n, np.float32))
    return _onnx.RMSNormalization(rows, scale, epsilon=layer.number(1, 0.001)).reshape(*x.shape)


def LRN(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    if layer.integer(0):
        raise EdgeKitError("E0205", "LRN within channels is not supported")
    y = _onnx.LRN(
        x.reshape(1, *x.shape),
        size=layer.integer(1, 5),
        alpha=layer.number(2, 1.0),
        beta=layer.number(3, 0.75),
        bias=layer.number(4, 1.0),
    )
    return y.reshape(*x.shape)


def Normalize(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    """By the length over channels, over an image, or over both."""
    axes = [0] if layer.integer(4, 1) else []
    axes += range(1, x.rank) if layer.integer(0) else []
    n, eps = layer.integer(3), layer.number(2, 0.0001)
    scale = x.new(weights.plain(n))
    square = _reduce(x * x, "sum", axes)
    match layer.integer(9):
        case 0:
            length = _math.Sqrt(square + eps)
        case 1:
            length = _math.Sqrt(square).max(eps)
        case _:
            length = _math.Sqrt(square.max(eps))
    return x / length * scale.reshape(n, *(1,) * (x.rank - 1))


def MVN(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    axes = range(0 if layer.integer(1) else 1, x.rank)
    if not layer.integer(0):
        return x - _reduce(x, "mean", axes)
    d = x - _reduce(x, "mean", axes)
    return d / (_math.Sqrt(_reduce(d * d, "mean", axes)) + layer.number(2, 0.0001))


def Softmax(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    axis = layer.integer(0)
    if axis and not layer.integer(1):
        raise EdgeKitError("E0205", "Softmax along an axis is of an old file, in which it meant another one")
    return _softmax(x, axis)


def Reduction(builder: Builder, layer: _Layer, weights: _Weights, x: Tensor) -> Tensor:
    kind, axes = layer.integer(0), layer.integers(3)
    if axes and not layer.integer(5):
        raise EdgeKitError("E0205", "Reduction along axes is of an old file, in which they meant other ones")
    if kind not in _REDUCTIONS:
        raise EdgeKitError("E0203", f"Reduction of the kind {kind} is not supported")
    keeps, is_all = bool(layer.integer(4)), bool(layer.integer(1, 1))
    along = range(x.rank) if is_all or not axes else axes
    y = _REDUCTIONS[kind](x, along, keeps)
    y = y.reshape(1) if not y.rank else y
    share = layer.number(2, 1.0)
    return y if share == 1 else y * share


def _kind(name: str, before: Callable[[Tensor], Tensor] = lambda x: x) -> Callable[..., Tensor]:
    return lambda x, axes, keeps: _reduce(before(x), name, axes, keeps)


_REDUCTIONS: Mapping[int, Callable[..., Tensor]] = {
    0: _kind("sum"),
    1: _kind("sum", _math.Abs),
    2: _kind("sum", lambda x: x * x),
    3: _kind("mean"),
    4: _kind("max"),
    5: _kind("min"),
    6: _kind("prod"),
    7: _kind("sum", _math.Abs),
    8: lambda x, axes, keeps: _math.Sqrt(_reduce(x * x, "sum", axes, keeps)),
    9: lambda x, axes, keeps: _math.Log(_reduce(x, "sum", axes, keeps)),
    10: lambda x, axes, keeps: _math.Log(_reduce(_math.Exp(x), "sum", axes, keeps)),
}


def _affine(layer: _Layer, weights: _Weights, x: Tensor, n: int, key: int = 2) -> tuple[Tensor, Tensor]:
    if not layer.integer(key, 1):
        return x.like(np.ones(n)), x.like(np.zeros(n))
    return x.new(weights.plain(n)), x.new(weights.plain(n))


def _axis_of(x: Tensor, size: int) -> int:
    """Where the last dimensions begin that have so many elements."""
    count = 1
    for axis in range(x.rank - 1, -1, -1):
        count *= x.shape[axis]
        if count == size:
            return axis
    raise EdgeKitError("E0401", f"a norm over {size} elements of {x.type}")
