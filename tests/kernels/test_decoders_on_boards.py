"""Decoders on emulated boards write the tokens that they write in the simulator, one and several a run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.called import kernels
from support.language_models import folder as model_folder
from support.tools import require

import edgekit
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets

HELIUM = ("cortex-m55", "cortex-m85")
FORMATS: dict[str, dict[str, Any]] = {
    "int8": {"dtype": "int8", "activations": "dynamic"},
    "int4": {"dtype": "int4", "activations": "dynamic"},
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("tokens", [1, 4])
@pytest.mark.parametrize("target", ["cortex-m7", "cortex-m33", "cortex-m55", "cortex-m85"])
def test_tokens_of_the_simulator(target: str, tokens: int, format: str, tmp_path: Path) -> None:
    require("qemu-system-arm")
    dims = {"positions": 16, "tokens": tokens}
    graph = edgekit.convert(model_folder()(tmp_path), dims=dims, name="net")
    graph, _ = edgekit.quantize_model(graph, None, **FORMATS[format])
    text = np.random.default_rng(5).integers(0, 40, 16).astype(np.int32)
    steps = {"token": text.reshape(-1, tokens), "position": np.arange(0, 16, tokens, dtype=np.int32)[:, None]}
    found, expected = (edgekit.run(graph, steps, target=name)["logits"] for name in (target, None))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found.argmax(-1), expected.argmax(-1))
    called = kernels(compile_graph(graph, targets.load(target)), "mve" if target in HELIUM else "dsp")
    layers = [name for name in called if name.startswith("dynamic_dense")]
    assert layers
    assert all(("two_rows" in name) == (tokens > 1) for name in layers)
