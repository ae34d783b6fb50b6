"""A torch model as a graph: exported by torch, read by EdgeKit."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from edgekit import api
from edgekit.ir import Graph


def convert(
    model: torch.nn.Module | torch.export.ExportedProgram,
    example_inputs: Sequence[torch.Tensor] = (),
    *,
    name: str = "",
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> Graph:
    """The simplified graph of a model, in evaluation mode, or of a program that is exported already (by
    torchao's pt2e, for one: its integers stay). `shapes` binds dynamic inputs."""
    program: Any = model
    if isinstance(model, torch.nn.Module):
        was_training = model.training
        model.eval()
        try:
            program = torch.export.export(model, tuple(example_inputs))
        finally:
            model.train(was_training)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        path = Path(folder) / f"{name or 'model'}.pt2"
        torch.export.save(program, path)
        return api.convert(path, name=name, shapes=shapes)
