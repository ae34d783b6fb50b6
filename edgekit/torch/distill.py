"""A float model as the teacher of a quantized one."""

from __future__ import annotations

import math

import torch
from torch.nn import functional

from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError


@checked
def distillation(student: torch.Tensor, teacher: torch.Tensor, temperature: float = 2.0) -> torch.Tensor:
    """How far the student's answers are from the teacher's: the divergence of both, before a softmax, in the
    last dimension. It needs no labels; its gradients are of the size of those of a cross entropy."""
    if student.shape != teacher.shape or not all(
        x.ndim and x.is_floating_point() for x in (student, teacher)
    ):
        shown = " and ".join(f"{list(x.shape)} of {x.dtype}" for x in (student, teacher))
        hint = "both are floats of one shape, with classes in the last dimension"
        raise EdgeKitError("E0102", f"student and teacher are {shown}", hint=hint)
    if not 0 < temperature < math.inf:
        raise EdgeKitError("E0103", f"temperature is {temperature}", hint="it is above 0; 2 is usual")
    temperature = float(temperature)
    wanted, found = (x.reshape(-1, x.shape[-1]) / temperature for x in (teacher.detach(), student))
    loss = functional.kl_div(
        functional.log_softmax(found, -1), functional.softmax(wanted, -1), reduction="batchmean"
    )
    return loss * temperature**2
