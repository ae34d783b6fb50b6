"""A torch model as a graph: exported by torch, read by EdgeKit."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader

from edgekit import api
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.torch.devices import on_cpu
from edgekit.torch.example_inputs import evaluating, example_tensors


@checked
def convert(
    model: torch.nn.Module | torch.export.ExportedProgram,
    example_inputs: Sequence[torch.Tensor] | torch.Tensor = (),
    *,
    name: str = "",
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """The simplified graph of a model, in evaluation mode, or of a program that is exported already. Models
    of torchao's pt2e keep their integers, be they converted or only prepared. `shapes` binds dynamic
    inputs."""
    program = exported(model, example_inputs) if isinstance(model, torch.nn.Module) else model
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        path = Path(folder) / f"{name or 'model'}.pt2"
        torch.export.save(program, path)
        return api.convert(path, name=name, shapes=shapes)


def exported(
    model: torch.nn.Module, example_inputs: Sequence[torch.Tensor] | torch.Tensor | DataLoader[Any]
) -> torch.export.ExportedProgram:
    """The program of a model in evaluation mode; the model is left in the mode that it is in."""
    inputs = example_tensors(example_inputs)
    if _is_prepared(model):
        pt2e = import_module("torchao.quantization.pt2e.quantize_pt2e")
        model = pt2e.convert_pt2e(deepcopy(model))
    model = on_cpu(model)
    with evaluating(model):
        try:
            return torch.export.export(model, inputs)
        except Exception as fault:  # forward() is the user's code, and torch.export passes on what it raises
            raise _refusal(model, inputs) from fault  # which says more of the reason


def _refusal(model: torch.nn.Module, inputs: Sequence[torch.Tensor]) -> EdgeKitError:
    """A module was not exported: does it not run, or does torch.export not follow what it does?"""
    what, shapes = type(model).__name__, ", ".join(str(list(x.shape)) for x in inputs)
    try:
        model(*inputs)
    except Exception:  # forward() may raise any exception
        hint = "a batch that it takes: one tensor, or a tuple of them in order"
        return EdgeKitError("E0102", f"{what} does not run with example_inputs {shapes or '()'}", hint=hint)
    hint = "torch.export.export(model, inputs) says where; no branch in forward() may depend on numbers"
    return EdgeKitError("E0205", f"torch.export refuses {what}", hint=hint)


def _is_prepared(model: torch.nn.Module) -> bool:
    """Does pt2e still watch the ranges of this model?"""
    return any(type(part).__module__.startswith("torchao.quantization.pt2e") for part in model.modules())
