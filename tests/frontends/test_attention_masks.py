"""Queries that may see no key get 0 from attention, as PyTorch has it: floats and integers, numpy and C."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.each_target import drive, load
from support.tools import require_module
from support.torch_exports import kept

from edgekit.api import quantize_model
from edgekit.codegen.program import compile_graph
from edgekit.converters.torch_export.reader import convert
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

PADDED = 5  # tokens, of 12: the last ones are more than a window away


@pytest.fixture(scope="module")
def torch() -> Any:
    return require_module("torch")


def encoder(folder: Path, core: bool = False) -> Graph:
    from support.torch_encoders import sentence, windowed_encoder

    name = "windowed-encoder"
    graph = simplify(convert(kept(name, windowed_encoder(), sentence(1, PADDED), folder, core)))
    verify(graph)
    return graph


def computed(tokens: int) -> tuple[dict[str, Array], Array]:
    """The inputs of a sentence, and what torch makes of them."""
    from support.torch_encoders import sentence, windowed_encoder

    ids, is_token = sentence(tokens, tokens)
    return {"ids": ids.numpy(), "is_token": is_token.numpy()}, windowed_encoder()(
        ids, is_token
    ).detach().numpy()


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
def test_padding_that_sees_nothing_is_what_torch_makes_of_it(core: bool, torch: Any, tmp_path: Path) -> None:
    graph = encoder(tmp_path, core)
    for tokens in (1, PADDED, 12):
        inputs, right = computed(tokens)
        (found,) = simulate.run(graph, inputs).values()
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)


def calibration() -> dict[str, Array]:
    sentences = [computed(1 + i % 12)[0] for i in range(12)]
    return {name: np.concatenate([s[name] for s in sentences]) for name in ("ids", "is_token")}


@pytest.fixture(scope="module")
def both(torch: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Graph]:
    graph = encoder(tmp_path_factory.mktemp("encoder"))
    return {"floats": graph, "integers": quantize_model(graph, calibration(), calibrate="minmax")[0]}


def test_integers_keep_the_meaning(both: dict[str, Graph]) -> None:
    graph = both["integers"]
    assert [n for n in graph.nodes if isinstance(n.op, Softmax) and graph.type(n.outputs[0]).quant]
    for tokens in (1, PADDED, 12):
        inputs, right = computed(tokens)
        (found,) = simulate.run(graph, inputs).values()
        assert np.abs(found - right).max() < 0.05 * np.abs(right).max()


def test_attention_in_its_parts_is_quantized_too(torch: Any, tmp_path: Path) -> None:
    """As run_decompositions() leaves it: scores plus 0 or -inf, and whether any of them is not -inf."""
    made, _ = quantize_model(encoder(tmp_path, core=True), calibration(), calibrate="minmax")
    assert all(made.type(n.outputs[0]).quant for n in made.nodes if isinstance(n.op, Softmax))
    for tokens in (1, PADDED, 12):
        inputs, right = computed(tokens)
        (found,) = simulate.run(made, inputs).values()
        assert np.abs(found - right).max() < 0.05 * np.abs(right).max()


@pytest.mark.parametrize(("name", "calls"), [("cortex-m0plus", 41), ("cortex-m4", 39), ("cortex-m55", 41)])
def test_whether_tokens_see_any_is_computed_once(name: str, calls: int, torch: Any, tmp_path: Path) -> None:
    """For all heads and layers, and nothing is copied; why there are two more calls is in ADR 0202."""
    made, _ = quantize_model(encoder(tmp_path, core=True), calibration(), calibrate="minmax")
    found = [line.call.kernel for line in compile_graph(made, load(name)).lines]
    assert len(found) == calls
    assert "copy" not in found
    assert found.count("reduce_rows") == 1


@pytest.mark.parametrize("name", ["host", "cortex-m4", "riscv64-rvv"])
def test_compiled_code_does_too(name: str, both: dict[str, Graph], tmp_path: Path) -> None:
    target, (inputs, _) = load(name), computed(PADDED)
    for kind, graph in both.items():
        (folder := tmp_path / kind).mkdir()
        program = compile_graph(graph, target)
        (found,) = drive(program, folder).run(program, inputs).values()
        (right,) = simulate.run(graph, inputs).values()
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-5 if kind == "floats" else 0)
