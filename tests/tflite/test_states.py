"""Operators that remember: run after run they give what LiteRT's reference kernels give, in C too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import model
from tflite import integer_cases, real_cases
from tflite.litert import converted, inputs_of, litert_steps, named

from edgekit import file, simulate, target
from edgekit.codegen.program import compile_graph
from edgekit.codegen.render import Optimize
from edgekit.ir import Array, Graph
from edgekit.onnx_backend import compile_programs
from edgekit.passes import verify
from edgekit.passes.simplify import simplify

STEPS = 6
SAMPLES = 30
COMPILED = 12
KINDS = {
    "svdf": real_cases.svdf,
    "svdf int8": integer_cases.svdf,
    "lstm": real_cases.lstm,
    "lstm int8": integer_cases.lstm,
}


def made(kind: str, seed: int, folder: Path) -> tuple[Graph, list[list[Array]], list[list[Array]]]:
    """A graph, what goes into its successive runs, and what LiteRT gives."""
    rng = np.random.default_rng(seed)
    op = KINDS[kind](rng)
    content = model(op)
    graph = converted(content, folder, f"{kind.replace(' ', '_')}_{seed}")
    verify(graph)
    steps = [inputs_of(op, rng) for _ in range(STEPS)]
    return graph, steps, litert_steps(content, steps)


@pytest.mark.parametrize("kind", KINDS)
def test_simulator_agrees_with_litert_run_after_run(kind: str, tmp_path: Path) -> None:
    for seed in range(SAMPLES):
        graph, steps, expected = made(kind, seed, tmp_path)
        session = simulate.Session(graph)
        for inputs, (right,) in zip(steps, expected, strict=True):
            (found,) = session.run(named(graph, inputs)).values()
            assert_alike(found, right, f"{kind}, seed {seed}")


def assert_alike(found: Array, right: Array, what: str) -> None:
    assert (found.shape, found.dtype) == (right.shape, right.dtype), what
    if right.dtype.kind == "f":
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5, err_msg=what)
    else:
        assert np.array_equal(found, right), what


@pytest.mark.parametrize("kind", KINDS)
def test_runs_depend_on_those_before(kind: str, tmp_path: Path) -> None:
    """Else the other tests would prove nothing."""
    differ = 0
    for seed in range(SAMPLES):
        graph, steps, _ = made(kind, seed, tmp_path)
        inputs = named(graph, steps[0])
        session = simulate.Session(graph)
        (first,) = session.run(inputs).values()
        (second,) = session.run(inputs).values()
        differ += not np.array_equal(first, second)
        session.reset()
        (again,) = session.run(inputs).values()
        assert np.array_equal(first, again)
    assert differ > SAMPLES // 2


@pytest.mark.parametrize("kind", KINDS)
def test_states_survive_a_file(kind: str, tmp_path: Path) -> None:
    graph, _, _ = made(kind, 0, tmp_path)
    assert graph.states
    file.save(graph, tmp_path / "net.ek")
    assert file.load(tmp_path / "net.ek") == graph


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_c_agrees_with_the_simulator_run_after_run(optimize: Optimize, tmp_path: Path) -> None:
    host = target.load("host")
    streams, programs = {}, {}
    for kind in KINDS:
        for seed in range(COMPILED):
            graph, steps, _ = made(kind, seed, tmp_path)
            simple = simplify(graph)
            verify(simple)
            streams[graph.name] = graph, [named(graph, inputs) for inputs in steps]
            programs[graph.name] = compile_graph(simple, host)
    driver, errors = compile_programs(list(programs.values()), tmp_path, optimize)
    assert not errors, next(iter(errors.values()))
    for name, (graph, samples) in streams.items():
        expected = list(simulate.run_each(graph, samples))
        found = list(driver.run_each(programs[name], samples))
        assert len(found) == STEPS
        for (right,), (compiled,) in zip(map(dict.values, expected), map(dict.values, found), strict=True):
            assert_alike(compiled, right, name)
