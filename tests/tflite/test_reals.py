"""One operator on floats, bools or whole numbers: the simulator and the C code agree with LiteRT."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import model
from tflite.litert import converted, inputs_of, litert, named
from tflite.real_cases import CASES, NOT_IN_REFERENCE

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

SAMPLES = 3


@pytest.mark.parametrize("kind", CASES)
def test_simulator_agrees_with_litert(kind: str, tmp_path: Path) -> None:
    for seed in range(SAMPLES):
        name, graph, inputs = made(kind, seed, tmp_path)
        content = (tmp_path / f"{name}.tflite").read_bytes()
        expected = litert(content, inputs, reference=kind not in NOT_IN_REFERENCE)
        found = simulate.run(graph, named(graph, inputs))
        for output, right in zip(graph.outputs, expected, strict=True):
            assert_alike(found[output], right, f"{kind}, seed {seed}")


def made(kind: str, seed: int, folder: Path) -> tuple[str, Graph, list[Array]]:
    rng = np.random.default_rng(seed)
    op = CASES[kind](rng)
    name = f"{kind.lower().replace(' ', '_')}_{seed}"
    graph = converted(model(op), folder, name)
    verify(graph)
    return name, graph, inputs_of(op, rng)


def assert_alike(found: Array, right: Array, what: str) -> None:
    assert (found.shape, found.dtype) == (right.shape, right.dtype), what
    if right.dtype.kind == "f":
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5, err_msg=what)
    else:
        assert np.array_equal(found, right), what


def test_c_agrees_with_the_simulator(tmp_path: Path) -> None:
    models = [made(kind, 0, tmp_path) for kind in CASES]
    host = target.load("host")
    programs = {name: compile_graph(simplify(graph), host) for name, graph, _ in models}
    driver, errors = compile_programs(list(programs.values()), tmp_path, "size")
    assert not errors, next(iter(errors.values()))
    for name, graph, inputs in models:
        expected = simulate.run(graph, named(graph, inputs))
        found = driver.run(programs[name], named(graph, inputs))
        for output, right in expected.items():
            assert_alike(found[output], right, name)
