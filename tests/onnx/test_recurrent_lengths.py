"""Recurrent layers whose sequences end early: one operator for all steps, as ONNX Runtime computes them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from support.onnx_models import model, node, tensor
from support.tools import require, require_module

from edgekit import build, quantize_model
from edgekit.converters.onnx.reader import convert
from edgekit.core.ir import Graph
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import run
from edgekit.core.types import Array

STEPS, BATCH, INPUTS, SIZE = 7, 4, 5, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
LENGTHS = np.array([3, STEPS, 1, 5], np.int32)


def weights(op: str, direction: str) -> dict[str, Array]:
    rng = np.random.default_rng(len(op) + len(direction))
    count, width = DIRECTIONS[direction], GATES[op] * SIZE
    shapes = {"w": (count, width, INPUTS), "r": (count, width, SIZE), "b": (count, 2 * width)}
    shapes |= dict.fromkeys(("first_h", "first_c")[: 1 + (op == "LSTM")], (count, BATCH, SIZE))
    return {name: (rng.standard_normal(shape) / 2).astype(np.float32) for name, shape in shapes.items()}


def file(op: str, direction: str, results: str, *, starts: bool, as_inputs: bool = False) -> ModelProto:
    """A layer whose lengths, and first states if they are no constants, are inputs."""
    given = weights(op, direction)
    kept = {name: given[name] for name in "wrb"}
    first = {name: x for name, x in given.items() if starts and name not in kept}
    operands = " ".join(("x", "w", "r", "b", "lengths", *first))
    made = node(op, operands, results, hidden_size=SIZE, direction=direction)
    inputs = [tensor("x", [STEPS, BATCH, INPUTS]), tensor("lengths", [BATCH], TensorProto.INT32)]
    inputs += [tensor(name, x.shape) for name, x in first.items() if as_inputs]
    return model([made], kept if as_inputs else kept | first, inputs=inputs, outputs=results.split())


def samples(count: int = 1) -> list[dict[str, Array]]:
    rng = np.random.default_rng(3)
    drawn = [rng.standard_normal((STEPS, BATCH, INPUTS)).astype(np.float32) for _ in range(count)]
    return [{"x": x, "lengths": np.roll(LENGTHS, i)} for i, x in enumerate(drawn)]


def layers(graph: Graph) -> int:
    return sum(isinstance(each.op, Recurrent) for each in graph.nodes)


@pytest.mark.parametrize("starts", [False, True], ids=["zero", "given"])
@pytest.mark.parametrize(("op", "direction"), [*product(GATES, DIRECTIONS)])
def test_results_are_those_of_onnxruntime(op: str, direction: str, starts: bool) -> None:
    onnxruntime = require_module("onnxruntime")
    names = "y h c" if op == "LSTM" else "y h"
    data = file(op, direction, names, starts=starts)
    (given,) = samples()
    expected = onnxruntime.InferenceSession(data.SerializeToString()).run(None, given)
    graph = simplify(convert(data))
    found = run(graph, given)
    for name, ours in zip(names.split(), expected, strict=True):
        np.testing.assert_allclose(found[name], ours, rtol=1e-4, atol=2e-6)
    assert layers(graph) == DIRECTIONS[direction] * (2 if op == "LSTM" else 1)


@pytest.mark.parametrize("op", GATES)
def test_without_cells_there_is_one_layer(op: str) -> None:
    graph = simplify(convert(file(op, "forward", "y h", starts=False)))
    assert layers(graph) == 1
    assert len(graph.nodes) < 16


def test_a_sequence_of_no_steps_keeps_its_state() -> None:
    graph = convert(file("LSTM", "reverse", "y h c", starts=True))
    given = samples()[0] | {"lengths": np.zeros(BATCH, np.int32)}
    found, first = run(graph, given), weights("LSTM", "reverse")
    assert not found["y"].any()
    assert np.array_equal(found["h"], first["first_h"])
    np.testing.assert_allclose(found["c"], first["first_c"], atol=1e-7)


def test_an_empty_sequence_keeps_its_state_beside_others() -> None:
    """ONNX Runtime makes the last state of such a sequence 0."""
    onnxruntime = require_module("onnxruntime")
    data = file("LSTM", "bidirectional", "y h c", starts=True)
    given = samples()[0] | {"lengths": np.array([0, STEPS, 0, 2], np.int32)}
    found, first = run(simplify(convert(data)), given), weights("LSTM", "bidirectional")
    expected = onnxruntime.InferenceSession(data.SerializeToString()).run(None, given)
    for name, ours in zip("yhc", expected, strict=True):
        np.testing.assert_allclose(found[name][..., 1::2, :], ours[..., 1::2, :], rtol=1e-4, atol=2e-6)
    assert np.array_equal(found["h"][:, ::2], first["first_h"][:, ::2])
    assert np.array_equal(found["c"][:, ::2], first["first_c"][:, ::2])


def test_cells_become_integers_from_any_first_state(tmp_path: Path) -> None:
    require("gcc")
    graph = convert(file("LSTM", "bidirectional", "y h c", starts=True, as_inputs=True))
    first = {name: x for name, x in weights("LSTM", "bidirectional").items() if name.startswith("first")}
    given = [
        sample | {name: np.roll(x, i) for name, x in first.items()} for i, sample in enumerate(samples(24))
    ]
    made, report = quantize_model(
        graph, given, calibrate="minmax", strict_int8=True, progress=lambda step: None
    )
    assert {layer.runs_in for layer in report.layers if layer.op == "Lstm"} == {"int8"}
    assert "float32" not in {layer.runs_in for layer in report.layers}
    assert report.outputs["c"] > 35
    build(made, tmp_path, verify=True)


def test_layers_with_lengths_become_integers() -> None:
    graph = convert(file("GRU", "bidirectional", "y h", starts=False))
    made, report = quantize_model(
        graph, samples(24), calibrate="minmax", strict_int8=True, progress=lambda step: None
    )
    assert layers(made) == 2
    assert {layer.runs_in for layer in report.layers if layer.op == "Gru"} == {"int8"}
    assert report.sqnr_db > 25
