"""Weights that a file stores in fewer bytes than float32 ship so; what is computed does not change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto
from support.onnx_models import model, node, tensor
from support.quantized_models import reference
from support.tflite_writer import Operator, Tensor, constant, network
from support.tools import require, require_module

from edgekit import api
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops._linear import Linear
from edgekit.core.passes import verify
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.types import Array, DType
from edgekit.reports import results

_SHAPES = {"w1": (8, 3, 3, 3), "w2": (8, 1, 3, 3), "w3": (8 * 16, 5), "table": (40, 8)}


def _weights(dtype: np.dtype) -> dict[str, Array]:
    rng = np.random.default_rng(4)
    return {
        name: (rng.standard_normal(shape) * 0.3).astype(np.float32).astype(dtype)
        for name, shape in _SHAPES.items()
    }


def onnx_model(dtype: DType, cast: bool = True) -> ModelProto:
    """Convolutions, a product with a matrix, an embedding, whose weights are stored in a format and cast."""
    weights = _weights(dtype.numpy)
    nodes = [node("Cast", f"{name}_stored", name, to=1) for name in weights if cast]
    nodes += [
        node("Conv", "x w1", "a", pads=[1, 1, 1, 1]),
        node("Relu", "a", "r"),
        node("Conv", "r w2", "b", group=8, strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Flatten", "b", "f"),
        node("MatMul", "f w3", "y"),
        node("Gather", "table i", "rows"),
        node("Add", "rows one", "z"),
    ]
    constants = {f"{name}_stored" if cast else name: data for name, data in weights.items()}
    constants["one"] = np.float32(1)
    ports = [tensor("x", [1, 3, 8, 8]), tensor("i", [2, 3], 7)]
    return model(nodes, constants, inputs=ports, outputs=("y", "z"))


def converted(net: ModelProto, folder: Path) -> Graph:
    path = folder / "net.onnx"
    path.write_bytes(net.SerializeToString())
    graph = api.convert(path)
    verify(graph)
    return graph


def inputs() -> dict[str, Array]:
    rng = np.random.default_rng(1)
    return {"x": rng.standard_normal((1, 3, 8, 8)).astype(np.float32), "i": rng.integers(0, 40, (2, 3))}


def formats(graph: Graph) -> set[str]:
    return {data.dtype.name for _, data in graph.constants() if data.size >= 64}


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16], ids=lambda d: d.value)
def test_weights_of_sixteen_bits_stay_so(dtype: DType, tmp_path: Path) -> None:
    graph = converted(onnx_model(dtype), tmp_path)
    assert formats(graph) == {dtype.numpy.name}
    assert graph.stored_dtypes == ()
    wide = simulate.run(widened_weights(graph), inputs())
    for name, y in simulate.run(graph, inputs()).items():
        np.testing.assert_allclose(y, wide[name], rtol=0, atol=2e-6 * np.abs(y).max())


def test_results_are_those_of_onnxruntime(tmp_path: Path) -> None:
    net = onnx_model(DType.F16)
    found = simulate.run(converted(net, tmp_path), inputs())
    for y, expected in zip(found.values(), reference(net, [inputs()])[0], strict=True):
        np.testing.assert_allclose(y, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_weights_of_floats_stay_floats(tmp_path: Path) -> None:
    graph = converted(onnx_model(DType.F32, cast=False), tmp_path)
    assert formats(graph) == {"float32"}
    assert widened_weights(graph) is graph


def test_numbers_that_a_pass_has_changed_stay_float32(tmp_path: Path) -> None:
    net = onnx_model(DType.F16)
    net.graph.node[4].input[1] = "scaled"  # the weights of the first convolution
    net.graph.node.insert(4, node("Mul", "w1 third", "scaled"))
    net.graph.initializer.extend(model([], {"third": np.float32(1 / 3)}).graph.initializer)
    assert formats(converted(net, tmp_path)) == {"float16", "float32"}


def test_quantizing_starts_from_floats(tmp_path: Path) -> None:
    graph = converted(onnx_model(DType.F16), tmp_path)
    made, _ = api.quantize_model(graph, "random", calibrate="minmax")
    assert any(graph.type(n).dtype is DType.F16 for n in graph.values)
    assert formats(made) <= {"int8", "float32"}


def test_compiled_code_computes_the_same(tmp_path: Path) -> None:
    require("cc")
    graph = converted(onnx_model(DType.F16), tmp_path)
    found = api.build(graph, tmp_path / "net", verify=True)
    assert found.verification is not None
    weights = sum(np.prod(shape) for shape in _SHAPES.values())
    assert found.narrow_weights == {"f16": 2 * weights}
    assert any(
        f"{2 * weights:,} B in f16, expanded to f32 in each run" in line
        for line in results.build(found, verbose=False)
    )
    assert found.weight_bytes < 2.3 * weights


def test_tflite_weights_behind_dequantize_stay_so(tmp_path: Path) -> None:
    require_module("flatbuffers")
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((8, 3, 3, 4)).astype(np.float16)
    x, wide, y = Tensor((1, 6, 6, 4)), Tensor(weights.shape), Tensor((1, 4, 4, 8))
    ops = [
        Operator("DEQUANTIZE", [constant(weights, "float16")], [wide], "DequantizeOptions"),
        Operator(
            "CONV_2D",
            [x, wide, constant(np.zeros(8), "float32")],
            [y],
            "Conv2DOptions",
            {"strideH": 1, "strideW": 1, "padding": 1},
        ),
    ]
    path = tmp_path / "net.tflite"
    path.write_bytes(network(ops, [x], [y]))
    assert formats(api.convert(path)) == {"float16"}


@dataclass(frozen=True)
class Scheme:
    """How a file stores weights as integers."""

    dtype: DType = DType.S8
    per_channel: bool = True

    def __str__(self) -> str:
        return f"{self.dtype.value}{'-channels' * self.per_channel}"


SCHEMES = [Scheme(), Scheme(per_channel=False), Scheme(DType.S4), Scheme(DType.U8)]


def integer_weights(scheme: Scheme) -> ModelProto:
    """The same network with weights behind DequantizeLinear; unsigned ones around 128."""
    net = onnx_model(DType.F32, cast=False)
    most = 7 if scheme.dtype is DType.S4 else 127
    axes = {"w1": 0, "w2": 0, "w3": 1, "table": None}
    constants, nodes = {"one": np.float32(1)}, []
    for name, data in _weights(np.dtype(np.float32)).items():
        axis = axes[name] if scheme.per_channel else None
        others = None if axis is None else tuple(i for i in range(data.ndim) if i != axis)
        scale = np.abs(data).max(axis=others) / np.float32(most)
        spread = scale if axis is None else np.expand_dims(scale, others)
        zero = 128 if scheme.dtype is DType.U8 else 0
        constants[f"{name}_q"] = (np.rint(data / spread) + zero).astype(scheme.dtype.numpy)
        constants[f"{name}_s"] = scale.astype(np.float32)
        constants[f"{name}_z"] = np.full(scale.shape, zero, scheme.dtype.numpy)
        axis = {} if axis is None else {"axis": axis}
        nodes.append(node("DequantizeLinear", f"{name}_q {name}_s {name}_z", name, **axis))
    nodes += net.graph.node
    return model(nodes, constants, inputs=list(net.graph.input), outputs=("y", "z"), opset=21)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_weights_of_integers_stay_bytes(scheme: Scheme, tmp_path: Path) -> None:
    net = integer_weights(scheme)
    graph = converted(net, tmp_path)
    assert formats(graph) == {"int8"}
    found = simulate.run(graph, inputs())
    for y, expected in zip(found.values(), reference(net, [inputs()])[0], strict=True):
        np.testing.assert_allclose(y, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    wide = simulate.run(widened_weights(graph), inputs())
    for name, y in found.items():
        np.testing.assert_allclose(y, wide[name], rtol=0, atol=1e-6 * np.abs(y).max())


def test_compiled_code_computes_floats_with_bytes(tmp_path: Path) -> None:
    require("cc")
    graph = converted(integer_weights(Scheme()), tmp_path)
    found = api.build(graph, tmp_path / "net", verify=True)
    weights = sum(np.prod(shape) for shape in _SHAPES.values())
    assert found.narrow_weights == {"s8": weights}
    assert found.weight_bytes < 1.5 * weights


def test_weights_of_bytes_go_into_a_file_and_back(tmp_path: Path) -> None:
    graph = converted(integer_weights(Scheme()), tmp_path)
    api.save(graph, tmp_path / "net.ek")
    assert api.load(tmp_path / "net.ek") == graph


def test_quantizing_weights_of_bytes_starts_from_floats(tmp_path: Path) -> None:
    graph = converted(integer_weights(Scheme()), tmp_path)
    made, _ = api.quantize_model(graph, "random", calibrate="minmax")
    assert not any(
        made.type(node.inputs[0]).dtype is DType.F32 for node in made.nodes if isinstance(node.op, Linear)
    )


def test_tflite_weights_of_a_hybrid_layer_stay_bytes(tmp_path: Path) -> None:
    """What TFLite calls dynamic range quantization: floats go in, weights are int8."""
    require_module("flatbuffers")
    weights = np.random.default_rng(2).integers(-127, 128, (24, 16))
    x, y = Tensor((2, 16)), Tensor((2, 24))
    layer = Operator(
        "FULLY_CONNECTED",
        [x, constant(weights, "int8", scale=[0.02], zero=[0]), constant(np.zeros(24), "float32")],
        [y],
        "FullyConnectedOptions",
    )
    path = tmp_path / "net.tflite"
    path.write_bytes(network([layer], [x], [y]))
    graph = api.convert(path)
    assert formats(graph) == {"int8"}
    sample = {graph.inputs[0]: np.random.default_rng(3).standard_normal((2, 16)).astype(np.float32)}
    (found,) = simulate.run(graph, sample).values()
    np.testing.assert_allclose(
        found, next(iter(sample.values())) @ (weights.T * np.float32(0.02)), rtol=1e-5, atol=1e-5
    )


def test_weights_whose_bias_has_no_float_in_their_units_stay_floats(tmp_path: Path) -> None:
    """1e10 is 1e46 in units of 1e-36."""
    weights = np.arange(-64, 64, dtype=np.int8).reshape(8, 16)
    nodes = [node("DequantizeLinear", "q scale", "w"), node("Gemm", "x w bias", "y")]
    constants = {"q": weights, "scale": np.float32(1e-36), "bias": np.full(16, 1e10, np.float32)}
    graph = converted(model(nodes, constants, inputs=[tensor("x", [1, 8])], outputs=("y",)), tmp_path)
    assert formats(graph) == {"float32"}
    found = simulate.run(graph, {"x": np.ones((1, 8), np.float32)})["y"]
    np.testing.assert_array_equal(found, np.full((1, 16), 1e10, np.float32))


def test_a_graphics_processor_gets_floats(tmp_path: Path) -> None:
    graph = converted(integer_weights(Scheme()), tmp_path)
    made = compile_graph(graph, target.load("opencl"))
    assert not any("scaled" in line.kernel.name for line in made.lines)
    halves = compile_graph(converted(onnx_model(DType.F16), tmp_path), target.load("opencl"))
    assert formats(halves.graph) == {"float16"}
