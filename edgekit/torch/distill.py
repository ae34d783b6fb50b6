"""A float model as the teacher of a quantized one."""

from __future__ import annotations

import torch
from torch.nn import functional


def distillation(student: torch.Tensor, teacher: torch.Tensor, temperature: float = 2.0) -> torch.Tensor:
    """How far the student's answers are from the teacher's: the divergence of both, before a softmax, in the
    last dimension. It needs no labels; its gradients are of the size of those of a cross entropy."""
    wanted = functional.softmax(teacher.detach() / temperature, dim=-1).flatten(0, -2)
    found = functional.log_softmax(student / temperature, dim=-1).flatten(0, -2)
    return functional.kl_div(found, wanted, reduction="batchmean") * temperature**2
