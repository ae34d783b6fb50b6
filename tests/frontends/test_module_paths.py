"""Layers have the paths of the modules that they come from, in every table."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from support.command_line import CommandLine
from support.exports import SAMPLES
from support.recorded import unpacked
from support.tools import require

from edgekit import api
from edgekit.converters.read import read
from edgekit.core.passes.simplify import simplify

X, Y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")


@pytest.mark.parametrize(
    ("file", "layers"),
    [
        ("net.pt2", ["conv/conv2d", "max_pool2d", "fc/linear"]),
        ("net_pt2e_int8.pt2", ["conv/conv2d", "max_pool2d", "fc/linear"]),
        ("net.onnx", ["bn/node_Conv_12", "node_max_pool2d", "fc/node_linear"]),  # its exporter fused the two
        ("net_pt2e_int8.onnx", ["conv/node_conv2d", "node_max_pool2d", "fc/node_linear"]),
        ("net_ts.onnx", ["/conv/Conv", "/MaxPool", "/fc/Gemm"]),  # names as the file has them
    ],
)
def test_modules_of_torch_are_named(file: str, layers: list[str]) -> None:
    found = simplify(read(SAMPLES / "torch" / file)).nodes
    kinds = ("Conv2d", "Pool2d", "Dense")
    assert [node.origin for node in found if type(node.op).__name__ in kinds] == layers


@pytest.mark.parametrize(
    ("file", "layers"),
    [
        ("net.keras", ["conv", "max_pooling2d", "fc"]),
        ("net.h5", ["conv", "max_pooling2d", "fc"]),
        (
            "net_keras_export.onnx",  # names as the file has them
            [
                "functional_1/conv_1/BiasAdd",
                "functional_1/max_pooling2d_1/MaxPool2d",
                "functional_1/fc_1/MatMul",
            ],
        ),
    ],
)
def test_layers_of_keras_are_named(file: str, layers: list[str]) -> None:
    found = simplify(read(SAMPLES / "tf" / file)).nodes
    kinds = ("Conv2d", "Pool2d", "Dense")
    assert [node.origin for node in found if type(node.op).__name__ in kinds] == layers


def test_layers_of_keras_models_in_models_have_paths_in_tables(tmp_path: Path) -> None:
    """One is called twice, and has the same path both times; what stands on its own has its name."""
    unpacked(SAMPLES.parent / "recorded" / "keras.zip", "nested", tmp_path)
    (path,) = tmp_path.rglob("net.keras")
    found = [node.origin for node in read(path).nodes]
    assert found.count("sequential/dense_2") == 2
    assert {"sequential/dense_3", "functional/dense_1", "functional/batch_normalization"} <= set(found)
    assert {"dense", "multiply"} <= set(found)
    assert not {"dense_1", "dense_2", "dense_3"} & set(found)
    _, report = api.quantize_model(path, "random")
    assert {"sequential/dense_2", "functional/dense_1"} <= {layer.origin for layer in report.layers}
    assert "sequential/dense_2" in report._repr_html_()


@pytest.mark.parametrize(
    ("file", "paths"),
    [
        ("torch/net.pt2", ["conv/conv2d", "max_pool2d", "fc/linear"]),
        ("torch/net.onnx", ["bn/node_Conv_12", "node_max_pool2d", "fc/node_linear"]),
        ("tf/net.keras", ["conv", "max_pooling2d", "fc"]),
        (
            "tf/net_keras_export.onnx",
            ["functional_1/conv_1/", "functional_1/max_pooling2d_1/", "functional_1/fc_1/"],
        ),
    ],
)
def test_every_table_names_modules(
    file: str,
    paths: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the float model, and of the integers made of it; reports as pages, too."""
    require("gcc")
    monkeypatch.chdir(tmp_path)
    cli, model = CommandLine(capsys), str(SAMPLES / file)
    for command in (
        ("inspect", model, "-v"),
        ("quantize", model, "--calib", "random", "-o", "net_8.ek", "--calibrate", "minmax"),
        ("build", "net_8.ek", "-o", "library", "--no-verify", "-v"),
        ("bench", "net_8.ek", "--layers"),
        ("diff", model, "net_8.ek", "--data", "random"),
        ("report", "net_8.ek", "-o", "page.html"),
    ):
        found = cli.ok(*command).out
        if command[0] == "report":
            found = (tmp_path / "page.html").read_text(encoding="utf-8")
        for path in paths:
            assert path in found, (command[0], path)


@pytest.mark.parametrize(
    ("scopes", "name"),
    [
        ("['', 'net', 'net.0', 'relu']", "net.0/r"),
        ("['', 'relu']", "r"),
        ("['relu']", "r"),
        ("[]", "r"),
        ("no list", "r"),
        ("['*/ int x; /*', 'relu']", "*/ int x; /*/r"),  # text, which printers escape
    ],
)
def test_scopes_of_an_onnx_file_are_text(scopes: str, name: str, tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="r")
    node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=scopes)
    graph = helper.make_graph([node], "g", [X], [Y])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    assert [node.origin for node in read(path).nodes] == [name]
