"""Poolings, reductions over dimensions, and normalizations."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.semantics.onnx.normalize import LRN
from edgekit.converters.tensor import Tensor, scalar
from edgekit.converters.tflite.layer import TfliteLayer, centred, labelled, raw, single
from edgekit.converters.tflite.ops.contract import same_pads
from edgekit.core import fixed
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.logic import Less
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.rank import TopK
from edgekit.core.ops.rescale import InverseSqrt, InverseSqrtExponent, Rescale
from edgekit.core.types import DType


def AVERAGE_POOL_2D(layer: TfliteLayer, x: Tensor) -> Tensor:
    pool, activation = _pool(layer, x, "mean"), layer.options.integer(5, "b")
    if x.type.quant is None or x.dtype is DType.S8:
        return layer.activated(layer.apply(pool, x), activation)
    sums = cast(raw(x), DType.S32).apply(replace(pool, kind="sum"))
    counts = pool.counts(x.shape[1], x.shape[2])[:, :, None]
    half = where(sums.like(0).apply(Less(), sums), sums.like(counts // 2), sums.like(-(counts // 2)))
    y = cast((sums + half) / sums.like(counts), x.dtype)  # halves away from zero
    return layer.activated(labelled(y, x.type.quant), activation)


def MAX_POOL_2D(layer: TfliteLayer, x: Tensor) -> Tensor:
    y = labelled(raw(x).apply(_pool(layer, x, "max")), x.type.quant)
    return layer.activated(y, layer.options.integer(5, "b"))


def L2_POOL_2D(layer: TfliteLayer, x: Tensor) -> Tensor:
    _floats("L2_POOL_2D", x)
    y = (x * x).apply(_pool(layer, x, "mean")).apply(Sqrt())
    return layer.activated(y, layer.options.integer(5, "b"))


def _pool(layer: TfliteLayer, x: Tensor, kind: str) -> Pool2d:
    o = layer.options
    size, strides = (o.integer(4), o.integer(3)), (o.integer(2), o.integer(1))
    if min(*size, *strides) < 1:
        raise EdgeKitError(
            "E0401", f"windows of {size[0]} x {size[1]} at strides of {strides[0]} and {strides[1]}"
        )
    pads = same_pads(x.shape[1:3], size, strides) if o.integer(0, "b") == 0 else (0, 0, 0, 0)
    return Pool2d(kind, size, strides, pads).fitted(*x.shape[1:3])


def _floats(kind: str, x: Tensor) -> None:
    if x.type.quant is not None:
        raise EdgeKitError("E0204", f"{kind} of quantized tensors is not supported")


def _axes(x: Tensor, axes: Tensor) -> tuple[int, ...]:
    return tuple(sorted({x.axis(a) for a in axes.ints("the axes of a reduction")}))


def _keeps(layer: TfliteLayer) -> bool:
    return bool(layer.options.integer(0, "b"))


def _sums(x: Tensor, along: tuple[int, ...], keeps: bool) -> Tensor:
    return compose.reduce(centred(x), "sum", along, keeps)


def MEAN(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    along = _axes(x, axes)
    if x.type.quant is None:
        return compose.reduce(x, "mean", along, _keeps(layer))
    count = prod(x.shape[a] for a in along)
    if count < 1:
        raise EdgeKitError("E0401", f"there is no mean of nothing in {x.type}")
    multiplier, exponent = (
        int(v) for v in fixed.quantize_multiplier(single(layer.quant_of(x)) / single(layer.out_quant))
    )
    # The division by the count goes into the multiplier, with as many bits more as there is room.
    more = min(count.bit_length() - 1, 32, 31 + exponent)
    multiplier, exponent = (multiplier << more) // count, exponent - more
    sums = _sums(x, along, _keeps(layer))
    y = sums.apply(Rescale(), sums.like(multiplier), sums.like(exponent))
    return layer.stored(y)


def SUM(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    along = _axes(x, axes)
    if x.type.quant is None:
        return compose.reduce(x, "sum", along, _keeps(layer))
    ratio = single(layer.quant_of(x)) / single(layer.out_quant)
    return layer.rescaled(_sums(x, along, _keeps(layer)), ratio)


def REDUCE_MAX(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    return compose.reduce(raw(x), "max", _axes(x, axes), _keeps(layer))


def REDUCE_MIN(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    return compose.reduce(raw(x), "min", _axes(x, axes), _keeps(layer))


def REDUCE_PROD(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    _floats("REDUCE_PROD", x)
    return compose.reduce(x, "prod", _axes(x, axes), _keeps(layer))


def REDUCE_ANY(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    return compose.reduce(x, "max", _axes(x, axes), _keeps(layer))


def REDUCE_ALL(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    return compose.reduce(x, "min", _axes(x, axes), _keeps(layer))


def CUMSUM(layer: TfliteLayer, x: Tensor, axis: Tensor) -> Tensor:
    _floats("CUMSUM", x)
    along = x.axis(int(scalar(axis, "the axis of CUMSUM")))
    exclusive, backwards = (bool(layer.options.integer(i, "b")) for i in (0, 1))
    return x.apply(Cumulative("sum", along, exclusive, backwards))


def TOPK_V2(layer: TfliteLayer, x: Tensor, count: Tensor) -> tuple[Tensor, ...]:
    best, at = raw(x).apply_all(TopK(x.axis(-1), int(scalar(count, "the k of TOPK_V2"))))
    return best, cast(at, layer.outs[1].dtype if len(layer.outs) > 1 else DType.S32)


def L2_NORMALIZATION(layer: TfliteLayer, x: Tensor) -> Tensor:
    if x.type.quant is not None:
        layer.quant_of(x)
        if (layer.out_quant.scale, layer.out_quant.zero) != ((1 / 128,), (0,)):
            raise EdgeKitError("E0401", "the result of L2_NORMALIZATION has scale 1/128 and zero point 0")
        d = centred(x)
        total = compose.reduce(d * d, "sum", [-1])
        multiplier, exponent = total.apply(InverseSqrt()), total.apply(InverseSqrtExponent())
        return layer.stored(d.apply(Rescale(), multiplier, exponent + 7))
    norm = compose.reduce(x * x, "sum", [-1]).apply(Sqrt())
    y = x / norm.max(np.float32(1e-6).item())
    return layer.activated(y, layer.options.integer(0, "b"))


def LOCAL_RESPONSE_NORMALIZATION(layer: TfliteLayer, x: Tensor) -> Tensor:
    _floats("LOCAL_RESPONSE_NORMALIZATION", x)
    radius = layer.options.integer(0)
    bias, alpha, beta = (layer.options.number(i, "f") for i in (1, 2, 3))
    size = 2 * radius + 1
    return LRN(x.to_nchw(), size=size, alpha=alpha * size, beta=beta, bias=bias).to_nhwc()
