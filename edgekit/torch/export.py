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
from edgekit.core.ir import Graph
from edgekit.torch.devices import on_cpu
from edgekit.torch.example_inputs import evaluating, example_tensors


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
        return torch.export.export(model, inputs)


def _is_prepared(model: torch.nn.Module) -> bool:
    """Does pt2e still watch the ranges of this model?"""
    return any(type(part).__module__.startswith("torchao.quantization.pt2e") for part in model.modules())
