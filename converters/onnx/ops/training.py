"""Optimizers of the domain ai.onnx.preview.training: one step for any number of tensors."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Pow, Sqrt
from edgekit.core.ops.logic import Less

DOMAIN = "ai.onnx.preview.training"


def Momentum(
    rate: Tensor,
    count: Tensor,
    *rest: Tensor,
    alpha: float,
    beta: float,
    mode: str,
    norm_coefficient: float,
) -> tuple[Tensor, ...]:
    xs, gs, vs = _groups(rest, 3)
    started = _started(count)
    new_xs, new_vs = [], []
    for x, g, v in zip(xs, gs, vs, strict=True):
        slope = x * norm_coefficient + g
        v = v * alpha + where(started, x.like(beta), 1) * slope
        new_xs.append(x - rate * (slope + v * alpha if mode == "nesterov" else v))
        new_vs.append(v)
    return (*new_xs, *new_vs)


def Adagrad(
    rate: Tensor,
    count: Tensor,
    *rest: Tensor,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Tensor, ...]:
    xs, gs, hs = _groups(rest, 3)
    rate = rate / (cast(count, rate.dtype) * decay_factor + 1)
    new_xs, new_hs = [], []
    for x, g, h in zip(xs, gs, hs, strict=True):
        slope = x * norm_coefficient + g
        h = h + slope * slope
        new_xs.append(x - rate * slope / (h.apply(Sqrt()) + epsilon))
        new_hs.append(h)
    return (*new_xs, *new_hs)


def Adam(
    rate: Tensor,
    count: Tensor,
    *rest: Tensor,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Tensor, ...]:
    xs, gs, vs, hs = _groups(rest, 4)
    times = cast(count, rate.dtype)
    corrected = rate * (1 - rate.like(beta).apply(Pow(), times)).apply(Sqrt())
    corrected = corrected / (1 - rate.like(alpha).apply(Pow(), times))
    rate = where(_started(count), corrected, rate)
    new_xs, new_vs, new_hs = [], [], []
    for x, g, v, h in zip(xs, gs, vs, hs, strict=True):
        slope = x * norm_coefficient + g
        v = v * alpha + slope * (1 - alpha)
        h = h * beta + slope * slope * (1 - beta)
        x = x - rate * (v / (h.apply(Sqrt()) + epsilon))
        new_xs.append(x * (1 - norm_coefficient_post))
        new_vs.append(v)
        new_hs.append(h)
    return (*new_xs, *new_vs, *new_hs)


def _groups(tensors: Sequence[Tensor], kinds: int) -> list[Sequence[Tensor]]:
    """All parameters, then all gradients, then all of each accumulated quantity."""
    n = len(tensors) // kinds
    if n * kinds != len(tensors):
        raise EdgeKitError("E0401", f"{len(tensors)} tensors are no groups of {kinds}")
    return [tensors[i * n : (i + 1) * n] for i in range(kinds)]


def _started(count: Tensor) -> Tensor:
    """Was there a step before this one?"""
    return count.like(0).apply(Less(), count)
