"""Normalizations over batches, layers, groups and windows of channels."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics.compose import reduce, standardize, widened
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Pow, Sqrt
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.types import DType


def BatchNormalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
    outputs: int = 1,
) -> tuple[Tensor, ...]:
    if outputs > 1 and not training_mode:
        raise EdgeKitError("E0205", "BatchNormalization that trains is supported from opset 14 on")
    results: tuple[Tensor, ...] = ()
    if training_mode:
        axes = [i for i in range(x.rank) if i != 1]
        now = reduce(x, "mean", axes)
        d = x - now
        spread = cast(reduce(d * d, "mean", axes).reshape(*mean.shape), mean.dtype)
        now = cast(now.reshape(*mean.shape), mean.dtype)
        results = (mean * momentum + now * (1 - momentum), variance * momentum + spread * (1 - momentum))
        mean, variance = now, spread
    # Since opset 15 the parameters may be wider than x: what they make of it is rounded once.
    deviation = (variance + epsilon).apply(Sqrt())
    factor = cast(scale, mean.dtype) / deviation
    offset = cast(cast(bias, mean.dtype) - mean * factor, x.dtype)
    factor = cast(factor, x.dtype)
    if spatial:
        shape = (scale.type.size, *(1,) * (x.rank - 2)) if x.rank > 1 else ()
        factor, offset = factor.reshape(*shape), offset.reshape(*shape)
    return (x * factor + offset, *results)


def InstanceNormalization(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    y, _, _ = standardize(widened(x.to_nhwc()), range(1, x.rank - 1), epsilon)
    return (cast(y, x.dtype) * scale + bias).to_nchw()


def GroupNormalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    opset: int = 21,
) -> Tensor:
    batch, channels = x.shape[:2]
    cells = x.to_nhwc()
    groups = cells.reshape(batch, prod(x.shape[2:]), num_groups, channels // num_groups)
    y, _, _ = standardize(widened(groups) if stash_type == 1 else groups, [1, 3], epsilon)
    y = cast(y, x.dtype)
    if opset < 21:  # one scale a group
        y = y * scale.reshape(num_groups, 1) + bias.reshape(num_groups, 1)
        return y.reshape(*cells.shape).to_nchw()
    return (y.reshape(*cells.shape) * scale + bias).to_nchw()


def LayerNormalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    outputs: int = 1,
) -> tuple[Tensor, ...]:
    axis = x.axis(axis)
    size = prod(x.shape[axis:])
    fits = scale.shape == x.shape[axis:] and (bias is None or bias.shape == scale.shape)
    if outputs == 1 and fits and x.dtype in (DType.F32, DType.F64):
        offset = bias if bias is not None else x.like(np.zeros(scale.shape))
        y = x.reshape(*x.shape[:axis], size).apply(
            LayerNorm(epsilon), scale.reshape(size), offset.reshape(size)
        )
        return (y.reshape(*x.shape),)
    wide = widened(x) if stash_type == 1 else x
    y, mean, inverse = standardize(wide, range(axis, x.rank), epsilon)
    y = cast(y, x.dtype) * scale
    return (y if bias is None else y + bias, mean, inverse)[:outputs]


def RMSNormalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    axis = x.axis(axis)
    size = prod(x.shape[axis:])
    if scale.shape == x.shape[axis:] and x.dtype is scale.dtype and x.dtype in (DType.F32, DType.F64):
        y = x.reshape(*x.shape[:axis], size).apply(RmsNorm(epsilon), scale.reshape(size))
        return y.reshape(*x.shape)
    wide = widened(x) if stash_type == 1 else x
    square = reduce(wide * wide, "mean", range(axis, x.rank))
    return cast(wide / (square + epsilon).apply(Sqrt()), scale.dtype) * scale


def LRN(x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Tensor:
    batch, channels, *area = x.shape
    before = (size - 1) // 2
    # A window of channels is a window of rows, once the area is flat.
    squares = (x * x).reshape(batch, channels, 1, prod(area))
    pool = Pool2d("sum", (size, 1), pads=(before, 0, size - 1 - before, 0)).fitted(*squares.shape[1:3])
    total = squares.apply(pool).reshape(*x.shape)
    return x / (total * (alpha / size) + bias).apply(Pow(), beta)
