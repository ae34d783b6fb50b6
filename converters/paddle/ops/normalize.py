"""Normalizations over batches, layers, groups, channels and rows."""

from __future__ import annotations

import numpy as np

from edgekit.converters.paddle.arguments import Setting, as_came, channels_first, ints
from edgekit.converters.semantics.aten import normalize as _torch
from edgekit.converters.semantics.compose import reduce as _reduce
from edgekit.converters.semantics.onnx import normalize as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt as _Sqrt


def batch_norm(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    data_format: str = "",
    data_layout: str = "NCHW",
    use_global_stats: bool = False,
    trainable_statistics: bool = False,
) -> Tensor:
    """Without what only training reads; so are those below."""
    if not (is_test or use_global_stats) or trainable_statistics:
        hint = "call eval() of the layer before it is saved"
        raise EdgeKitError("E0205", "batch normalization in training mode is not supported", hint=hint)
    images, last = channels_first(x, data_format or data_layout) if x.rank > 2 else (x, False)
    y = _torch.batch_norm(
        images, weight=scale, bias=bias, running_mean=mean, running_var=variance, eps=epsilon
    )
    return as_came(y, last)


sync_batch_norm = batch_norm


def layer_norm(
    x: Tensor,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-5,
    begin_norm_axis: int = 1,
) -> Tensor:
    shape = x.shape[x.axis(begin_norm_axis) :]
    factor, offset = (None if p is None else p.reshape(*shape) for p in (scale, bias))
    return _torch.layer_norm(x, normalized_shape=shape, weight=factor, bias=offset, eps=epsilon)


def group_norm(
    x: Tensor,
    scale: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    epsilon: float = 1e-5,
    groups: int,
    data_format: str = "",
    data_layout: str = "NCHW",
) -> Tensor:
    images, last = channels_first(x, data_format or data_layout)
    y = _torch.group_norm(images, num_groups=groups, weight=scale, bias=bias, eps=epsilon)
    return as_came(y, last)


def instance_norm(
    x: Tensor, scale: Tensor | None = None, bias: Tensor | None = None, *, epsilon: float = 1e-5
) -> Tensor:
    return _torch.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def p_norm(
    x: Tensor,
    *,
    porder: float = 2.0,
    axis: int = -1,
    epsilon: float = 1e-12,
    keepdim: bool = False,
    asvector: bool = False,
) -> Tensor:
    return _torch.linalg_vector_norm(x, ord=porder, dim=None if asvector else [axis], keepdim=keepdim)


def frobenius_norm(
    x: Tensor,
    axis: Setting = None,
    *,
    dim: Setting = (0,),
    keepdim: bool = False,
    keep_dim: bool = False,
    reduce_all: bool = False,
    in_dtype: None = None,
    out_dtype: None = None,
) -> Tensor:
    """Older programs have `dim` and `keep_dim`."""
    axes = [] if reduce_all else ints(dim if axis is None else axis, "the dimensions of a norm")
    return _torch.linalg_vector_norm(x, dim=axes, keepdim=keepdim or keep_dim)


def norm(x: Tensor, *, axis: int = -1, epsilon: float = 1e-10) -> Tensor:
    """x of length 1 along an axis."""
    return x / (_reduce(x * x, "sum", [axis]) + epsilon).apply(_Sqrt())


def lrn(
    x: Tensor,
    *,
    n: int = 5,
    k: float = 2.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    data_format: str = "NCHW",
) -> Tensor:
    """Paddle multiplies the sum by alpha as it is, ONNX divides it by the count first."""
    images, last = channels_first(x, data_format)
    return as_came(_onnx.LRN(images, size=n, alpha=alpha * n, beta=beta, bias=k), last)


def affine_channel(x: Tensor, scale: Tensor, bias: Tensor, *, data_layout: str = "AnyLayout") -> Tensor:
    axis = x.rank - 1 if data_layout == "NHWC" else 1
    shape = [x.shape[axis] if i == axis else 1 for i in range(x.rank)]
    return x * scale.reshape(*shape) + bias.reshape(*shape)


def rms_norm(
    x: Tensor,
    scale: Tensor | None = None,
    *,
    normalized_shape: Setting = None,
    epsilon: float = 1e-5,
) -> Tensor:
    shape = tuple(ints(normalized_shape, "the shape of a norm")) or x.shape[-1:]
    factor = x.like(np.ones(shape)) if scale is None else scale.reshape(*shape)
    return _torch.rms_norm(x, normalized_shape=shape, weight=factor, eps=epsilon)
