"""500 random networks in every format, judged by the runtimes that these formats come from.

Comparing C with the simulator cannot see a wrong import: both would compute the same wrong numbers. The seed
is that of the commit, so that each one meets other networks; `--truth-seed` takes another. A network that is
wrong is printed with as few steps as it takes, and `--network` repeats it:

    pytest tests/second_truth --network onnx:18:3,5,6,9

support/random_networks/judge.py says what counts as right.
"""

from __future__ import annotations

import subprocess

import pytest
from support.random_networks.families import FAMILIES, make, run
from support.random_networks.judge import judged
from support.random_networks.trial import Recipe
from support.tools import ROOT, require, require_module

NETWORKS = 500
COMPILED = 40  # of them, as C: compiling is dear
_WITHOUT_GIT = 17
_SPACE = 10_000_000  # of commits; each has a thousand seeds of its own
_MODULES = {
    "onnx": ("onnxruntime",),
    "qdq": ("onnxruntime",),
    "int8": ("ai_edge_litert",),
    "real": ("ai_edge_litert",),
    "tonnx": ("torch",),
    "torch": ("torch",),
}


@pytest.fixture(scope="module")
def base(request: pytest.FixtureRequest) -> int:
    given: int | None = request.config.getoption("--truth-seed")
    return given if given is not None else of_commit()


def of_commit() -> int:
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return int(done.stdout[:12], 16) % _SPACE if done.returncode == 0 else _WITHOUT_GIT


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_networks_compute_what_other_runtimes_compute(
    family: str, base: int, request: pytest.FixtureRequest
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
    seeds = range(base * 1000, base * 1000 + 1000)
    block = run(family, seeds, compiled=COMPILED * share // 1000, wanted=count)
    assert block.networks == count, f"{block.unfit} networks fit nobody: the generator is at fault"
    assert block.compiled > 0
    what = "\n".join(f"pytest tests/second_truth --network {r}\n    {w}" for r, w in block.wrong.items())
    assert not block.wrong, (
        f"{len(block.wrong)} of {block.networks} networks are wrong (seed {base}):\n{what}"
    )
    most = max(1, count * FAMILIES[family].refused // 1000)
    refused = "\n".join(f"{recipe}: {error}" for recipe, error in block.refused.items())
    assert len(block.refused) <= most, f"{len(block.refused)} networks are refused (seed {base}):\n{refused}"
