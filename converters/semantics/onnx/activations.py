"""Activation functions: one core operator where that gives better C, a composition where it is as good."""

from __future__ import annotations

from math import inf

import numpy as np

from edgekit.converters.semantics.movement import where
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import activations
from edgekit.core.ops.arithmetic import Abs
from edgekit.core.ops.logic import Less


def Relu(x: Tensor) -> Tensor:
    return x.clip(0, inf) if x.dtype.is_float else x.max(0)


def LeakyRelu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return x.apply(activations.PRelu(), alpha)


def PRelu(x: Tensor, slope: Tensor) -> Tensor:
    if np.broadcast_shapes(x.shape, slope.shape) != x.shape:
        raise EdgeKitError("E0401", f"the slope {slope.type} does not broadcast to {x.type}")
    return x.apply(activations.PRelu(), slope)


def ThresholdedRelu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return where(x.like(alpha).apply(Less(), x), x, 0)


def Sigmoid(x: Tensor) -> Tensor:
    return x.apply(activations.Sigmoid())


def HardSigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return x.apply(activations.HardSigmoid(), alpha, beta)


def HardSwish(x: Tensor) -> Tensor:
    return x.apply(activations.HardSwish())


def Swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return x.apply(activations.Swish(), alpha)


def Tanh(x: Tensor) -> Tensor:
    return x.apply(activations.Tanh())


def Gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return x.apply(activations.GeluTanh() if approximate == "tanh" else activations.Gelu())


def Elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return x.apply(activations.Elu(), alpha, 1)


def Celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return x.apply(activations.Elu(), alpha, 1 / alpha)


def Selu(x: Tensor, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Tensor:
    return x.apply(activations.Elu(), alpha, 1) * gamma


def Softplus(x: Tensor) -> Tensor:
    return x.apply(activations.Softplus())


def Softsign(x: Tensor) -> Tensor:
    return x / (x.apply(Abs()) + 1)


def Mish(x: Tensor) -> Tensor:
    return x.apply(activations.Mish())


def Shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    if not x.dtype.is_float and (bias != int(bias) or lambd != int(lambd)):
        raise EdgeKitError("E0205", f"Shrink of {x.dtype.value} by fractions is not supported")
    above = where(x.like(lambd).apply(Less(), x), x - bias, 0)
    return where(x.apply(Less(), -lambd), x + bias, above)


def Dropout(
    x: Tensor,
    rate: Tensor | None = None,
    training_mode: Tensor | None = None,
    *,
    ratio: float = 0.5,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    training = training_mode is not None and bool(scalar(training_mode, "the mode of Dropout"))
    if training and (ratio if rate is None else scalar(rate, "the ratio of Dropout")):
        raise EdgeKitError(
            "E0205", "Dropout in training mode is not supported", hint="export in inference mode"
        )
    return x, x.new(np.ones(x.shape, np.bool_), "mask")
