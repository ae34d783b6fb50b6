"""Batch normalization behind a layer: with the statistics of each batch, or folded into the layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from edgekit.core.types import Array

Tensor = torch.Tensor
_MIN_ROWS = 32  # from which a variance is taken


class Norm(nn.Module):
    """Of values whose last dimension is channels."""

    running_mean: Tensor
    running_var: Tensor
    batches: Tensor

    def __init__(self, like: _BatchNorm) -> None:
        super().__init__()
        mean, var = like.running_mean, like.running_var
        assert mean is not None, "the graph has statistics"
        assert var is not None, "the graph has statistics"
        scale = like.weight.detach().clone() if like.affine else torch.ones_like(mean)
        shift = like.bias.detach().clone() if like.affine else torch.zeros_like(mean)
        self.scale = nn.Parameter(scale, requires_grad=like.affine)
        self.shift = nn.Parameter(shift, requires_grad=like.affine)
        self.eps, self.momentum = like.eps, like.momentum
        tracked = like.num_batches_tracked
        self.register_buffer("running_mean", mean.detach().clone())
        self.register_buffer("running_var", var.detach().clone())
        self.register_buffer("batches", torch.tensor(0) if tracked is None else tracked.detach().clone())

    def forward(self, z: Tensor) -> Tensor:
        """Normalized by the statistics of this batch, which the running ones learn of."""
        self.batches += 1
        momentum = 1.0 / float(self.batches) if self.momentum is None else self.momentum
        rows = z.reshape(-1, z.shape[-1])
        y = functional.batch_norm(
            rows, self.running_mean, self.running_var, self.scale, self.shift, True, momentum, self.eps
        )
        return y.reshape(z.shape)

    def factor(self) -> Tensor:
        """What the outputs of the layer are multiplied with."""
        return self.scale * torch.rsqrt(self.running_var + self.eps)

    def folded(self, w: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """Weights [outputs, ...] and bias of a layer that takes the normalization in."""
        factor = self.factor()
        return w * factor.reshape(-1, *[1] * (w.ndim - 1)), self.shift + (b - self.running_mean) * factor


@contextmanager
def taking_statistics(norms: Sequence[Norm]) -> Iterator[None]:
    """Running statistics become the means of those of the batches that pass within."""
    before = [(norm.momentum, norm.batches.clone()) for norm in norms]
    for norm in norms:
        norm.momentum = None
        norm.batches.zero_()
    yield
    for norm, (momentum, batches) in zip(norms, before, strict=True):
        norm.momentum = momentum
        norm.batches.copy_(batches)


def take_anew(model: nn.Module, samples: Iterable[tuple[Array, ...]]) -> None:
    """The statistics of what normalizations of a module see now, with scales and shifts by which they compute
    what they did: in training, which normalizes by batches, the module starts as what it is in evaluation."""
    probe = deepcopy(model).eval()
    seen = {name: _BatchMoments(norm) for name, norm in probe.named_modules() if isinstance(norm, _BatchNorm)}
    with torch.no_grad():
        for sample in samples:
            probe(*map(torch.as_tensor, sample))
        for name, found in seen.items():
            found.put(model.get_submodule(name))


class _BatchMoments:
    """What arrives at a batch normalization."""

    def __init__(self, norm: _BatchNorm) -> None:
        self.rows, self.sum, self.squares = 0, torch.zeros(()), torch.zeros(())
        norm.register_forward_pre_hook(lambda _, given: self.add(given[0]))

    def add(self, x: Tensor) -> None:
        rows = x.detach().double().movedim(1, -1).reshape(-1, x.shape[1])
        self.rows += len(rows)
        self.sum = self.sum + rows.sum(dim=0)
        self.squares = self.squares + rows.square().sum(dim=0)

    def put(self, norm: Any) -> None:
        if self.rows < _MIN_ROWS or not norm.affine or norm.running_mean is None:
            return
        mean = self.sum / self.rows
        var = (self.squares / self.rows - mean.square()).clamp(min=0)
        factor = norm.weight.double() * torch.rsqrt(norm.running_var.double() + norm.eps)
        norm.bias.add_((mean - norm.running_mean) * factor)
        norm.weight.copy_(factor * torch.sqrt(var + norm.eps))
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(var)
