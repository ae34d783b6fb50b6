"""Decoders that keep keys and values in buffers, as torch exports them: each step as torch computes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.decoders import check_caches
from support.recorded import unpacked
from support.tools import require, require_module
from support.torch_exports import exported

from edgekit import run
from edgekit.codegen.program import compile_graph
from edgekit.converters.torch_export.reader import convert
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import Session
from edgekit.core.target import load
from edgekit.core.types import Array

RECORDED = Path(__file__).parent / "recorded" / "transformers.zip"
STEPS = 12


@pytest.fixture
def llamas() -> Any:
    require_module("torch")
    from support import llama

    return llama


@pytest.mark.parametrize(
    ("write", "core"), [("by_index_copy", False), ("by_index_put", True), ("by_scatter", False)]
)
def test_a_cache_is_a_state_of_which_a_step_writes_one_row(
    write: str, core: bool, llamas: Any, tmp_path: Path
) -> None:
    torch = require_module("torch")
    sizes = llamas.Sizes(words=16, width=8, hidden=12, layers=1, heads=4, shared=2, positions=STEPS)
    model = llamas.llama(sizes, getattr(llamas, write))
    example = torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, dtype=torch.long)
    graph = simplify(convert(exported(model, example, tmp_path / "llama.pt2", core)))
    verify(graph)
    check_caches(graph, 2)
    tokens = np.random.default_rng(0).integers(0, sizes.words, STEPS)
    session = Session(graph)
    for i, (token, expected) in enumerate(zip(tokens, _logits(model, tokens), strict=True)):
        given = np.array([[token]]), np.array([i])
        (y,) = session.run(dict(zip(graph.inputs, given, strict=True))).values()
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", ["host", "cortex-m7"])
def test_caches_are_written_and_read_in_place(target: str, llamas: Any, tmp_path: Path) -> None:
    """The arena holds vectors of one token, however long the cache is."""
    if target != "host":
        require("qemu-system-arm")
    sizes = llamas.Sizes(words=32, width=16, hidden=24, layers=2, heads=4, shared=2, positions=40)
    torch = require_module("torch")
    model = llamas.llama(sizes)
    example = torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, dtype=torch.long)
    graph = simplify(convert(exported(model, example, tmp_path / "llama.pt2")))
    assert compile_graph(graph, load(target)).arena.size <= 4 * 3 * (sizes.hidden + sizes.width)
    tokens = np.random.default_rng(1).integers(0, sizes.words, sizes.positions)
    given = tokens.reshape(-1, 1, 1), np.arange(sizes.positions).reshape(-1, 1)
    (y,) = run(graph, dict(zip(graph.inputs, given, strict=True)), target=target).values()
    np.testing.assert_allclose(y, _logits(model, tokens), rtol=1e-3, atol=2e-5)


def _logits(model: Any, tokens: Array) -> Array:
    """What torch computes, step by step."""
    torch = require_module("torch")
    steps = ((torch.tensor([[int(token)]]), torch.tensor([i])) for i, token in enumerate(tokens))
    with torch.no_grad():
        return np.stack([model(*step).numpy() for step in steps])


@pytest.mark.parametrize(("name", "caches"), [("static_cache", 4), ("mixture", 2)])
def test_the_static_cache_of_transformers(name: str, caches: int, tmp_path: Path) -> None:
    """A Llama of two layers and a Mixtral of one that `TorchExportableModuleWithStaticCache` of transformers
    5.24 wrapped for torch.export, without the traces in the file, and what the models compute of all tokens
    at once."""
    model = unpacked(RECORDED, name, tmp_path)
    graph = simplify(convert(model.path))
    verify(graph)
    check_caches(graph, caches)
    with np.load(model.path.parent / "io.npz") as stored:
        tokens, expected = stored["x0"], stored["y0"]
    session = Session(graph)
    for i, (token, logits) in enumerate(zip(tokens, expected, strict=True)):
        given = {"input_ids": np.array([[token]]), "cache_position": np.array([i])}
        (y,) = session.run(given).values()
        np.testing.assert_allclose(y[0, 0], logits, rtol=1e-4, atol=1e-5)
