"""Normalizations over batches, layers, groups and windows of channels."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from edgekit.converters.semantics.compose import log_softmax, reduce, softmax
from edgekit.converters.semantics.movement import where
from edgekit.converters.semantics.onnx import normalize as shared
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Abs, Sqrt
from edgekit.core.ops.logic import Equal


def Softmax(x: Tensor, *, axis: int | None = None, opset: int = 13) -> Tensor:
    return _rows(x, axis, opset, softmax)


def LogSoftmax(x: Tensor, *, axis: int | None = None, opset: int = 13) -> Tensor:
    return _rows(x, axis, opset, log_softmax)


def _rows(x: Tensor, axis: int | None, opset: int, apply: Callable[[Tensor, int], Tensor]) -> Tensor:
    """Before opset 13, all dimensions from `axis` on are one row."""
    if opset >= 13:
        return apply(x, -1 if axis is None else axis)
    axis = x.axis(1 if axis is None else axis)
    return apply(x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:])), 1).reshape(*x.shape)


def BatchNormalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
    spatial: int = 1,
    outputs: int = 1,
) -> tuple[Tensor, ...]:
    return shared.BatchNormalization(
        x,
        scale,
        bias,
        mean,
        variance,
        epsilon=epsilon,
        momentum=momentum,
        training_mode=training_mode,
        spatial=spatial,
        outputs=outputs,
    )


def InstanceNormalization(x: Tensor, scale: Tensor, bias: Tensor, *, epsilon: float = 1e-5) -> Tensor:
    return shared.InstanceNormalization(x, scale, bias, epsilon=epsilon)


def GroupNormalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor,
    *,
    num_groups: int,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    opset: int = 21,
) -> Tensor:
    return shared.GroupNormalization(
        x, scale, bias, num_groups=num_groups, epsilon=epsilon, stash_type=stash_type, opset=opset
    )


def LayerNormalization(
    x: Tensor,
    scale: Tensor,
    bias: Tensor | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    outputs: int = 1,
) -> tuple[Tensor, ...]:
    return shared.LayerNormalization(
        x, scale, bias, axis=axis, epsilon=epsilon, stash_type=stash_type, outputs=outputs
    )


def RMSNormalization(
    x: Tensor, scale: Tensor, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Tensor:
    return shared.RMSNormalization(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


def SimplifiedLayerNormalization(
    x: Tensor,
    scale: Tensor,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Tensor:
    """What ONNX Runtime's exporters wrote before ONNX had RMSNormalization, in its default domain."""
    return RMSNormalization(x, scale, axis=axis, epsilon=epsilon, stash_type=stash_type)


def MeanVarianceNormalization(x: Tensor, *, axes: tuple[int, ...] = (0, 2, 3)) -> Tensor:
    """The variance is the mean of what is left squared. The function in the specification subtracts squares,
    which leaves nothing but rounding errors, or less than zero, of values that hardly vary."""
    centered = x - reduce(x, "mean", axes)
    deviation = reduce(centered * centered, "mean", axes).apply(Sqrt())
    return centered / (deviation + 1e-9)


def LpNormalization(x: Tensor, *, axis: int = -1, p: int = 2) -> Tensor:
    if p not in (1, 2):
        raise EdgeKitError("E0205", f"LpNormalization with p {p}, which is neither 1 nor 2")
    size = reduce(x.apply(Abs()), "sum", [axis]) if p == 1 else reduce(x * x, "sum", [axis]).apply(Sqrt())
    nothing = size.apply(Equal(), 0)
    return x / where(nothing, size.like(1), size)


def LRN(x: Tensor, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Tensor:
    return shared.LRN(x, size=size, alpha=alpha, beta=beta, bias=bias)
