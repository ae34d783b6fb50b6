"""Models that come quantized become layers on integers: onnxruntime's numbers, and the same ones in C."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from support import quantized_models as nets
from support.onnx_models import model, node, tensor
from support.quantized_models import LAYERS, NETWORKS, SCHEMES, Network, Scheme, quantized, reference, samples
from support.tools import require, require_module, require_shared

from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, DType
from edgekit.onnx_backend import compile_programs

# An instance of a layer's kernel with integers: the formats follow its name.
_INTEGER_LAYER = re.compile(r"(conv2d(_add_\w+)?|depthwise2d|dense)_s(8|16)")


def imported(net: ModelProto) -> Graph:
    graph = simplify(onnx_reader.convert(net))
    verify(graph)
    return graph


def program(graph: Graph) -> Program:
    return compile_graph(graph, target.load("host"))


def float_macs(made: Program) -> int:
    """Multiplications in kernels that are not for integers."""
    return sum(line.macs for line in made.lines if not _INTEGER_LAYER.match(line.kernel.name))


def float_nodes(graph: Graph) -> list[str]:
    """Operators that compute on reals, other than those that convert and move them."""
    return [
        type(n.op).__name__
        for n in graph.nodes
        if graph.type(n.outputs[0]).dtype.is_float
        and not isinstance(n.op, Dequantize)
        and not n.op.is_data_movement
    ]


def unit(net: ModelProto) -> float:
    """The scale of the last quantized tensor of a file."""
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in net.graph.initializer}
    (last,) = [n for n in net.graph.node if n.output[0] == net.graph.output[0].name]
    assert last.op_type == "DequantizeLinear", last.op_type
    return float(constants[last.input[1]])


def distance(net: ModelProto, graph: Graph, inputs: Sequence[dict[str, Array]]) -> float:
    """How far the simulator is from onnxruntime."""
    pairs = zip(inputs, reference(net, inputs), strict=True)
    return max(float(np.abs(simulate.run(graph, x)[graph.outputs[0]] - y[0]).max()) for x, y in pairs)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.__name__)
def test_networks_compute_on_bytes_alone(network: Network, scheme: Scheme) -> None:
    net = quantized(network(np.random.default_rng(3)), scheme)
    graph = imported(net)
    assert float_macs(program(graph)) == 0
    assert float_nodes(graph) == []
    quantizers = [n for n in graph.nodes if isinstance(n.op, Quantize)]
    assert len(quantizers) == 1, "only the input is quantized"
    assert all(graph.type(name).dtype is not DType.U8 for name in graph.values)


@pytest.mark.parametrize("scheme", [s for s in SCHEMES if s.per_channel == s.symmetric], ids=str)
@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_each_layer_is_within_one_unit_of_onnxruntime(layer: str, scheme: Scheme) -> None:
    net = LAYERS[layer](np.random.default_rng(5))
    came = quantized(net, scheme)
    graph = imported(came)
    assert float_nodes(graph) == []
    inputs = samples(net, 4, seed=11)
    assert distance(came, graph, inputs) <= unit(came) * (1 + 1e-4)


@pytest.mark.slow
def test_c_computes_the_same_bits() -> None:
    require("cc")
    schemes = [s for s in SCHEMES if s.per_channel]
    cases = [(network(np.random.default_rng(7)), s) for network in NETWORKS for s in schemes]
    cases += [(layer(np.random.default_rng(7)), schemes[0]) for layer in LAYERS.values()]
    programs = []
    for i, (net, scheme) in enumerate(cases):
        programs.append(program(imported(quantized(net, scheme)).with_name(f"net{i}")))
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        driver, errors = compile_programs(programs, Path(folder), "speed", ("-O1", "-w"))
        assert not errors
        for made, (net, _) in zip(programs, cases, strict=True):
            for x in samples(net, 3, seed=13):
                found, expected = driver.run(made, x), simulate.run(made.graph, x)
                for name in made.graph.outputs:
                    np.testing.assert_array_equal(found[name], expected[name])


def test_layers_of_sixteen_bits_take_weights_of_eight() -> None:
    q = require_module("onnxruntime.quantization")
    for type in (q.QuantType.QInt16, q.QuantType.QUInt16):
        net = nets.convolutions(np.random.default_rng(3))
        came = quantized(net, SCHEMES[0], activations=type)
        graph = imported(came)
        assert float_macs(program(graph)) == 0
        assert float_nodes(graph) == []
        assert distance(came, graph, samples(net, 4, seed=11)) <= 2 * unit(came)


@pytest.mark.parametrize("operators", [False, True])
def test_weights_without_sign_that_do_not_fit_are_right_too(operators: bool) -> None:
    scheme = Scheme(operators, True, False, False, unsigned_weights=True)
    net = LAYERS["convolution"](np.random.default_rng(5))
    came = quantized(net, scheme)
    graph = imported(came)
    assert not any(isinstance(n.op, Conv2d) and graph.type(n.inputs[0]).quant for n in graph.nodes)
    if operators:  # behind DequantizeLinear they are floats
        assert all(data.itemsize == 1 for _, data in graph.constants() if data.ndim > 1)
    assert distance(came, graph, samples(net, 4, seed=11)) <= unit(came) * (1 + 1e-4)


def test_weights_without_sign_around_the_middle_are_bytes_with_one() -> None:
    scheme = Scheme(False, True, False, False, unsigned_weights=True)
    net = LAYERS["convolution"](np.random.default_rng(5))
    came = quantized(net, scheme, WeightSymmetric=True)
    graph = imported(came)
    assert float_nodes(graph) == []
    assert distance(came, graph, samples(net, 4, seed=11)) <= unit(came) * (1 + 1e-4)


@pytest.mark.parametrize(("zero", "fits"), [(127, False), (128, True), (129, False)])
def test_weights_that_fit_into_signed_bytes_up_to_both_ends_are_a_layer(zero: int, fits: bool) -> None:
    """0 to 255 around the middle; one further, and the largest or the least is too much."""
    weights = np.array([[0, 255], [7, 128], [255, 0]], np.uint8)
    constants = {"xs": np.float32(0.05), "xz": np.uint8(3), "w": weights, "ws": np.float32(0.01)}
    constants |= {"wz": np.uint8(zero), "ys": np.float32(0.1), "yz": np.uint8(100)}
    nodes = [
        node("QuantizeLinear", "x xs xz", "q"),
        node("QLinearMatMul", "q xs xz w ws wz ys yz", "p"),
        node("DequantizeLinear", "p ys yz", "y"),
    ]
    net = model(nodes, constants, inputs=[tensor("x", [2, 3])])
    graph = imported(net)
    layers = [n for n in graph.nodes if isinstance(n.op, Dense) and graph.type(n.inputs[0]).quant]
    assert bool(layers) is fits
    assert distance(net, graph, [{"x": np.float32([[0, 5, 9], [-0.1, 12, 1]])}]) <= 0.1 * (1 + 1e-4)


@pytest.mark.parametrize("late", ["ws", "wz", "w", "xs", "xz", "ys yz", "w ws wz xs xz ys yz"])
@pytest.mark.parametrize(
    "layer", ["QLinearConv x xs xz w ws wz ys yz", "QLinearMatMul w ws wz x xs xz ys yz"]
)
def test_parameters_that_come_at_run_time_give_the_same_numbers(layer: str, late: str) -> None:
    rng = np.random.default_rng(9)
    constants: dict[str, Any] = {
        "xs": np.float32(0.05),
        "xz": np.uint8(7),
        "w": rng.integers(-100, 100, (5, 6)).astype(np.int8),
        "ws": np.float32(0.01),
        "wz": np.int8(3),
        "ys": np.float32(0.02),
        "yz": np.uint8(120),
    }
    operator, operands = layer.split(" ", 1)
    shape = [1, 6, 4] if operator == "QLinearConv" else [6, 4]
    if operator == "QLinearConv":
        constants["w"] = constants["w"][..., None]
    x = rng.integers(0, 256, shape).astype(np.uint8)
    ports = [tensor("x", shape, TensorProto.UINT8)]
    whole = imported(model([node(operator, operands, "y")], constants, inputs=ports))
    given = {name: constants.pop(name) for name in late.split()}
    ports += [
        tensor(name, data.shape, onnx.helper.np_dtype_to_tensor_dtype(data.dtype))
        for name, data in given.items()
    ]
    graph = imported(model([node(operator, operands, "y")], constants, inputs=ports))
    (expected,), (found,) = (
        simulate.run(g, {"x": x} | more).values() for g, more in ((whole, {}), (graph, given))
    )
    assert len(np.unique(expected)) > 5
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1


def bytes_in_and_out(zero: int) -> ModelProto:
    """A convolution and a maximum over unsigned bytes, without conversions at the ends."""
    nodes = [
        node("DequantizeLinear", "x s z", "xr"),
        node("DequantizeLinear", "w s wz", "wr"),
        node("Conv", "xr wr", "c"),
        node("QuantizeLinear", "c s2 z2", "q"),
        node("MaxPool", "q", "p", kernel_shape=[2, 2]),
        node("Transpose", "p", "y", perm=[0, 2, 3, 1]),
    ]
    rng = np.random.default_rng(0)
    constants = {
        "s": np.float32(0.05),
        "z": np.uint8(zero),
        "w": rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "wz": np.int8(0),
        "s2": np.float32(0.2),
        "z2": np.uint8(128),
    }
    net = model(nodes, constants, inputs=[tensor("x", [1, 3, 6, 6], TensorProto.UINT8)], opset=13)
    net.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
    return net


@pytest.mark.parametrize("zero", [0, 100, 128, 255])
def test_unsigned_bytes_are_flipped_once_at_each_end(zero: int) -> None:
    net = bytes_in_and_out(zero)
    graph = imported(net)
    flips = [n for n in graph.nodes if isinstance(n.op, FlipSign)]
    assert len(flips) == 2, "one for each end"
    assert flips[0].inputs == ("x",)
    assert float_nodes(graph) == []
    rng = np.random.default_rng(1)
    inputs = [{"x": rng.integers(0, 256, (1, 3, 6, 6)).astype(np.uint8)} for _ in range(3)]
    for x, (y,) in zip(inputs, reference(net, inputs), strict=True):
        assert np.abs(simulate.run(graph, x)["y"].astype(int) - y.astype(int)).max() <= 1


def test_integers_in_the_hands_of_a_model_are_plain() -> None:
    """A model may compute with the integers themselves: they stand for nothing then."""
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("Cast", "q", "i", to=TensorProto.INT32),
        node("Mul", "i i", "y"),
    ]
    net = model(nodes, {"s": np.float32(0.1), "z": np.uint8(7)})
    graph = imported(net)
    x = {"x": np.linspace(-2, 30, 6, dtype=np.float32).reshape(2, 3)}
    expected = (np.rint(x["x"] / np.float32(0.1)) + 7).clip(0, 255).astype(np.int32) ** 2
    np.testing.assert_array_equal(simulate.run(graph, x)["y"], expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "vww_96_float"])
@pytest.mark.parametrize("scheme", [SCHEMES[2], SCHEMES[-1]], ids=str)
def test_the_networks_of_mlperf_tiny_compute_on_bytes_alone(name: str, scheme: Scheme) -> None:
    require_module("ai_edge_litert")
    from support.tflite_to_onnx import translate

    net = translate(require_shared(f"models/mlperf_tiny/{name}.tflite"), "NCHW")
    graph = imported(quantized(net, scheme))
    assert float_macs(program(graph)) == 0
    assert float_nodes(graph) == []


def test_pytorchs_export_is_bit_for_bit_its_own() -> None:
    folder = require_shared("frontends/samples/torch")
    graph = imported(onnx.load(folder / "net_pt2e_int8.onnx"))
    assert float_macs(program(graph)) == 0
    assert float_nodes(graph) == []
    data = np.load(folder / "net_pt2e_int8_io.npz")
    np.testing.assert_array_equal(simulate.run(graph, {"x": data["x"]})[graph.outputs[0]], data["y"])


def test_a_tflite_model_by_way_of_onnx_has_no_floats() -> None:
    path = require_shared("frontends/samples/tf/net_from_tflite_int8.onnx")
    graph = imported(onnx.load(path))
    assert float_macs(program(graph)) == 0
    assert not any(graph.type(name).dtype.is_float for name in graph.values)
    rng = np.random.default_rng(2)
    (name,) = graph.inputs
    inputs = [{name: rng.integers(-128, 128, graph.type(name).shape).astype(np.int8)} for _ in range(20)]
    for x, (y,) in zip(inputs, reference(onnx.load(path), inputs), strict=True):
        found = simulate.run(graph, x)[graph.outputs[0]]
        assert np.abs(found.astype(int) - y.astype(int)).max() <= 2  # two layers


def test_averages_of_integers_do_not_count_what_is_beyond_the_padding() -> None:
    """As those of floats. onnxruntime's kernel for integers counts the cells that ceil_mode adds, its kernel
    for floats does not: random networks leave that pair of attributes out, until both kernels agree."""
    runtime = require_module("onnxruntime")
    window = {"kernel_shape": [3, 3], "strides": [3, 2], "pads": [2, 1, 0, 0]}
    window |= {"count_include_pad": 1, "ceil_mode": 1}
    x = np.random.default_rng(3).integers(0, 256, (1, 2, 11, 10), np.uint8)
    real = model([node("AveragePool", "x", "y", **window)], inputs=[tensor("x", x.shape)], opset=19)
    constants = {"scale": np.float32(1), "zero": np.uint8(0)}
    operands = "x scale zero scale zero"
    integers = node("QLinearAveragePool", operands, "y", domain="com.microsoft", **window)
    made = model([integers], constants, inputs=[tensor("x", x.shape, TensorProto.UINT8)], opset=19)
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.UINT8
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    (found,) = simulate.run(simplify(onnx_reader.convert(made)), {"x": x}).values()
    right, other = (
        runtime.InferenceSession(proto.SerializeToString()).run(None, {"x": x.astype(dtype)})[0].astype(float)
        for proto, dtype in ((real, np.float32), (made, np.uint8))
    )
    assert np.abs(found - right).max() <= 0.51
    assert np.abs(other - right).max() > 1
