"""What exporters write folds to the plain chain of layers."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.nets import assert_same, count, kinds
from support.tools import ROOT, require_shared

from edgekit.converters.onnx import reader as onnx_reader
from edgekit.core.ir import Graph
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify

PLAIN = ["Conv2d", "Pool2d", "Reshape", "Dense"]
SAMPLES: Mapping[str, list[str]] = {
    "torch/net.onnx": ["Transpose", *PLAIN],
    "torch/net_ts.onnx": ["Transpose", *PLAIN],
    "paddle/net.onnx": ["Transpose", *PLAIN],
    "paddle/net_old.onnx": ["Transpose", *PLAIN],
    "chainer/net.onnx": ["Transpose", *PLAIN],
    "mxnet/net.onnx": ["Transpose", *PLAIN],
    "mindspore/net.onnx": ["Transpose", *PLAIN],
    "tf/net_keras_export.onnx": PLAIN,
    "tf/net_from_saved_model.onnx": PLAIN,
    "tf/net_from_tflite.onnx": PLAIN,
}


def simplified(path: Path) -> Graph:
    """The graph, which computes what the file says, whose simplification is stable."""
    graph = onnx_reader.convert(path)
    after = simplify(graph)
    assert simplify(after) is after
    assert_same(graph, after)
    return after


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_network_from_every_framework_is_the_same_chain(name: str) -> None:
    after = simplified(require_shared(f"frontends/samples/{name}"))
    assert kinds(after) == SAMPLES[name]
    assert all(node.inputs == ("x",) or node.inputs[0] in after.inputs for node in after.nodes[:1])


def test_the_digits_example_is_its_layers() -> None:
    after = simplified(ROOT / "examples/digits/digits.onnx")
    layers = ["Conv2d", "Conv2d", "Pool2d", "Conv2d", "Pool2d", "Reshape", "Dense", "Softmax"]
    assert kinds(after) == ["Reshape", *layers]


# Nodes of each network: what is left of batch normalization, shape arithmetic and transposes is nothing.
NETWORKS: Mapping[str, Mapping[str, int]] = {
    "mobilenet_v2": {"Conv2d": 52, "Add": 10, "Reduce": 1, "Reshape": 1, "Dense": 1, "Transpose": 1},
    "resnet18": {
        "Conv2d": 20,
        "Pool2d": 1,
        "Add": 8,
        "Clip": 8,
        "Reduce": 1,
        "Reshape": 1,
        "Dense": 1,
        "Transpose": 1,
    },
    "unet": {
        "Conv2d": 11,
        "PRelu": 5,
        "Pool2d": 2,
        "ConvTranspose2d": 1,
        "Concat": 2,
        "Resample": 2,
        "Transpose": 2,
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo_raw"])
@pytest.mark.parametrize("name", NETWORKS)
def test_torch_networks_fold_completely(name: str, exporter: str, exports: Path) -> None:
    from support import networks

    graph = onnx_reader.convert(networks.export(name, exporter, exports))
    after = simplify(graph)
    verify(after)
    assert Counter(kinds(after)) == Counter(NETWORKS[name])
    for node in after.nodes:
        if isinstance(node.op, Transpose):
            assert node.inputs[0] in after.inputs or node.outputs[0] in after.outputs


@pytest.mark.slow
def test_a_vision_transformer_moves_heads_only(exports: Path) -> None:
    from support import networks

    after = simplify(onnx_reader.convert(networks.export("vit", "torchscript", exports)))
    # The input, and the heads of each layer but the last, which is computed for one token.
    assert count(after, "Transpose") == 1 + 3
    assert np.isin(["MatMul", "LayerNorm", "Softmax"], kinds(after)).all()
