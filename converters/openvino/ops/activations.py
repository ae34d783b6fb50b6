"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.semantics.compose import log_softmax as _log_softmax
from edgekit.converters.semantics.compose import softmax as _softmax
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.converters.tensor import scalar as _scalar
from edgekit.core.errors import EdgeKitError


def _function(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def handler(x: Tensor) -> Tensor:
        return apply(x)

    return handler


ReLU, Sigmoid, Tanh = map(_function, (_onnx.Relu, _onnx.Sigmoid, _onnx.Tanh))
HSwish, Mish = map(_function, (_onnx.HardSwish, _onnx.Mish))
SoftPlus, SoftSign = map(_function, (_onnx.Softplus, _onnx.Softsign))


def PReLU(x: Tensor, slope: Tensor) -> Tensor:
    """Slopes of one dimension are those of channels."""
    if slope.rank == 1 and slope.type.size > 1 and x.rank > 1:
        slope = slope.reshape(slope.type.size, *(1,) * (x.rank - 2))
    return _onnx.PRelu(x, slope)


def Elu(x: Tensor, *, alpha: float) -> Tensor:
    return _onnx.Elu(x, alpha=alpha)


def Selu(x: Tensor, alpha: Tensor, scale: Tensor) -> Tensor:
    a, s = float(_scalar(alpha, "the alpha of Selu")), float(_scalar(scale, "the lambda of Selu"))
    return _onnx.Selu(x, alpha=a, gamma=s)


def Gelu(x: Tensor, *, approximation_mode: str = "ERF") -> Tensor:
    kind = approximation_mode.lower()
    if kind not in ("erf", "tanh"):
        raise EdgeKitError("E0203", f"Gelu by {approximation_mode[:20]} is not supported")
    return _onnx.Gelu(x, approximate="tanh" if kind == "tanh" else "none")


def HSigmoid(x: Tensor) -> Tensor:
    return _onnx.HardSigmoid(x, alpha=1 / 6, beta=0.5)


def HardSigmoid(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    a, b = float(_scalar(alpha, "the alpha of HardSigmoid")), float(_scalar(beta, "the beta of HardSigmoid"))
    return _onnx.HardSigmoid(x, alpha=a, beta=b)


def Swish(x: Tensor, beta: Tensor | None = None) -> Tensor:
    if beta is not None and beta.data is None:
        return x * _onnx.Sigmoid(x * beta)
    return _onnx.Swish(x, alpha=1.0 if beta is None else float(_scalar(beta, "the beta of Swish")))


def SoftMax(x: Tensor, *, axis: int = 1) -> Tensor:
    return _softmax(x, axis)


def LogSoftmax(x: Tensor, *, axis: int = 1) -> Tensor:
    return _log_softmax(x, axis)
