"""Layers have the paths of the modules that they come from, in every table."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from support.command_line import CommandLine
from support.exports import SAMPLES
from support.recorded import unpacked
from support.tools import require, require_shared

from edgekit import api
from edgekit.converters.read import read
from edgekit.converters.semantics.keras_paths import NamedOperator, layer_paths
from edgekit.core.passes.simplify import simplify

# Of functions that TensorFlow had traced before, so that it counted on.
EXPORTS_OF_KERAS = (
    "net_f32.tflite",
    "net_int8.tflite",
    "net_keras_export.tflite",
    "net_keras_export.onnx",
    "net_from_saved_model.onnx",
    "net_from_tflite_int8.onnx",
)
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
        *((file, ["conv_1", "max_pooling2d_1", "fc_1"]) for file in EXPORTS_OF_KERAS),  # TensorFlow counts
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
    _, report = api.quantize_model(path, "random", calibrate="minmax")
    assert {"sequential/dense_2", "functional/dense_1"} <= {layer.origin for layer in report.layers}
    assert "sequential/dense_2" in report._repr_html_()


@pytest.mark.parametrize(
    ("file", "paths"),
    [
        ("torch/net.pt2", ["conv/conv2d", "max_pool2d", "fc/linear"]),
        ("torch/net.onnx", ["bn/node_Conv_12", "node_max_pool2d", "fc/node_linear"]),
        ("tf/net.keras", ["conv", "max_pooling2d", "fc"]),
        ("tf/net_keras_export.onnx", ["conv_1", "max_pooling2d_1", "fc_1"]),
        ("tf/net_f32.tflite", ["conv_1", "max_pooling2d_1", "fc_1"]),
    ],
)
def test_every_table_names_modules(
    file: str,
    paths: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the float model, and of the integers made of it; reports as pages, too. Pruning shows where
    channels went, and tuning the layer by which a limit is missed."""
    require("gcc")
    monkeypatch.chdir(tmp_path)
    cli, model = CommandLine(capsys), str(SAMPLES / file)
    pruned = cli.ok("prune", model, "--macs", "50%").out
    assert f"\n{paths[0]} " in pruned.partition("channels of")[2]
    tuned = cli("tune", model, "--data", "random", "--budget", "1", "--jobs", "1", "--flash", "1K").err
    assert f"bound by layer {paths[-1]}" in tuned
    log = "".join(f"{layer['name']} 1\n" for layer in cli.ok("estimate", model, "--json").json["layers"])
    Path("log.txt").write_text(log, encoding="utf-8")
    for command in (
        ("profile", "log.txt", "--model", model),
        ("inspect", model, "-v"),
        ("quantize", model, "--data", "random", "-o", "net_8.ek", "--calibrate", "minmax"),
        ("build", "net_8.ek", "-o", "library", "--no-verify", "-v"),
        ("build", model, "-o", "floats", "--no-verify", "-v"),
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


CONV, DEPTHWISE, DENSE = "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"
NORM = "FusedBatchNormV3"


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        (DENSE, "model/dense/MatMul;model/dense/Relu;model/dense/BiasAdd", "dense"),
        (DENSE, "StatefulPartitionedCall/model/dense/MatMul", "dense"),
        (DENSE, "model/block_1/dense/Tensordot/MatMul", "block_1/dense"),
        (DENSE, "model/dense/BiasAdd/ReadVariableOp/resource", "dense"),
        ("MatMul", "model/dense/MatMul__12:0", "dense"),
        ("ADD", "model/activation/Relu;model/add/add", "add"),
        ("AVERAGE_POOL_2D", "model/pool/AvgPool", "pool"),
        ("BATCH_MATMUL", "model/attention/query/einsum_1/Einsum", "attention/query"),
        ("MUL", "model/layer_normalization/batchnorm/mul_1", "layer_normalization"),
        ("MAXIMUM", "model/tf.math.maximum/Maximum", "tf.math.maximum"),
        # Biases of zeros, which several layers share, have the name of one of them.
        (CONV, f"model/norm/{NORM};model/other/Conv2D;model/conv/Conv2D1", "conv"),
        (CONV, f"model/norm/{NORM};model/conv/BiasAdd;model/conv/Conv2D;model/other/Conv2D", "conv"),
        (DEPTHWISE, f"model/norm/{NORM};model/conv/depthwise;model/other/Conv2D", "conv"),
        # What says nothing.
        (DENSE, "StatefulPartitionedCall:0", ""),
        (DENSE, "Identity", ""),
        (DENSE, "Reshape/shape", ""),
        (DENSE, "", ""),
    ],
)
def test_paths_of_keras_layers(kind: str, name: str, path: str) -> None:
    beside = NamedOperator("SOFTMAX", ("model/softmax/Softmax",))
    assert layer_paths([NamedOperator(kind, (name,)), beside]) == [path, "softmax"]


def test_a_result_that_is_named_otherwise_is_of_the_layer_of_its_weights() -> None:
    """Not of any other constant, which another layer may share."""
    named = ("model/first/MatMul", "model/conv/Conv2D")
    dense, other = (NamedOperator(DENSE, ("Identity",), weights) for weights in named)
    assert layer_paths([dense, other]) == ["first", ""]


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (["dense/MatMul", "dense_1/MatMul"], ["dense", "dense_1"]),  # no model in front
        (["dense/MatMul", "MatMul"], ["dense", ""]),
        (["model/add", "model/dense/MatMul"], ["model", "model/dense"]),  # computed by the model itself
        (["a/dense/MatMul", "b/dense/MatMul"], ["a/dense", "b/dense"]),  # two models
    ],
)
def test_names_of_models_are_left_out_where_layers_are_behind_them(
    names: list[str], paths: list[str]
) -> None:
    assert layer_paths([NamedOperator(DENSE, (name,)) for name in names]) == paths


def test_paths_of_published_files() -> None:
    """One layer each, in the order of Keras."""
    found = read(require_shared("models") / "mlperf_tiny" / "kws_ref_model.tflite").nodes
    layers = [node.origin for node in found if type(node.op).__name__ in ("Conv2d", "Pool2d", "Dense")]
    pairs = [(f"conv2d_{i}", f"depthwise_conv2d_{i}") for i in range(5)]
    expected = [name.removesuffix("_0") for pair in pairs for name in pair][:-1]
    assert layers == [*expected, "average_pooling2d", "dense"]
