"""com.microsoft: layers with the activation behind them, as ONNX Runtime's optimizer writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgekit.converters.onnx.ops import contract, conv
from edgekit.converters.semantics.compose import matmul
from edgekit.converters.semantics.onnx import activations
from edgekit.converters.semantics.onnx.conv import Ints
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

DOMAIN = "com.microsoft"

# Each with the names of its parameters, in the order of activation_params.
_ACTIVATIONS: Mapping[str, tuple[Callable[..., Tensor], tuple[str, ...]]] = {
    "Relu": (activations.Relu, ()),
    "Sigmoid": (activations.Sigmoid, ()),
    "Tanh": (activations.Tanh, ()),
    "Softplus": (activations.Softplus, ()),
    "Softsign": (activations.Softsign, ()),
    "HardSwish": (activations.HardSwish, ()),
    "Elu": (activations.Elu, ("alpha",)),
    "LeakyRelu": (activations.LeakyRelu, ("alpha",)),
    "ThresholdedRelu": (activations.ThresholdedRelu, ("alpha",)),
    "HardSigmoid": (activations.HardSigmoid, ("alpha", "beta")),
    "Selu": (activations.Selu, ("alpha", "gamma")),
    "Clip": (lambda x, *, low, high: x.clip(low, high), ("low", "high")),
}


def FusedConv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    z: Tensor | None = None,
    *,
    activation: str = "",
    activation_params: tuple[float, ...] = (),
    auto_pad: str = "NOTSET",
    dilations: Ints = None,
    group: int = 1,
    kernel_shape: Ints = None,
    pads: Ints = None,
    strides: Ints = None,
) -> Tensor:
    """With a sum before the activation."""
    y = conv.Conv(
        x,
        w,
        b,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    _, names = _activation(activation)
    if len(activation_params) > len(names):
        message = f"{len(activation_params)} parameters of {activation or 'no activation'}"
        raise EdgeKitError("E0401", message)
    return _activated(
        y if z is None else y + z, activation, dict(zip(names, activation_params, strict=False))
    )


def FusedGemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    y = contract.Gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    given = {"alpha": activation_alpha, "beta": activation_beta, "gamma": activation_gamma}
    return _activated(y, activation, {name: value for name, value in given.items() if value is not None})


def FusedMatMul(
    a: Tensor,
    b: Tensor,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Tensor:
    """The first dimension of an operand whose batch is moved counts its rows."""
    y = matmul(_transposed(a, transA, transBatchA), _transposed(b, transB, transBatchB))
    return y if alpha == 1 else y * alpha


def _transposed(x: Tensor, rows: int, batch: int) -> Tensor:
    if x.rank < 2:
        return x
    order = [*range(x.rank)]
    if batch:
        order = [*order[1:-1], 0, order[-1]]
    if rows:
        order[-2:] = order[-1], order[-2]
    return x.transpose(*order)


def _activation(name: str) -> tuple[Callable[..., Tensor], tuple[str, ...]]:
    if name and name not in _ACTIVATIONS:
        raise EdgeKitError("E0203", f"activation {name:.60} is not supported")
    return _ACTIVATIONS.get(name, (lambda x: x, ()))


def _activated(x: Tensor, name: str, given: Mapping[str, float]) -> Tensor:
    function, names = _activation(name)
    if unknown := given.keys() - set(names):
        raise EdgeKitError("E0401", f"{name or 'no activation'} has no {min(unknown)}")
    return function(x, **given)
