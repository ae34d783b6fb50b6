"""The activation that a layer of ncnn may end with."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.semantics.onnx import activations
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def activated(x: Tensor, kind: int, numbers: Sequence[float]) -> Tensor:
    """The activation of that kind, with its parameters, of x."""
    match kind, list(numbers):
        case 0, _:
            return x
        case 1, _:
            return activations.Relu(x)
        case 2, [slope]:
            return activations.LeakyRelu(x, alpha=slope)
        case 3, [low, high]:
            return x.clip(low, high)
        case 4, _:
            return activations.Sigmoid(x)
        case 5, _:
            return activations.Mish(x)
        case 6, [alpha, beta]:
            return x * activations.HardSigmoid(x, alpha=alpha, beta=beta)
    raise EdgeKitError("E0203", f"activation {kind} with {list(numbers)[:4]} is not supported")
