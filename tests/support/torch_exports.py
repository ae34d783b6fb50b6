"""Exports of torch modules, converted and compared with what torch computes; needs torch when used."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support import object_cache
from support.tools import require_module

from edgekit.converters.torch_export.reader import convert
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array


def exported(module: Any, inputs: Sequence[Any], path: Path, core: bool = False, **how: Any) -> Path:
    """Save a module as torch.export does; `core` are the operators that all others are made of."""
    torch = require_module("torch")
    with torch.no_grad():
        program = torch.export.export(module, tuple(inputs), **how)
        torch.export.save(program.run_decompositions() if core else program, path)
    return path


def kept(name: str, module: Any, inputs: Sequence[Any], folder: Path, core: bool = False) -> Path:
    """The same, once for all runs: of a module that support/ defines under this name, with seeded weights."""
    sources = [*Path(__file__).parent.glob("torch_*.py"), Path(__file__).with_name("networks.py")]
    path = (object_cache.exports(sorted(sources)) or folder) / f"{name}{'-core' * core}.pt2"
    if not path.exists():
        exported(module, inputs, folder / path.name, core)
        new = path.with_suffix(f".{os.getpid()}")  # other processes see a file whole or not
        shutil.copyfile(folder / path.name, new)
        os.replace(new, path)
    return path


def simulated(graph: Graph, inputs: Sequence[Any]) -> list[Array]:
    return list(
        simulate.run(graph, {n: x.numpy() for n, x in zip(graph.inputs, inputs, strict=True)}).values()
    )


def check(module: Any, inputs: Sequence[Any], path: Path, atol: float = 1e-5, **how: Any) -> Graph:
    """Export, convert and compare with what torch computes; gives the simplified graph."""
    graph = simplify(convert(exported(module, inputs, path, **how)))
    verify(graph)
    with require_module("torch").no_grad():
        right = module(*inputs)
    right = right if isinstance(right, tuple) else (right,)
    for mine, y in zip(simulated(graph, inputs), right, strict=True):
        np.testing.assert_allclose(mine, y.numpy(), rtol=1e-4, atol=atol)
    return graph
