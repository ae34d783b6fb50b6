"""Where torch computes: graphs come from modules on the CPU, gradients are those of a GPU if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import chain

import numpy as np
import torch
from torch import nn

from edgekit.core.types import Array

Tensor = torch.Tensor
CPU = torch.device("cpu")


def device_of(model: nn.Module) -> torch.device:
    """Of the parameters of a module."""
    return next((tensor.device for tensor in _tensors(model)), CPU)


def training_device(model: nn.Module | None) -> torch.device:
    """Where a module is to be trained: where it is, or if that is the CPU, on a GPU that torch has."""
    device = CPU if model is None else device_of(model)
    has_gpu = device == CPU and torch.cuda.is_available()
    return torch.device("cuda") if has_gpu else device


def on_cpu(model: nn.Module) -> nn.Module:
    """A module on the CPU: itself if it is there, or a copy."""
    return model if all(tensor.device == CPU for tensor in _tensors(model)) else deepcopy(model).to(CPU)


def inputs_on_cpu(inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return tuple(x.to(CPU) for x in inputs)


def tensor(x: Array, like: Tensor) -> Tensor:
    """An array beside a tensor."""
    return torch.from_numpy(np.asarray(x)).to(like.device)


def _tensors(model: nn.Module) -> Iterator[Tensor]:
    return chain(model.parameters(), model.buffers())
