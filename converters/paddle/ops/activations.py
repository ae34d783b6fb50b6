"""Activation functions."""

from __future__ import annotations

from edgekit.converters.paddle.arguments import Setting, number
from edgekit.converters.semantics.aten import activations as _torch
from edgekit.converters.semantics.compose import log_softmax as _log_softmax
from edgekit.converters.semantics.compose import softmax as _softmax
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def relu(x: Tensor) -> Tensor:
    return _onnx.Relu(x)


def relu6(x: Tensor, *, threshold: float = 6.0) -> Tensor:
    return x.clip(0, threshold)


def leaky_relu(x: Tensor, *, negative_slope: float = 0.02, alpha: float | None = None) -> Tensor:
    return _onnx.LeakyRelu(x, alpha=negative_slope if alpha is None else alpha)


def prelu(x: Tensor, alpha: Tensor, *, mode: str = "all", data_format: str = "NCHW") -> Tensor:
    """One slope for all, or one for each channel, or for each element of an image."""
    if mode == "all":
        return _onnx.PRelu(x, alpha.reshape())
    if mode == "element":
        return _onnx.PRelu(x, alpha.reshape(1, *x.shape[1:]))
    axis = x.rank - 1 if data_format.endswith("C") else 1
    return _onnx.PRelu(x, alpha.reshape(*(alpha.type.size if i == axis else 1 for i in range(x.rank))))


def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return _onnx.Elu(x, alpha=alpha)


def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return _onnx.Celu(x, alpha=alpha)


def selu(x: Tensor, *, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772) -> Tensor:
    return _onnx.Selu(x, alpha=alpha, gamma=scale)


def gelu(x: Tensor, *, approximate: bool = False) -> Tensor:
    return _onnx.Gelu(x, approximate="tanh" if approximate else "none")


def sigmoid(x: Tensor) -> Tensor:
    return _onnx.Sigmoid(x)


def logsigmoid(x: Tensor) -> Tensor:
    return _torch.log_sigmoid(x)


def silu(x: Tensor) -> Tensor:
    return _onnx.Swish(x)


def swish(x: Tensor, *, beta: float = 1.0) -> Tensor:
    return _onnx.Swish(x, alpha=beta)


def mish(x: Tensor, *, lambda_: float = 20.0, threshold: float = 20.0) -> Tensor:
    return _onnx.Mish(x)


def tanh(x: Tensor) -> Tensor:
    return _onnx.Tanh(x)


def tanh_shrink(x: Tensor) -> Tensor:
    return _torch.tanhshrink(x)


def stanh(x: Tensor, *, scale_a: float = 0.67, scale_b: float = 1.7159) -> Tensor:
    return _onnx.Tanh(x * scale_a) * scale_b


def hardsigmoid(x: Tensor, *, slope: float = 0.2, offset: float = 0.5) -> Tensor:
    return _onnx.HardSigmoid(x, alpha=slope, beta=offset)


def hard_sigmoid(x: Tensor, *, slope: float = 0.2, offset: float = 0.5) -> Tensor:
    return _onnx.HardSigmoid(x, alpha=slope, beta=offset)


def hardswish(x: Tensor) -> Tensor:
    return _onnx.HardSwish(x)


def hard_swish(x: Tensor, *, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0) -> Tensor:
    if (threshold, scale, offset) == (6, 6, 3):
        return _onnx.HardSwish(x)
    return x * (x + offset).clip(0, threshold) / scale


def hardtanh(x: Tensor, *, t_min: float = 0.0, t_max: float = 24.0) -> Tensor:
    return x.clip(t_min, t_max)


brelu = hardtanh


def hardshrink(x: Tensor, *, threshold: float = 0.5) -> Tensor:
    return _torch.hardshrink(x, lambd=threshold)


hard_shrink = hardshrink


def softshrink(x: Tensor, *, threshold: float = 0.5, lambda_: float | None = None) -> Tensor:
    return _torch.softshrink(x, lambd=threshold if lambda_ is None else lambda_)


def softplus(x: Tensor, *, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return _torch.softplus(x, beta=beta)


def softsign(x: Tensor) -> Tensor:
    return _onnx.Softsign(x)


def thresholded_relu(x: Tensor, *, threshold: float = 1.0, value: float = 0.0) -> Tensor:
    return _torch.threshold(x, threshold=threshold, value=value)


def softmax(x: Tensor, *, axis: int = -1, data_format: str = "AnyLayout") -> Tensor:
    return _softmax(x, axis)


def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return _log_softmax(x, axis)


def dropout(
    x: Tensor,
    seed_tensor: Tensor | None = None,
    p: Setting = 0.5,
    *,
    is_test: bool = False,
    mode: str = "",
    dropout_prob: Setting = None,
    dropout_implementation: str = "downgrade_in_infer",
    seed: Setting = 0,
    fix_seed: bool = False,
) -> Tensor:
    """Only one of the two ways to train leaves something to do afterwards."""
    if not is_test:
        hint = "call eval() of the layer before it is saved"
        raise EdgeKitError("E0205", "dropout in training mode is not supported", hint=hint)
    if (mode or dropout_implementation) == "upscale_in_train":
        return x
    return x * (1 - number(p if dropout_prob is None else dropout_prob, "the probability of dropout"))
