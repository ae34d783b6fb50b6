"""Activation functions: one core operator where that gives better C, a composition where it is as good."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import activations as shared
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.logic import Equal
from edgekit.core.ops.rank import ArgExtreme


def LeakyRelu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return shared.LeakyRelu(x, alpha=alpha)


def ThresholdedRelu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return shared.ThresholdedRelu(x, alpha=alpha)


def HardSigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return shared.HardSigmoid(x, alpha=alpha, beta=beta)


def Swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return shared.Swish(x, alpha=alpha)


def SwiGLU(gate: Tensor, value: Tensor, *, alpha: float = 1.0) -> Tensor:
    return Swish(gate, alpha=alpha) * value


def Gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return shared.Gelu(x, approximate=approximate)


def Elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return shared.Elu(x, alpha=alpha)


def Celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return shared.Celu(x, alpha=alpha)


def Selu(x: Tensor, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Tensor:
    return shared.Selu(x, alpha=alpha, gamma=gamma)


def Shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    return shared.Shrink(x, bias=bias, lambd=lambd)


def Hardmax(x: Tensor, *, axis: int | None = None, opset: int) -> Tensor:
    if opset < 13:  # rows are what comes before the axis, flattened; columns the rest
        axis = x.rank + axis if axis is not None and axis < 0 else 1 if axis is None else axis
        rows = int(np.prod(x.shape[:axis], dtype=np.int64))
        return _hardmax(x.reshape(rows, x.type.size // rows if rows else 0), 1).reshape(*x.shape)
    return _hardmax(x, x.axis(-1 if axis is None else axis))


def _hardmax(x: Tensor, axis: int) -> Tensor:
    best = x.apply(ArgExtreme(axis))
    cells = best.like(np.arange(x.shape[axis]).reshape([-1 if i == axis else 1 for i in range(x.rank)]))
    return cast(best.apply(Equal(), cells), x.dtype)


def Dropout(
    x: Tensor,
    rate: Tensor | None = None,
    training_mode: Tensor | None = None,
    *,
    ratio: float = 0.5,
    seed: int = 0,
) -> tuple[Tensor, Tensor]:
    return shared.Dropout(x, rate, training_mode, ratio=ratio, seed=seed)
