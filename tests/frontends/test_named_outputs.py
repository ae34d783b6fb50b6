"""--outputs ends a network at tensors of the file: what comes after them is not read, and may be anything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.command_line import program
from support.exports import SAMPLES
from support.tensorflow_files import graph, node, placeholder
from support.tflite_writer import Operator, Tensor, constant, network
from support.tools import require_module

import edgekit
from edgekit.converters import read
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError

X = np.array([[1, -2, 3, -4]], np.float32)


def detector(folder: Path, *more: onnx.NodeProto) -> Path:
    """Two results of x and one of z, behind which comes what nobody reads."""
    nodes = [
        helper.make_node("Relu", ["x"], ["boxes"]),
        helper.make_node("Mul", ["boxes", "w"], ["scores"]),
        *(more or [helper.make_node("Chosen", ["boxes", "scores"], ["found"], domain="own")]),
        helper.make_node("Neg", ["z"], ["other"]),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xz"]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("found", "other")]
    weights = [
        onnx.numpy_helper.from_array(np.full(4, n, np.float32), name) for n, name in ((3, "w"), (5, "v"))
    ]
    made = helper.make_graph(nodes, "detector", ports, ends, weights)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    onnx.save(helper.make_model(made, opset_imports=opsets, ir_version=8), folder / "detector.onnx")
    return folder / "detector.onnx"


def test_what_comes_after_the_outputs_is_not_read(tmp_path: Path) -> None:
    """Nor are inputs that only it reads."""
    found = edgekit.convert(detector(tmp_path), outputs=["scores", "boxes"])
    assert (found.inputs, found.outputs) == (("x",), ("scores", "boxes"))
    scores, boxes = simulate.run(found, {"x": X}).values()
    assert boxes.tolist() == np.maximum(X, 0).tolist()
    assert scores.tolist() == (3 * np.maximum(X, 0)).tolist()


def test_outputs_within_are_those_of_onnx_runtime(tmp_path: Path) -> None:
    runtime = require_module("onnxruntime")
    path = detector(tmp_path, helper.make_node("Sigmoid", ["scores"], ["found"]))
    whole = onnx.load(path)
    whole.graph.output.append(helper.make_tensor_value_info("scores", TensorProto.FLOAT, None))
    session = runtime.InferenceSession(whole.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(["scores"], {"x": X, "z": X})[0]
    found = simulate.run(edgekit.convert(path, outputs=["scores"]), {"x": X})
    np.testing.assert_array_equal(found["scores"], wanted)


def test_the_hint_names_the_outputs_that_can_be_had(tmp_path: Path) -> None:
    path = detector(tmp_path)
    with pytest.raises(EdgeKitError) as caught:
        edgekit.convert(path)
    assert str(caught.value.hint).endswith(
        "end the network before it: edgekit convert --outputs boxes,scores"
    )
    done = program("convert", path.name, "--outputs", "boxes,scores", "-o", "net.ek", folder=tmp_path)
    assert done.code == 0, done
    assert edgekit.load(tmp_path / "net.ek").outputs == ("boxes", "scores")


def test_no_outputs_are_proposed_where_nothing_is_before(tmp_path: Path) -> None:
    path = detector(tmp_path)
    model = onnx.load(path)
    model.graph.node[0].CopyFrom(helper.make_node("Chosen", ["x"], ["boxes"], domain="own"))
    onnx.save(model, path)
    with pytest.raises(EdgeKitError) as caught:
        edgekit.convert(path)
    assert "--outputs" not in str(caught.value.hint)


@pytest.mark.parametrize(
    ("outputs", "message", "hint"),
    [
        (["score"], "no node computes score, which --outputs names", "did you mean scores?"),
        (["x"], "no node computes x", "the last tensors: boxes, scores, found, other"),
        (["boxes", "boxes"], "names boxes twice", ""),
    ],
)
def test_other_names_are_refused(outputs: list[str], message: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=message) as caught:
        edgekit.convert(detector(tmp_path), outputs=outputs)
    assert caught.value.hint == hint


def test_tflite_ends_at_tensors_by_name(tmp_path: Path) -> None:
    """The numbers of operators stay, and with them the names of layers."""
    x, z, sums, products, chosen = (Tensor((1, 4)) for _ in range(5))
    ops = [
        Operator("NEG", [z], [chosen], "NegOptions"),
        Operator("ADD", [x, constant([1], "float32")], [sums], "AddOptions"),
        Operator("MUL", [sums, constant([2], "float32")], [products], "MulOptions"),
        Operator("CUSTOM", [products], [Tensor((1, 4))], custom=b""),
    ]
    path = tmp_path / "net.tflite"
    path.write_bytes(network(ops, [x, z], [ops[-1].outputs[0], chosen]))
    with pytest.raises(EdgeKitError) as caught:
        edgekit.convert(path)
    name = str(caught.value.hint).rpartition("--outputs ")[2]
    found = read.read(path, outputs=[name])
    assert len(found.inputs) == 1
    assert [node.origin for node in found.nodes] == ["add_1", "mul_2"]
    assert [y.tolist() for y in simulate.run(found, {found.inputs[0]: X}).values()] == [
        (2 * (X + 1)).tolist()
    ]


def test_graphs_of_tensorflow_end_at_nodes(tmp_path: Path) -> None:
    given = placeholder("x", (1, 4)), placeholder("z", (1, 4))
    nodes = [node("a", "Neg", ["x"]), node("b", "StringFormat", ["a"]), node("c", "Neg", ["z"])]
    path = tmp_path / "net.pb"
    path.write_bytes(graph(*given, *nodes))
    with pytest.raises(EdgeKitError) as caught:
        read.read(path)
    assert "edgekit convert --outputs NODE" in str(caught.value.hint)
    found = read.read(path, outputs=["a:0"])
    assert (found.inputs, found.outputs) == (("x",), ("a",))
    with pytest.raises(EdgeKitError, match="no node computes d"):
        read.read(path, outputs=["d"])


def test_other_formats_are_cut_when_they_are_read() -> None:
    sample = SAMPLES / "tf" / "net.keras"
    whole = read.read(sample)
    inner = whole.nodes[0].outputs[0]
    found = read.read(sample, outputs=[inner])
    assert found.outputs == (inner,)
    assert len(found.nodes) == 1 < len(whole.nodes)
