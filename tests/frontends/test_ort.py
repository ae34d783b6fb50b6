"""Files that ONNX Runtime saved, at each level of its optimizer, compute what it computes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper
from support.exports import SAMPLES
from support.onnx_models import model, node, tensor
from support.ort_files import LEVELS, NETWORKS, activations, inputs, network, numbers, products, saved
from support.quantized_models import reference
from support.recorded import names, unpacked

from edgekit import convert
from edgekit.converters import read
from edgekit.converters.ort.schema import schema
from edgekit.core import flatbuffer, simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

RECORDED = SAMPLES.parent / "recorded" / "ort.zip"
BLOCKED = RECORDED.with_name("blocked.ort")  # on a processor with AVX2


def operators(raw: bytes) -> set[str]:
    graph = flatbuffer.read(schema(), raw, 64)["model"]["graph"]
    return {(f"{node['domain']}." if node["domain"] else "") + node["op_type"] for node in graph["nodes"]}


def check(net: ModelProto, raw: bytes, folder: Path) -> None:
    given = inputs(net)
    (folder / "net.ort").write_bytes(raw)
    graph = simplify(read.read(folder / "net.ort", shapes={name: x.shape for name, x in given.items()}))
    verify(graph)
    found, expected = simulate.run(graph, given), reference(net, [given])[0]
    assert len(found) == len(expected)
    for ours, theirs in zip(found.values(), expected, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        wide = theirs.astype(np.float64)
        np.testing.assert_allclose(ours.astype(np.float64), wide, rtol=0, atol=_tolerance(net, wide))


def _tolerance(net: ModelProto, expected: Array) -> float:
    """One step of integers, also where they end as reals."""
    if any("Linear" in node.op_type for node in net.graph.node):
        gaps = np.diff(np.unique(np.round(expected, 6)))
        return float(gaps.min(initial=1.0)) * 1.001
    return 2e-6 * float(np.abs(expected).max())


@pytest.mark.parametrize("name", names(RECORDED))
def test_recorded_files_are_read(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_what_onnx_runtime_does(name: str, level: str, tmp_path: Path) -> None:
    net = network(name)
    check(net, saved(net, level), tmp_path)


def test_fused_layers_are_among_them() -> None:
    assert operators(saved(activations(), LEVELS[3])) >= {
        "com.microsoft.FusedConv",
        "com.microsoft.FusedGemm",
    }
    assert "com.microsoft.FusedMatMul" in operators(saved(products(), LEVELS[3]))
    integers = [network(name) for name in NETWORKS if name.startswith("convolutions")]
    found = set[str]().union(*(operators(saved(net, LEVELS[3])) for net in integers))
    assert "com.microsoft.QLinearConv" in found


def fused(op: str, shapes: Mapping[str, tuple[int, ...]], **attributes: Any) -> ModelProto:
    made = node(op, " ".join(shapes), "y", domain="com.microsoft", **attributes)
    net = model([made], inputs=[tensor(name, shape) for name, shape in shapes.items()])
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    net.graph.output[0].type.tensor_type.elem_type = 1
    return net


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("moved", [0, 1])
@pytest.mark.parametrize("side", "AB")
def test_products_of_moved_batches(side: str, moved: int, rows: int, tmp_path: Path) -> None:
    """A of [2, 3, 4, 5] by B of [2, 3, 5, 6], each stored in the order that its settings turn back."""
    shapes = {"a": (2, 3, 4, 5), "b": (2, 3, 5, 6)}
    name = side.lower()
    shape = list(shapes[name])
    shape[-2:] = shape[-2:][::-1] if rows else shape[-2:]
    shapes[name] = (shape[-2], *shape[:-2], shape[-1]) if moved else tuple(shape)
    if moved and rows:  # the first dimension becomes the last
        own = {"a": (2, 3, 4, 5), "b": (2, 3, 5, 6)}[name]
        shapes[name] = (own[-1], *own[:-2], own[-2])
    net = fused("FusedMatMul", shapes, **{f"trans{side}": rows, f"transBatch{side}": moved}, alpha=0.5)
    given = {name: numbers(*shape) for name, shape in shapes.items()}
    (tmp_path / "net.onnx").write_bytes(net.SerializeToString())
    (found,) = simulate.run(convert(tmp_path / "net.onnx"), given).values()
    np.testing.assert_allclose(found, reference(net, [given])[0][0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("Relu", []), ("LeakyRelu", [0.1]), ("HardSigmoid", [0.3, 0.6]), ("Clip", [-1.0, 0.5])],
)
def test_convolutions_with_a_sum_and_an_activation(
    kind: str, parameters: list[float], tmp_path: Path
) -> None:
    shapes = {"x": (1, 3, 5, 5), "w": (4, 3, 3, 3), "b": (4,), "z": (1, 4, 3, 3)}
    options = {"activation_params": parameters} if parameters else {}
    net = fused("FusedConv", shapes, activation=kind, kernel_shape=[3, 3], **options)
    given = {name: numbers(*shape) for name, shape in shapes.items()}
    (tmp_path / "net.onnx").write_bytes(net.SerializeToString())
    (found,) = simulate.run(convert(tmp_path / "net.onnx"), given).values()
    np.testing.assert_allclose(found, reference(net, [given])[0][0], rtol=1e-4, atol=1e-5)


def test_activations_that_are_not_known_are_refused(tmp_path: Path) -> None:
    for attributes, words in (
        ({"activation": "Swish"}, "Swish is not supported"),
        ({"activation": "Relu", "activation_params": [1.0]}, "parameters of Relu"),
    ):
        net = fused("FusedConv", {"x": (1, 3, 5, 5), "w": (4, 3, 3, 3)}, **attributes)
        (tmp_path / "net.onnx").write_bytes(net.SerializeToString())
        with pytest.raises(EdgeKitError, match=words):
            convert(tmp_path / "net.onnx")


def test_layouts_of_one_processor_are_refused() -> None:
    assert "com.microsoft.nchwc.Conv" in operators(BLOCKED.read_bytes())
    with pytest.raises(EdgeKitError, match="laid out for the processor") as caught:
        read.read(BLOCKED)
    assert "ORT_ENABLE_EXTENDED" in caught.value.hint


def test_files_keep_names_and_options_of_onnx(tmp_path: Path) -> None:
    net = activations()
    path = tmp_path / "net.ort"
    path.write_bytes(saved(net, LEVELS[2]))
    graph = read.read(path)
    assert (graph.name, graph.inputs, graph.outputs) == ("net", ("x",), ("g10",))
    assert graph.source.format == "ORT"
    constant = read.read(path, constants={"x": 1.0})
    assert constant.inputs == ()
