"""Real networks end to end: converted, simplified, compiled as C, and compared with ONNX Runtime."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.tools import ROOT, require, require_module, require_shared

from edgekit.codegen.compilation.build import build, generate, run
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

NETWORKS = ("mobilenet_v2", "resnet18", "vit", "unet")
EXPORTERS = ("torchscript", "dynamo", "dynamo_raw")
MLPERF = ("pretrainedResnet", "kws_ref_model_float32", "vww_96_float", "ad01_fp32")
TOLERANCE = 1e-4  # of the output's range


def onnxruntime_says(path: Path, inputs: dict[str, Array]) -> list[Array]:
    ort = require_module("onnxruntime")
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, inputs)


def assert_same_as_onnxruntime(path: Path, graph: Graph, inputs: dict[str, Array]) -> None:
    expected = onnxruntime_says(path, inputs)
    (found,) = run(graph, target.load("host"), [inputs])
    for name, right in zip(graph.outputs, expected, strict=True):
        span = right.max() - right.min()
        assert np.abs(found[name] - right).max() <= TOLERANCE * span, name


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_torch_exports_run_as_onnxruntime_does(name: str, exporter: str, exports: Path) -> None:
    from support import networks

    require("gcc")
    path = networks.export(name, exporter, exports)
    graph = simplify(convert(path))
    verify(graph)
    operators = Counter(type(node.op).__name__ for node in graph.nodes)
    assert not operators.keys() & {"Expand", "Cast", "Where"}, "shape arithmetic should have folded"
    assert_same_as_onnxruntime(path, graph, {"x": networks.sample(name, seed=3)})


@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet18"])
def test_no_transpose_is_left_in_a_plain_cnn(name: str, exports: Path) -> None:
    from support import networks

    graph = simplify(convert(networks.export(name, "dynamo", exports)))
    calls = [
        step for layer in lower(graph, target.load("host")) for step in layer.steps if isinstance(step, Call)
    ]
    assert calls
    assert not [call.kernel for call in calls if call.kernel == "copy"]


@pytest.mark.parametrize("name", MLPERF)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_float_mlperf_tiny_networks_run_as_onnxruntime_does(name: str, layout: str, tmp_path: Path) -> None:
    onnx = require_module("onnx")
    require_module("ai_edge_litert")
    require("gcc")
    from support.tflite_to_onnx import translate

    source = require_shared(f"models/mlperf_tiny/{name}.tflite")
    path = tmp_path / f"{name}.onnx"
    onnx.save(translate(source, layout=layout), path)
    graph = simplify(convert(path))
    kind = graph.type(graph.inputs[0])
    x = np.random.default_rng(5).standard_normal(kind.shape).astype(np.float32)
    assert_same_as_onnxruntime(path, graph, {graph.inputs[0]: x})


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*/*.onnx")), ids=lambda p: p.stem)
def test_examples_build_and_know_their_size(path: Path, optimize: str, tmp_path: Path) -> None:
    require("gcc")
    report = build(simplify(convert(path)), target.load("host"), tmp_path / "out", optimize=optimize)
    assert report.arena_bytes == report.arena_lower_bound
    assert report.stack_bytes is not None
    assert report.stack_bytes < 1024
    assert report.verification is not None


def test_large_weights_are_included_by_the_assembler(exports: Path, tmp_path: Path) -> None:
    from support import networks

    require("gcc")
    graph = simplify(convert(networks.export("mobilenet_v2", "dynamo", exports)))
    build(graph, target.load("host"), tmp_path / "out")
    assert (tmp_path / "out" / "mobilenet_v2_weights.bin").stat().st_size >= 13_000_000
    assert not (tmp_path / "out" / "mobilenet_v2_weights.c").exists()


def test_same_model_same_bytes(tmp_path: Path) -> None:
    path = ROOT / "examples/digits/digits.onnx"
    first, second = (
        generate(compile_graph(simplify(convert(path)), target.load("host")), "speed") for _ in range(2)
    )
    assert first == second
