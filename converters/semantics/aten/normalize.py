"""Normalizations over batches, layers, groups and rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.onnx import normalize as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Abs, Pow, Sqrt


def batch_norm(
    x: Tensor,
    *,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if training or running_mean is None or running_var is None:
        hint = "call model.eval() first; keep track_running_stats"
        raise EdgeKitError("E0205", "batch normalization in training mode is not supported", hint=hint)
    scale = running_mean.like(np.ones(running_mean.shape)) if weight is None else weight
    offset = running_mean.like(np.zeros(running_mean.shape)) if bias is None else bias
    return _onnx.BatchNormalization(x, scale, offset, running_mean, running_var, epsilon=eps)[0]


def instance_norm(
    x: Tensor,
    *,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    if not use_input_stats:
        return batch_norm(
            x, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var, eps=eps
        )
    scale, offset = _affine(x, weight, bias, (x.shape[1],))
    return _onnx.InstanceNormalization(x, scale, offset, epsilon=eps)


def layer_norm(
    x: Tensor,
    *,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    shape = tuple(normalized_shape)
    if not shape or x.shape[x.rank - len(shape) :] != shape:
        raise EdgeKitError("E0401", f"normalization over {list(shape)[:8]} of {x.type}")
    scale, offset = _affine(x, weight, bias, shape)
    return _onnx.LayerNormalization(x, scale, offset, axis=-len(shape), epsilon=eps)[0]


def rms_norm(
    x: Tensor,
    *,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    shape = tuple(normalized_shape)
    scale = x.like(np.ones(shape)) if weight is None else weight
    least = float(np.finfo(np.float32).eps) if eps is None else eps
    return _onnx.RMSNormalization(x, scale, axis=-len(shape), epsilon=least)


def group_norm(
    x: Tensor,
    *,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    if num_groups < 1 or x.rank < 2 or x.shape[1] % num_groups:
        raise EdgeKitError("E0401", f"{num_groups} groups of {x.type}")
    scale, offset = _affine(x, weight, bias, (x.shape[1],))
    return _onnx.GroupNormalization(x, scale, offset, num_groups=num_groups, epsilon=eps)


def linalg_vector_norm(
    x: Tensor, *, ord: Number = 2, dim: Sequence[int] | None = None, keepdim: bool = False
) -> Tensor:
    axes = [x.axis(d) for d in dim] if dim else list(range(x.rank))
    if ord == 2:
        return _reduce(x * x, "sum", axes, keepdim).apply(Sqrt())
    size = x.apply(Abs())
    if ord == 1:
        return _reduce(size, "sum", axes, keepdim)
    if ord in (inf, -inf):
        return _reduce(size, "max" if ord > 0 else "min", axes, keepdim)
    if ord == 0:
        raise EdgeKitError("E0205", "the norm of order 0 is not supported")
    return _reduce(size.apply(Pow(), ord), "sum", axes, keepdim).apply(Pow(), 1 / ord)


def _affine(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Scale and offset, 1 and 0 where there are none."""
    for given in (weight, bias):
        if given is not None and given.type.size != prod(shape):
            raise EdgeKitError("E0401", f"{given.type} beside a normalization over {list(shape)[:8]}")
    scale = x.like(np.ones(shape)) if weight is None else weight
    offset = x.like(np.zeros(shape)) if bias is None else bias
    return scale, offset
