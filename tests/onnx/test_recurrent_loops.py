"""Loops that tf2onnx makes of recurrent layers are these layers again; other loops stay right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto
from support.exports import SAMPLES
from support.recorded import names, unpacked
from support.tools import require_module

from edgekit.converters.onnx.reader import convert
from edgekit.core.ir import Graph
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import run

RECORDED = SAMPLES.parent / "recorded" / "tf2onnx.zip"
LAYERS = {
    "one_sequence": {"Lstm": 1},
    "both_kinds": {"Lstm": 1, "Gru": 1},
    "both_directions": {"Lstm": 4},
    "masked": {"Lstm": 1, "Gru": 1},
    "masked_directions": {"Lstm": 2, "Gru": 2},
    "older_masked": {"Lstm": 1, "Gru": 1},
    "simple": {"Rnn": 1},
}


def layers(graph: Graph) -> dict[str, int]:
    return dict(Counter(type(node.op).__name__ for node in graph.nodes if isinstance(node.op, Recurrent)))


@pytest.mark.parametrize("name", names(RECORDED))
def test_model_computes_what_keras_did(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


@pytest.mark.parametrize("name", LAYERS)
def test_loop_is_one_layer(name: str, tmp_path: Path) -> None:
    graph = simplify(convert(unpacked(RECORDED, name, tmp_path).path))
    assert layers(graph) == LAYERS[name]


def test_steps_do_not_count(tmp_path: Path) -> None:
    """Two layers in both directions over 32 steps were 2,700 operators."""
    assert len(convert(unpacked(RECORDED, "both_directions", tmp_path).path).nodes) < 40


def body(model: ModelProto) -> GraphProto:
    """Of the only loop."""
    (loop,) = [node for node in model.graph.node if node.op_type == "Loop"]
    return next(attribute.g for attribute in loop.attribute if attribute.name == "body")


def of_kind(graph: GraphProto, kind: str) -> list[onnx.NodeProto]:
    return [node for node in graph.node if node.op_type == kind]


def other_function(graph: GraphProto) -> None:
    of_kind(graph, "Sigmoid")[0].op_type = "Tanh"


def other_function_of_cells(graph: GraphProto) -> None:
    of_kind(graph, "Tanh")[1].op_type = "Sigmoid"


def product_instead_of_sum(graph: GraphProto) -> None:
    of_kind(graph, "Add")[-1].op_type = "Mul"


def gates_in_other_places(graph: GraphProto) -> None:
    """An order that no layer of Keras has, but a layer all the same."""
    (split,) = of_kind(graph, "Split")
    outputs = list(split.output)
    del split.output[:]
    split.output.extend(outputs[::-1])


def step_of_two(graph: GraphProto) -> None:
    (one,) = [tensor for tensor in graph.initializer if tensor.name.endswith("add/y:0")]
    one.CopyFrom(onnx.numpy_helper.from_array(np.array(2, np.int32), one.name))


def first_row_always(graph: GraphProto) -> None:
    (gather,) = of_kind(graph, "Gather")
    graph.initializer.append(onnx.numpy_helper.from_array(np.array(0, np.int32), "row"))
    gather.input[1] = "row"


def stacked_cells(graph: GraphProto) -> None:
    """What is stacked is no state that a step shows."""
    graph.node.add(op_type="Identity", input=[graph.output[3].name], output=["cells"])
    graph.output[-1].name = "cells"


CHANGES: dict[str, Callable[[GraphProto], None]] = {
    change.__name__: change
    for change in (
        other_function,
        other_function_of_cells,
        product_instead_of_sum,
        gates_in_other_places,
        step_of_two,
        first_row_always,
        stacked_cells,
    )
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_loops_are_no_layers(name: str, tmp_path: Path) -> None:
    onnxruntime = require_module("onnxruntime")
    model = onnx.load(unpacked(RECORDED, "one_sequence", tmp_path).path)
    CHANGES[name](body(model))
    given = {"x": np.random.default_rng(0).standard_normal((1, 8, 4)).astype(np.float32)}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, given)
    graph = simplify(convert(model))
    (found,) = run(graph, given).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert layers(graph) == ({"Lstm": 1} if name == "gates_in_other_places" else {})


def selected_otherwise(graph: GraphProto) -> None:
    """Cells stay where states are new."""
    negated = of_kind(graph, "Not")
    for node in of_kind(graph, "Cast"):
        if node.input[0] == negated[1].output[0]:
            node.input[0] = negated[1].input[0]


def doubled(graph: GraphProto) -> None:
    """Masked steps show twice what was."""
    last = graph.output[-1].name
    graph.node.add(op_type="Add", input=[last, last], output=["twice"])
    graph.output[-1].name = "twice"


@pytest.mark.parametrize("change", [selected_otherwise, doubled])
def test_other_masks_are_none(change: Callable[[GraphProto], None], tmp_path: Path) -> None:
    onnxruntime = require_module("onnxruntime")
    model = onnx.load(unpacked(RECORDED, "masked", tmp_path).path)
    first = next(node for node in model.graph.node if node.op_type == "Loop")
    change(next(attribute.g for attribute in first.attribute if attribute.name == "body"))
    with np.load(tmp_path / "masked" / "io.npz") as io:
        given = {"x": io["x0"]}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (expected,) = session.run(None, given)
    graph = simplify(convert(model))
    (found,) = run(graph, given).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert layers(graph) == {"Gru": 1}
