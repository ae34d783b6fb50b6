"""Values from the simulator, gradients from floats: straight through, and for the ranges, too."""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor
_STEPS = 127.0  # of half a range: ranges learn as slowly as weights by that (LSQ)


class FakeQuant(torch.autograd.Function):
    """Takes real values y, what the device makes of them, and the limits of the range. Gradients pass where y
    is within it; outside they move the limits, and inside the limits learn from the rounding."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, exact: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
        ctx.save_for_backward(y, exact, lo, hi)
        return exact.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        y, exact, lo, hi = ctx.saved_tensors
        below, above = y < lo, y > hi
        inside = ~(below | above)
        width = (hi - lo).clamp(min=1e-12)
        rounding = torch.where(inside, (exact - y) / width, torch.zeros_like(y)) * g
        pace = 1.0 / (y.numel() * _STEPS / max(lo.numel(), 1)) ** 0.5
        high = _like(rounding + torch.where(above, g, torch.zeros_like(g)), hi) * pace
        low = _like(torch.where(below, g, torch.zeros_like(g)) - rounding, lo) * pace
        return g * inside, None, low, high


def _like(x: Tensor, limit: Tensor) -> Tensor:
    """The sum over all that shares a limit."""
    return x.sum() if limit.ndim == 0 else x.flatten(1).sum(dim=1).reshape(limit.shape)


class Exact(torch.autograd.Function):
    """Takes real values, and what the device makes of them; gradients pass."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, exact: Tensor) -> Tensor:
        return exact.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return grads[0], None


def apply_fake_quant(y: Tensor, exact: Tensor, lo: Tensor, hi: Tensor) -> Tensor:
    """What the device makes of y, with the gradients of `FakeQuant`."""
    result: Tensor = FakeQuant.apply(y, exact, lo, hi)  # type: ignore[no-untyped-call]  # torch's
    return result


def apply_exact(y: Tensor, exact: Tensor) -> Tensor:
    """What the device makes of y, with the gradients of y."""
    result: Tensor = Exact.apply(y, exact)  # type: ignore[no-untyped-call]  # torch's
    return result
