"""Normalizations, softmax, and the ends of nets that were trained."""

from __future__ import annotations

from math import prod

import numpy as np

from edgekit.converters.semantics import compose
from edgekit.converters.semantics.onnx import activations, normalize
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Sqrt


def BatchNorm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    eps: float = 1e-3,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
) -> Tensor:
    """With `fix_gamma`, gamma is 1, whatever the file holds."""
    gamma = gamma.like(np.ones(gamma.shape)) if fix_gamma else gamma
    at = x.axis(axis)
    order = (0, at, *(i for i in range(1, x.rank) if i != at)) if at > 1 else tuple(range(x.rank))
    y = normalize.BatchNormalization(x.transpose(*order), gamma, beta, mean, variance, epsilon=eps)[0]
    return y.transpose(*np.argsort(order).tolist())


def LayerNorm(x: Tensor, gamma: Tensor, beta: Tensor, *, axis: int = -1, eps: float = 1e-5) -> Tensor:
    at = x.axis(axis)
    y = normalize.LayerNormalization(compose.rows(x, at), gamma, beta, axis=-1, epsilon=eps)[0]
    return compose.unrows(y, at)


def InstanceNorm(x: Tensor, gamma: Tensor, beta: Tensor, *, eps: float = 1e-3) -> Tensor:
    return normalize.InstanceNormalization(x, gamma, beta, epsilon=eps)


def GroupNorm(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    *,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> Tensor:
    """Scales are those of groups or of channels, by the version of MXNet."""
    opset = 21 if gamma.type.size == x.shape[1] else 18
    return normalize.GroupNormalization(x, gamma, beta, num_groups=num_groups, epsilon=eps, opset=opset)


def LRN(x: Tensor, *, nsize: int, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0) -> Tensor:
    if nsize % 2 == 0:
        raise EdgeKitError("E0203", f"LRN over {nsize} is not supported")
    return normalize.LRN(x, size=nsize, alpha=alpha, beta=beta, bias=knorm)


def L2Normalization(x: Tensor, *, eps: float = 1e-10, mode: str = "instance") -> Tensor:
    modes = {"instance": range(1, x.rank), "channel": (1,), "spatial": range(2, x.rank)}
    if mode not in modes:
        raise EdgeKitError("E0203", f"L2Normalization: mode {mode} is not supported")
    return x / (compose.reduce(x * x, "sum", modes[mode]) + eps).apply(Sqrt())


def softmax(
    x: Tensor, *, axis: int = -1, temperature: float = 1.0, use_length: bool = False, dtype: str = ""
) -> Tensor:
    _check_length(use_length)
    return compose.softmax(x if temperature == 1 else x / temperature, axis)


def log_softmax(
    x: Tensor, *, axis: int = -1, temperature: float = 1.0, use_length: bool = False, dtype: str = ""
) -> Tensor:
    _check_length(use_length)
    return compose.log_softmax(x if temperature == 1 else x / temperature, axis)


def SoftmaxActivation(x: Tensor, *, mode: str = "instance") -> Tensor:
    return compose.softmax(x, 1 if mode == "channel" else -1)


def SoftmaxOutput(x: Tensor, *, multi_output: bool = False, preserve_shape: bool = False) -> Tensor:
    """Over channels, over the last dimension, or over all that belongs to one of the batch."""
    if multi_output or preserve_shape:
        return compose.softmax(x, 1 if multi_output else -1)
    return compose.softmax(x.reshape(x.shape[0], prod(x.shape[1:])), 1).reshape(*x.shape)


Softmax = SoftmaxOutput  # of the first versions


def LogisticRegressionOutput(x: Tensor) -> Tensor:
    return activations.Sigmoid(x)


def LinearRegressionOutput(x: Tensor) -> Tensor:
    return x


MAERegressionOutput = LinearRegressionOutput
SVMOutput = LinearRegressionOutput


def MakeLoss(x: Tensor, *, valid_thresh: float = 0.0) -> Tensor:
    return x


def _check_length(use_length: bool) -> None:
    if use_length:
        raise EdgeKitError("E0203", "softmax of rows of different lengths is not supported")
