"""Operators that remember: run after run they give what LiteRT's reference kernels give, in C too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import random_cases
from support.tflite_writer import Operator, constant, model
from tflite import integer_cases, real_cases
from tflite.litert import converted, inputs_of, litert_steps, named

from edgekit.codegen.program import compile_graph
from edgekit.core import ek_file, simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

STEPS = 6
SAMPLES = random_cases.same(10)
ONE_CELL = 7120100016  # of an LSTM in int8 without projection: its one row is no sum over nothing
COMPILED = (*random_cases.same(5), ONE_CELL)
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
    for seed in SAMPLES:
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
    seeds, differ = range(30), 0
    for seed in seeds:
        graph, steps, _ = made(kind, seed, tmp_path)
        inputs = named(graph, steps[0])
        session = simulate.Session(graph)
        (first,) = session.run(inputs).values()
        (second,) = session.run(inputs).values()
        differ += not np.array_equal(first, second)
        session.reset()
        (again,) = session.run(inputs).values()
        assert np.array_equal(first, again)
    assert differ > len(seeds) // 2


@pytest.mark.parametrize("kind", KINDS)
def test_states_survive_a_file(kind: str, tmp_path: Path) -> None:
    graph, _, _ = made(kind, 0, tmp_path)
    assert graph.states
    ek_file.save(graph, tmp_path / "net.ek")
    assert ek_file.load(tmp_path / "net.ek") == graph


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_c_agrees_with_the_simulator_run_after_run(optimize: Optimize, tmp_path: Path) -> None:
    host = target.load("host")
    streams, programs = {}, {}
    for kind in KINDS:
        for seed in COMPILED:
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


def whole_lstm(**features: bool) -> Operator:
    """The first integer LSTM of the random ones that has these features."""
    for seed in range(1000):
        op = integer_cases.lstm(np.random.default_rng(seed))
        given = {
            "gate": op.inputs[1] is not None,
            "peephole": op.inputs[11] is not None,
            "projection": op.inputs[16] is not None,
            "norm": op.inputs[22] is not None,
            "narrower": op.inputs[18].shape != op.inputs[19].shape,
        }
        if all(given[name] == there for name, there in features.items()):
            return op
    raise AssertionError("no such LSTM")


def with_input(op: Operator, at: int, **changes: Any) -> Operator:
    inputs = list(op.inputs)
    there = inputs[at]
    assert there is not None
    inputs[at] = replace(there, **changes)
    return replace(op, inputs=inputs)


def without(op: Operator, *left_out: int) -> Operator:
    return replace(op, inputs=[None if i in left_out else t for i, t in enumerate(op.inputs)])


PLAIN = whole_lstm(gate=True, peephole=False, projection=False, norm=False)
PROJECTED = whole_lstm(gate=True, peephole=False, projection=True, narrower=True)


def with_peepholes(op: Operator) -> Operator:
    units = op.inputs[19].shape[1]
    peephole = constant(np.ones(units), "int16", scale=(1e-4,), zero=(0,))
    return replace(op, inputs=[*op.inputs[:9], peephole, peephole, peephole, *op.inputs[12:]])


def with_peepholes_of(op: Operator, *gates: int) -> Operator:
    return without(with_peepholes(op), *({9, 10, 11} - {*gates}))


REFUSED = {
    "E0205 is supported with tanh": replace(PLAIN, values={**PLAIN.values, "fusedActivationFunction": 1}),
    "E0205 diagonal weights": with_input(PLAIN, 6, shape=(3,), data=np.ones(3, np.int8)),
    "E0205 projection to another size": with_peepholes(PROJECTED),
    "E0209 not a power of two": with_input(PLAIN, 19, scale=(0.001,)),
    "E0209 from 2.-15 to 2.-9": with_input(PLAIN, 19, scale=(0.5,)),
    "E0401 has 5 inner types, not 0": replace(PLAIN, intermediates=[]),
    "E0401 the biases of a gate are left out": without(PLAIN, 13),
    "E0401 the peepholes": with_peepholes_of(PLAIN, 10, 11),
    "E0401 peepholes of a gate": with_peepholes_of(PLAIN, 9, 11),
    "E0401 the peepholes of a gate are left out": with_peepholes_of(PLAIN, 9, 10),
    "E0401 has weights, but no weights": without(PLAIN, 1),
    "E0401 has biases, but no weights": without(PLAIN, 1, 5),
    "E0401 without states": without(PLAIN, 18),
    "E0401 has no scale": with_input(PLAIN, 2, scale=(), zero=()),
    "E0204 has weights s16": with_input(PLAIN, 3, dtype="int16", data=PLAIN.inputs[3].data.astype(np.int16)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_lstms_that_make_no_sense_are_refused(reason: str, tmp_path: Path) -> None:
    code, words = reason.split(" ", 1)
    with pytest.raises(EdgeKitError, match=words) as caught:
        converted(model(REFUSED[reason]), tmp_path, "net")
    assert caught.value.code == code
