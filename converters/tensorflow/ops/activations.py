"""Activation functions."""

from __future__ import annotations

from collections.abc import Callable

from edgekit.converters.semantics.compose import log_softmax as _log_softmax
from edgekit.converters.semantics.compose import softmax as _softmax
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.tensor import Tensor


def _function(apply: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def handler(x: Tensor) -> Tensor:
        return apply(x)

    return handler


Elu = _function(_onnx.Elu)
LogSoftmax = _function(lambda x: _log_softmax(x, -1))
Relu = _function(_onnx.Relu)
Relu6 = _function(lambda x: x.clip(0, 6))
Selu = _function(_onnx.Selu)
Sigmoid = _function(_onnx.Sigmoid)
Softmax = _function(lambda x: _softmax(x, -1))
Softplus = _function(_onnx.Softplus)
Softsign = _function(_onnx.Softsign)
Tanh = _function(_onnx.Tanh)


def LeakyRelu(x: Tensor, *, alpha: float = 0.2) -> Tensor:
    return _onnx.LeakyRelu(x, alpha=alpha)
