"""100 random networks in every format, judged by the runtimes that these formats come from.

Comparing C with the simulator cannot see a wrong import: both would compute the same wrong numbers. Each
commit meets other networks, and each night many more. A network that is wrong is printed with as few steps
as it takes, and `--network` repeats it:

    pytest tests/second_truth --network onnx:18:3,5,6,9

support/random_networks/judge.py says what counts as right.
"""

from __future__ import annotations

import pytest
from support import random_cases
from support.random_networks.families import FAMILIES, make, run
from support.random_networks.judge import judged
from support.random_networks.trial import Recipe
from support.tools import require, require_module

NETWORKS = 100
COMPILED = 25  # of them, as C: compiling is dear
_SEEDS = 1000  # to draw from: the other runtime rejects some networks
_MODULES = {
    "onnx": ("onnxruntime",),
    "rare": ("onnxruntime",),
    "qdq": ("onnxruntime",),
    "int8": ("ai_edge_litert",),
    "real": ("ai_edge_litert",),
    "tonnx": ("torch",),
    "torch": ("torch",),
}


@pytest.mark.slow
@pytest.mark.parametrize("first", random_cases.fresh(_SEEDS))
@pytest.mark.parametrize("family", FAMILIES)
def test_networks_compute_what_other_runtimes_compute(
    family: str, first: int, request: pytest.FixtureRequest
) -> None:
    for module in _MODULES[family]:
        require_module(module)
    require("cc")
    chosen: str | None = request.config.getoption("--network")
    if chosen is not None:
        if chosen.startswith(f"{family}:"):
            verdict = judged(make(Recipe.parse(chosen)))
            assert not verdict.wrong, verdict.wrong
            assert not verdict.refused, verdict.refused
        return
    share = FAMILIES[family].share
    count = NETWORKS * share // 1000
    seeds = range(first, first + _SEEDS)
    block = run(family, seeds, compiled=COMPILED * share // 1000, wanted=count)
    assert block.networks == count, f"{block.unfit} networks fit nobody: the generator is at fault"
    assert block.compiled > 0
    what = "\n".join(f"pytest tests/second_truth --network {r}\n    {w}" for r, w in block.wrong.items())
    assert not block.wrong, (
        f"{len(block.wrong)} of {block.networks} networks are wrong (seed {first}):\n{what}"
    )
    most = max(1, count * FAMILIES[family].refused // 1000)
    refused = "\n".join(f"{recipe}: {error}" for recipe, error in block.refused.items())
    assert len(block.refused) <= most, f"{len(block.refused)} networks are refused (seed {first}):\n{refused}"
