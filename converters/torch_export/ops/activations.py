"""Activation functions, and layers that only training knows."""

from __future__ import annotations

from edgekit.converters.semantics.aten import activations as shared
from edgekit.converters.semantics.aten.activations import log_sigmoid
from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.compose import log_softmax as _log_softmax
from edgekit.converters.semantics.compose import safe_softmax as _safe_softmax
from edgekit.converters.semantics.compose import softmax as _softmax
from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def relu(x: Tensor) -> Tensor:
    return _onnx.Relu(x)


def hardtanh(x: Tensor, *, min_val: Number = -1, max_val: Number = 1) -> Tensor:
    return x.clip(min_val, max_val)


def leaky_relu(x: Tensor, *, negative_slope: Number = 0.01) -> Tensor:
    return _onnx.LeakyRelu(x, alpha=negative_slope)


def rrelu(x: Tensor, *, lower: Number = 0.125, upper: Number = 1 / 3, training: bool = False) -> Tensor:
    _no_training(training, "rrelu")
    return _onnx.LeakyRelu(x, alpha=(lower + upper) / 2)


def prelu_kernel(x: Tensor, *, weight: Tensor) -> Tensor:
    return _onnx.PRelu(x, weight)


def elu(x: Tensor, *, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Tensor:
    if input_scale == 1:
        y = _onnx.Elu(x, alpha=alpha)
        return y if scale == 1 else y * scale
    negative = _onnx.Elu((x * input_scale).min(0), alpha=alpha)
    return (x.max(0) + negative) * scale


def celu(x: Tensor, *, alpha: Number = 1.0) -> Tensor:
    return _onnx.Celu(x, alpha=alpha)


def selu(x: Tensor) -> Tensor:
    return _onnx.Selu(x)


def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return _onnx.Gelu(x, approximate=approximate)


def silu(x: Tensor) -> Tensor:
    return _onnx.Swish(x)


def mish(x: Tensor) -> Tensor:
    return _onnx.Mish(x)


def sigmoid(x: Tensor) -> Tensor:
    return _onnx.Sigmoid(x)


special_expit = sigmoid


def tanh(x: Tensor) -> Tensor:
    return _onnx.Tanh(x)


def hardswish(x: Tensor) -> Tensor:
    return _onnx.HardSwish(x)


def softplus(x: Tensor, *, beta: Number = 1, threshold: Number = 20) -> Tensor:
    return shared.softplus(x, beta=beta, threshold=threshold)


def softsign(x: Tensor) -> Tensor:
    return _onnx.Softsign(x)


log_sigmoid_forward = log_sigmoid  # without the second result, which only training reads


def hardshrink(x: Tensor, *, lambd: Number = 0.5) -> Tensor:
    return shared.hardshrink(x, lambd=lambd)


def softshrink(x: Tensor, *, lambd: Number = 0.5) -> Tensor:
    return shared.softshrink(x, lambd=lambd)


def glu(x: Tensor, *, dim: int = -1) -> Tensor:
    return shared.glu(x, dim=dim)


def softmax(x: Tensor, *, dim: int, dtype: DType | None = None, half_to_float: bool = False) -> Tensor:
    return _softmax(_wider(x, dtype, half_to_float), dim)


def log_softmax(x: Tensor, *, dim: int, dtype: DType | None = None, half_to_float: bool = False) -> Tensor:
    return _log_softmax(_wider(x, dtype, half_to_float), dim)


def safe_softmax(x: Tensor, *, dim: int, dtype: DType | None = None) -> Tensor:
    return _safe_softmax(_wider(x, dtype, False), dim)


def dropout(x: Tensor, *, p: float, train: bool = False) -> Tensor:
    _no_training(train, "dropout")
    return x


def feature_dropout(x: Tensor, *, p: float, train: bool = False) -> Tensor:
    return dropout(x, p=p, train=train)


def alpha_dropout(x: Tensor, *, p: float, train: bool = False) -> Tensor:
    return dropout(x, p=p, train=train)


def feature_alpha_dropout(x: Tensor, *, p: float, train: bool = False) -> Tensor:
    return dropout(x, p=p, train=train)


def native_dropout(x: Tensor, *, p: float, train: bool | None = False) -> tuple[Tensor, Tensor]:
    return _onnx.Dropout(dropout(x, p=p, train=bool(train)))


def _wider(x: Tensor, dtype: DType | None, half_to_float: bool) -> Tensor:
    return cast(x, DType.F32 if half_to_float else dtype or x.dtype)


def _no_training(training: bool, what: str) -> None:
    if training:
        raise EdgeKitError(
            "E0205", f"{what} in training mode is not supported", hint="call model.eval() first"
        )
