"""Normalizations, and what brings inputs into range."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from edgekit.converters.keras.ops.layers import _checked
from edgekit.converters.keras.weights import Weights
from edgekit.converters.semantics import compose
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import normalize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt
from edgekit.core.types import DType

Axes = int | tuple[int, ...]


def BatchNormalization(
    x: Tensor,
    *,
    weights: Weights,
    axis: Axes = -1,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    renorm: bool = False,
    fused: bool = True,
    mask: Tensor | None = None,
) -> Tensor:
    (at,) = _axes(x, axis)
    gamma, beta, mean, variance = _all_four(x, weights, scale, center, 2)
    cells = compose.rows(x, at)
    channels_first = cells.to_nchw() if x.rank > 2 else cells
    y = normalize.BatchNormalization(channels_first, gamma, beta, mean, variance, epsilon=epsilon)[0]
    return compose.unrows(y.to_nhwc() if x.rank > 2 else y, at)


def LayerNormalization(
    x: Tensor,
    *,
    weights: Weights,
    axis: Axes = -1,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    rms_scaling: bool = False,
) -> Tensor:
    axes = _axes(x, axis)
    if axes != list(range(x.rank - len(axes), x.rank)) or rms_scaling:
        raise EdgeKitError("E0203", "LayerNormalization is supported over the last dimensions")
    shape = x.shape[axes[0] :]
    gamma, beta = (w.reshape(*shape) for w in _all_four(x, weights, scale, center, 0, shape))
    return normalize.LayerNormalization(x, gamma, beta, axis=axes[0], epsilon=epsilon)[0]


def GroupNormalization(
    x: Tensor,
    *,
    weights: Weights,
    groups: int = 32,
    axis: int = -1,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
) -> Tensor:
    """Each group is a part of the channels; -1 stands for groups of one."""
    at = x.axis(axis)
    n = x.shape[at]
    count = n if groups == -1 else groups
    if count < 1 or n % count:
        raise EdgeKitError("E0401", f"{n} channels in {groups} groups")
    gamma, beta = _all_four(x, weights, scale, center, 0, (n,))
    cells = compose.rows(x, at)
    y = normalize.GroupNormalization(cells.to_nchw(), gamma, beta, num_groups=count, epsilon=epsilon)
    return compose.unrows(y.to_nhwc(), at)


def RMSNormalization(x: Tensor, *, weights: Weights, axis: Axes = -1, epsilon: float = 1e-6) -> Tensor:
    (at,) = _axes(x, axis)
    (scale,) = _checked(weights, 1)
    y = normalize.RMSNormalization(compose.rows(x, at), scale, axis=-1, epsilon=epsilon)
    return compose.unrows(y, at)


def LayerScale(x: Tensor, *, weights: Weights, init_values: float, projection_dim: int) -> Tensor:
    """A factor for each channel, as in keras.applications' ConvNeXt."""
    (scale,) = _checked(weights, 1)
    return x * scale


def UnitNormalization(x: Tensor, *, axis: Axes = -1) -> Tensor:
    square = compose.reduce(x * x, "sum", _axes(x, axis))
    return x / square.max(1e-12).apply(Sqrt())


def Rescaling(x: Tensor, *, scale: Any, offset: Any = 0.0) -> Tensor:
    wide = x if x.dtype.is_float else cast(x, DType.F32)
    return wide * wide.like(np.asarray(scale)) + wide.like(np.asarray(offset))


def Normalization(
    x: Tensor,
    *,
    weights: Weights,
    axis: Axes | None = -1,
    mean: Any = None,
    variance: Any = None,
    invert: bool = False,
) -> Tensor:
    """By a mean and a variance that are settings, or that were measured and are weights."""
    wide = x if x.dtype.is_float else cast(x, DType.F32)
    axes = [] if axis is None else _axes(x, axis)
    if mean is None:
        found = weights.tensors()
        if len(found) not in (2, 3):
            raise EdgeKitError("E0401", f"the file holds {len(found)} weights for it, not 3")
        centre, spread = (w.constant("a statistic") for w in found[:2])
    else:
        centre, spread = np.asarray(mean, np.float64), np.asarray(variance, np.float64)
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    sizes = (1, prod(shape))
    if centre.size not in sizes or spread.size not in sizes:
        message = f"statistics of {centre.size} and {spread.size} numbers do not fit {x.type}"
        raise EdgeKitError("E0401", message)
    centre = centre.reshape(shape if centre.size > 1 else [1] * x.rank)
    deviation = np.maximum(np.sqrt(spread), 1e-7).reshape(shape if spread.size > 1 else [1] * x.rank)
    if invert:
        return wide * wide.like(deviation) + wide.like(centre)
    return (wide - wide.like(centre)) / wide.like(deviation)


def _all_four(
    x: Tensor,
    weights: Weights,
    scale: bool,
    center: bool,
    statistics: int,
    shape: Sequence[int] = (),
) -> list[Tensor]:
    """Scale and offset, which may be left out, and the statistics behind them."""
    found = _checked(weights, scale + center + statistics)
    size = shape or found[-1].shape
    gamma = found.pop(0) if scale else x.like(np.ones(size))
    beta = found.pop(0) if center else x.like(np.zeros(size))
    return [gamma, beta, *found]


def _axes(x: Tensor, axis: Axes) -> list[int]:
    return sorted({x.axis(a) for a in ((axis,) if isinstance(axis, int) else axis)})
