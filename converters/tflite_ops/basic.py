"""Pooling, sums, reshapes, softmax: what the classic image and audio networks need besides convolutions."""

from __future__ import annotations

from edgekit.converters.from_tflite import Layer
from edgekit.converters.tensor import Tensor
from edgekit.converters.tflite_ops.contract import same_pads
from edgekit.errors import EdgeKitError
from edgekit.ops.arithmetic import Add
from edgekit.ops.pool2d import Pool2d
from edgekit.ops.softmax import Softmax


def ADD(layer: Layer, a: Tensor, b: Tensor) -> Tensor:
    return layer.activated(layer.apply(Add(), a, b), layer.options.integer(0, "b"))


def AVERAGE_POOL_2D(layer: Layer, x: Tensor) -> Tensor:
    return _pool(layer, x, "mean")


def MAX_POOL_2D(layer: Layer, x: Tensor) -> Tensor:
    return _pool(layer, x, "max")


def _pool(layer: Layer, x: Tensor, kind: str) -> Tensor:
    o = layer.options
    size = (o.integer(4, default=1), o.integer(3, default=1))
    strides = (o.integer(2, default=1), o.integer(1, default=1))
    pads = same_pads(x.shape[1:3], size, strides) if o.integer(0, "b") == 0 else (0, 0, 0, 0)
    y = layer.apply(Pool2d(kind, size, strides, pads), x)
    return layer.activated(y, o.integer(5, "b"))


def RESHAPE(layer: Layer, x: Tensor, shape: Tensor | None = None) -> Tensor:
    return x.reshape(*layer.outs[0].shape)


def SOFTMAX(layer: Layer, x: Tensor) -> Tensor:
    beta = layer.options.number(0, "f")
    if beta != 1:
        raise EdgeKitError("E0203", f"softmax with beta {beta} is not supported")
    return layer.apply(Softmax(), x)
