"""Gradients that pruning follows in numpy are those of torch."""

import numpy as np
import pytest
import torch
from support.gradient_cases import CASES, operands

from edgekit.core.ops import Op
from edgekit.core.types import Array
from edgekit.quantize.gradients import gradients
from edgekit.torch.torch_ops import results_of


@pytest.mark.parametrize(("op", "shapes"), CASES, ids=lambda x: type(x).__name__ if isinstance(x, Op) else "")
def test_gradients_are_those_of_torch(op: Op, shapes: list[tuple[int, ...] | Array]) -> None:
    args = operands(shapes)
    tensors = [torch.from_numpy(x).requires_grad_(x.dtype.kind == "f") for x in args]
    (result,) = results_of(op, *tensors)
    wanted = np.random.default_rng(1).standard_normal(result.shape)
    result.backward(torch.from_numpy(wanted))
    for x, found in zip(tensors, gradients(op, args, result.detach().numpy(), wanted), strict=True):
        if x.grad is not None:
            np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-6, atol=1e-9)
