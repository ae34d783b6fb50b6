"""PyTorch exports compute what torch computes: every operator, before and after its decompositions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tools import require_module
from support.torch_exports import exported, simulated

from edgekit import simulate
from edgekit.converters.from_pt2 import convert
from edgekit.passes import verify
from edgekit.passes.simplify import simplify

FAMILIES = (
    *("arithmetic", "logic", "activations", "layers", "lines", "moves", "reductions", "products"),
    "sequences",
)


@pytest.fixture(scope="module")
def torch() -> Any:
    return require_module("torch")


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
@pytest.mark.parametrize("name", FAMILIES)
def test_operators_compute_what_torch_computes(name: str, core: bool, torch: Any, tmp_path: Path) -> None:
    from support.torch_cases import FAMILIES as CASES
    from support.torch_cases import flat

    family = CASES[name]
    graph = convert(exported(family.module(), family.inputs, tmp_path / "net.pt2", core))
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


@pytest.mark.parametrize("name", ["mobilenet_v2", "unet"])
def test_plain_networks_have_no_transpose_but_at_their_ends(name: str, torch: Any, tmp_path: Path) -> None:
    from support import networks

    x = np.ascontiguousarray(networks.sample(name, seed=3)[:, :, :64, :64])
    path = exported(networks.network(name), [torch.from_numpy(x)], tmp_path / "net.pt2")
    graph = simplify(convert(path))
    (found,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    right = networks.expected(name, x)
    assert np.abs(found - right).max() <= 1e-5 * np.ptp(right)
    moves = [node for node in graph.nodes if type(node.op).__name__ == "Transpose"]
    assert all({*node.inputs, *node.outputs} & {*graph.inputs, *graph.outputs} for node in moves)


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
def test_blocks_of_the_networks_of_torchvision(core: bool, torch: Any, tmp_path: Path) -> None:
    """One small block of each family of architectures, all of the same input."""
    from support.torch_blocks import BLOCKS, sample
    from support.torch_cases import Family

    family = Family((sample(),), BLOCKS)
    graph = simplify(convert(exported(family.module(), family.inputs, tmp_path / "net.pt2", core)))
    with torch.no_grad():
        right = family.module()(*family.inputs)
    for name, mine, y in zip(BLOCKS, simulated(graph, family.inputs), right, strict=True):
        assert np.abs(mine - y.numpy()).max() <= 1e-5 * np.ptp(y.numpy()), name
