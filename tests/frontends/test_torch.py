"""PyTorch exports compute what torch computes: every operator, before and after its decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tools import require_module

from edgekit import simulate
from edgekit.converters.from_pt2 import convert
from edgekit.ir import Array, Graph
from edgekit.passes import verify
from edgekit.passes.simplify import simplify

pytestmark = pytest.mark.xdist_group("torch")
FAMILIES = (
    *("arithmetic", "logic", "activations", "layers", "lines", "moves", "reductions", "products"),
    "sequences",
)


@pytest.fixture(scope="module")
def torch() -> Any:
    return require_module("torch")


def exported(
    torch: Any, module: Any, inputs: Sequence[Any], path: Path, core: bool = False, **how: Any
) -> Path:
    """Save a module as torch.export does; `core` are the operators that all others are made of."""
    with torch.no_grad():
        program = torch.export.export(module, tuple(inputs), **how)
        torch.export.save(program.run_decompositions() if core else program, path)
    return path


def simulated(graph: Graph, inputs: Sequence[Any]) -> list[Array]:
    return list(
        simulate.run(graph, {n: x.numpy() for n, x in zip(graph.inputs, inputs, strict=True)}).values()
    )


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
@pytest.mark.parametrize("name", FAMILIES)
def test_operators_compute_what_torch_computes(name: str, core: bool, torch: Any, tmp_path: Path) -> None:
    from support.torch_cases import FAMILIES as CASES
    from support.torch_cases import flat

    family = CASES[name]
    graph = convert(exported(torch, family.module(), family.inputs, tmp_path / "net.pt2", core))
    simple = simplify(graph)
    verify(simple)
    found = simulated(simple, family.inputs)
    faults = []
    for what, function in family.functions.items():
        with torch.no_grad():
            right = [y.numpy() for y in flat(function(*family.inputs))]
        for y, mine in zip(right, found[: len(right)], strict=True):
            del found[0]
            same = mine.dtype == y.dtype and mine.shape == y.shape
            if not (same and np.allclose(mine, y, rtol=1e-4, atol=1e-5)):
                faults.append(f"{what}: {mine.dtype}{mine.shape} for {y.dtype}{y.shape}\n{mine}\n{y}")
    assert not faults, "\n".join(faults)
