"""Activation functions, and layers that only training knows."""

from __future__ import annotations

from edgekit.converters.semantics.aten.type_promotion import Number
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.semantics.onnx import activations as _onnx
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.activations import Softplus
from edgekit.core.ops.logic import Less


def relu6(x: Tensor) -> Tensor:
    return x.clip(0, 6)


def prelu(x: Tensor, *, weight: Tensor) -> Tensor:
    if weight.type.size > 1 and weight.rank == 1 and x.rank > 1:  # one a channel
        weight = weight.reshape(*(weight.type.size if i == 1 else 1 for i in range(x.rank)))
    return _onnx.PRelu(x, weight if weight.type.size > 1 else weight.reshape())


def tanhshrink(x: Tensor) -> Tensor:
    return x - _onnx.Tanh(x)


def hardsigmoid(x: Tensor) -> Tensor:
    return _onnx.HardSigmoid(x, alpha=1 / 6, beta=0.5)


def softplus(x: Tensor, *, beta: Number = 1, threshold: Number = 20) -> Tensor:
    scaled = x if beta == 1 else x * beta
    y = scaled.apply(Softplus())
    return y if beta == 1 else y * (1 / beta)


def log_sigmoid(x: Tensor) -> Tensor:
    return -(-x).apply(Softplus())


def hardshrink(x: Tensor, *, lambd: Number = 0.5) -> Tensor:
    return _onnx.Shrink(x, bias=0.0, lambd=lambd)


def softshrink(x: Tensor, *, lambd: Number = 0.5) -> Tensor:
    return _onnx.Shrink(x, bias=lambd, lambd=lambd)


def threshold(x: Tensor, *, threshold: Number, value: Number) -> Tensor:
    return where(x.like(threshold).apply(Less(), x), x, value)


def glu(x: Tensor, *, dim: int = -1) -> Tensor:
    axis = x.axis(dim)
    half = x.shape[axis] // 2
    return part(x, axis, 0, half) * _onnx.Sigmoid(part(x, axis, half, half))
