"""Activation functions, as layers and by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from edgekit.converters.keras.weights import Weights
from edgekit.converters.semantics import compose
from edgekit.converters.semantics.onnx import activations as onnx
from edgekit.converters.semantics.recurrent import Activation as _Gate
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Exp

# A function by its name, or as an object that says so.
Named = str | Mapping[str, Any]

_FUNCTIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda x: x,
    "relu": onnx.Relu,
    "relu6": lambda x: x.clip(0, 6),
    "leaky_relu": lambda x: onnx.LeakyRelu(x, alpha=0.2),
    "sigmoid": onnx.Sigmoid,
    "hard_sigmoid": lambda x: onnx.HardSigmoid(x, alpha=1 / 6, beta=0.5),
    "hard_sigmoid of Keras 2": onnx.HardSigmoid,
    "log_sigmoid": lambda x: -onnx.Softplus(-x),
    "tanh": onnx.Tanh,
    "hard_tanh": lambda x: x.clip(-1, 1),
    "tanh_shrink": lambda x: x - onnx.Tanh(x),
    "softmax": lambda x: compose.softmax(x, -1),
    "log_softmax": lambda x: compose.log_softmax(x, -1),
    "softplus": onnx.Softplus,
    "softsign": onnx.Softsign,
    "soft_shrink": lambda x: onnx.Shrink(x, bias=0.5, lambd=0.5),
    "hard_shrink": lambda x: onnx.Shrink(x, bias=0.0, lambd=0.5),
    "elu": onnx.Elu,
    "celu": onnx.Celu,
    "selu": onnx.Selu,
    "gelu": onnx.Gelu,
    "silu": onnx.Swish,
    "swish": onnx.Swish,
    "hard_silu": onnx.HardSwish,
    "hard_swish": onnx.HardSwish,
    "mish": onnx.Mish,
    "exponential": lambda x: x.apply(Exp()),
}


def Activation(x: Tensor, *, activation: Named) -> Tensor:
    return _activated(x, activation)


def ReLU(x: Tensor, *, max_value: float = inf, negative_slope: float = 0.0, threshold: float = 0.0) -> Tensor:
    """max_value from there on, x from the threshold on, and below it a line with that slope."""
    if threshold == 0:
        if negative_slope == 0:
            return x.clip(0, max_value)
        y = onnx.LeakyRelu(x, alpha=negative_slope)
        return y if max_value == inf else y.min(max_value)
    if negative_slope:
        raise EdgeKitError("E0203", "ReLU with a threshold and a slope below it is not supported")
    y = onnx.ThresholdedRelu(x, alpha=threshold)
    return y if max_value == inf else y.min(max_value)


def LeakyReLU(x: Tensor, *, negative_slope: float | None = None, alpha: float = 0.3) -> Tensor:
    """Older files call the slope alpha."""
    return onnx.LeakyRelu(x, alpha=alpha if negative_slope is None else negative_slope)


def PReLU(x: Tensor, *, weights: Weights, shared_axes: int | tuple[int, ...] = ()) -> Tensor:
    (slope,) = weights.tensors()
    return onnx.PRelu(x, slope)


def ELU(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return onnx.Elu(x, alpha=alpha)


def ThresholdedReLU(x: Tensor, *, theta: float = 1.0) -> Tensor:
    return onnx.ThresholdedRelu(x, alpha=theta)


def Softmax(x: Tensor, *, axis: int | tuple[int, ...] = -1) -> Tensor:
    axes = (axis,) if isinstance(axis, int) else axis
    if len(axes) != 1:
        raise EdgeKitError("E0203", "Softmax over several dimensions at once is not supported")
    return compose.softmax(x, axes[0])


def _activated(x: Tensor, activation: Named) -> Tensor:
    return _function(activation)(x)


def _gate(activation: Named) -> _Gate:
    """A function of the gates of a recurrent layer."""
    return _Gate(_name(activation), _function(activation))


def _function(activation: Named) -> Callable[[Tensor], Tensor]:
    name = _name(activation)
    if name not in _FUNCTIONS:
        raise EdgeKitError("E0203", f"activation {name} is not supported")
    return _FUNCTIONS[name]


def _name(activation: Named) -> str:
    name = activation if isinstance(activation, str) else activation.get("config")
    if not isinstance(name, str):
        raise EdgeKitError("E0203", "an activation that is a layer is not supported", hint="make it a layer")
    return name
