"""What onnxruntime.quantization.quantize_dynamic writes: its numbers, from weights that stay bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from support.dynamic_models import (
    NETWORKS,
    Network,
    attention,
    convolutions,
    gru,
    lstm,
    perceptron,
    quantized,
    reference,
    samples,
)
from support.onnx_models import model, node, tensor
from support.tools import require

from edgekit import api
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.dynamic_quantize import DynamicQuantize, DynamicQuantizeDense, DynamicQuantizeLstm
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.passes.static_form import static_form
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.types import Array, DType, Type
from edgekit.onnx_backend import compile_programs

SCHEMES = [(unsigned, per_channel) for unsigned in (False, True) for per_channel in (False, True)]


def imported(net: ModelProto) -> Graph:
    graph = simplify(onnx_reader.convert(net))
    verify(graph)
    return graph


def assert_near(found: dict[str, Array], expected: list[Array]) -> None:
    """Integers are equal; what is left are the last bits of sigmoid, tanh and softmax."""
    for (name, ours), theirs in zip(found.items(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-6 * np.abs(theirs).max(), err_msg=name)


def flash(constants: Iterable[Array]) -> int:
    """Bytes of what is a matrix at least."""
    return sum(data.nbytes for data in constants if data.ndim > 1)


@pytest.mark.parametrize(("unsigned", "per_channel"), SCHEMES)
@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.__name__)
def test_networks_compute_what_onnxruntime_computes(
    network: Network, unsigned: bool, per_channel: bool
) -> None:
    for seed in (1, 2):
        net = quantized(network(np.random.default_rng(seed)), unsigned, per_channel)
        inputs = samples(net, seed)
        assert_near(simulate.run(imported(net), inputs), reference(net, inputs))


@pytest.mark.parametrize("network", [convolutions, gru, lstm, perceptron], ids=lambda n: n.__name__)
def test_weights_take_the_flash_that_they_take_in_the_file(network: Network) -> None:
    net = quantized(network(np.random.default_rng(3)), False, True)
    stored = [numpy_helper.to_array(t) for t in net.graph.initializer]
    ours = [data for _, data in imported(net).constants()]
    assert flash(ours) <= flash(stored)


def test_c_computes_the_same_integers() -> None:
    require("cc")
    cases = [
        (network(np.random.default_rng(5)), scheme)
        for network in NETWORKS
        for scheme in (SCHEMES[0], SCHEMES[3])
    ]
    nets = [quantized(net, *scheme) for net, scheme in cases]
    graphs = [imported(net).with_name(f"net{i}") for i, net in enumerate(nets)]
    programs = [compile_graph(graph, target.load("host")) for graph in graphs]
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        driver, errors = compile_programs(programs, Path(folder), "speed", ("-O1", "-w"))
        assert not errors
        for net, made in zip(nets, programs, strict=True):
            inputs = samples(net, 7)
            assert_near(driver.run(made, inputs), list(simulate.run(made.graph, inputs).values()))


@pytest.mark.parametrize("operator", ["DynamicQuantizeMatMul", "MatMulIntegerToFloat"])
@pytest.mark.parametrize("seed", range(3))
def test_fused_matrix_products(operator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = np.uint8 if seed % 2 else np.int8
    inputs, outputs = rng.integers(1, 40, 2)
    scales = () if seed == 2 else (outputs,)
    constants = {
        "b": rng.integers(-60, 60, (inputs, outputs)).astype(kind),
        "bs": (rng.random(scales) * 0.01 + 0.001).astype(np.float32),
        "bz": rng.integers(-9, 9, scales).astype(kind),
        "bias": rng.standard_normal(outputs).astype(np.float32),
    }
    if operator == "DynamicQuantizeMatMul":
        nodes = [helper.make_node(operator, ["x", "b", "bs", "bz", "bias"], ["y"], domain="com.microsoft")]
    else:
        fused = ["q", "b", "s", "bs", "z", "bz", "bias"]
        nodes = [node("DynamicQuantizeLinear", "x", "q s z")]
        nodes += [helper.make_node(operator, fused, ["y"], domain="com.microsoft")]
    net = model(nodes, constants, inputs=[tensor("x", [2, 3, int(inputs)])])
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    given = samples(net, seed)
    assert_near(simulate.run(imported(net), given), reference(net, given))


def test_activations_without_a_range_are_zero() -> None:
    net = quantized(lstm(np.random.default_rng(3)), False, True)
    zeros = {name: np.zeros_like(x) for name, x in samples(net, 1).items()}
    assert_near(simulate.run(imported(net), zeros), reference(net, zeros))


def test_padded_steps_have_no_part_in_the_scale_of_a_state() -> None:
    net = quantized(lstm(np.random.default_rng(3)), False, True)
    net.graph.initializer.append(numpy_helper.from_array(np.int32([5, 1, 2]), "lengths"))
    for layer in net.graph.node:
        if layer.op_type == "DynamicQuantizeLSTM":
            layer.input[4] = "lengths"
    inputs = samples(net, 3)
    assert_near(simulate.run(imported(net), inputs), reference(net, inputs))


@pytest.mark.parametrize("broken", ["w", "r", "w_scale", "r_zero_point"])
def test_weights_of_an_lstm_that_do_not_fit_are_refused(broken: str) -> None:
    net = quantized(lstm(np.random.default_rng(3)), False, True)
    (first,) = [n for n in net.graph.node if n.output[0] == "y1"]
    names = dict(
        zip(
            ("x", "w", "r", "b", "l", "h", "c", "p", "w_scale", "w_zero_point", "r_scale", "r_zero_point"),
            range(12),
            strict=True,
        )
    )
    first.input[names[broken]] = "b1"
    with pytest.raises(EdgeKitError, match="E0"):
        onnx_reader.convert(net)


def test_an_lstm_of_weights_without_sign() -> None:
    net = quantized(lstm(np.random.default_rng(3)), False, True)
    layers = [n for n in net.graph.node if n.op_type == "DynamicQuantizeLSTM"]
    names = {layer.input[i] for layer in layers for i in (1, 2, 9, 11)}  # weights, and their zero points
    for constant in net.graph.initializer:
        if constant.name in names:
            above = numpy_helper.to_array(constant).astype(np.int16) + 128
            constant.CopyFrom(numpy_helper.from_array(above.astype(np.uint8), constant.name))
    inputs = samples(net, 2)
    assert len(layers) == 2
    assert_near(simulate.run(imported(net), inputs), reference(net, inputs))


@pytest.mark.parametrize("inputs", [300, 700])
@pytest.mark.parametrize("zero", [0, 9])
def test_sums_that_float32_does_not_hold_are_integers(inputs: int, zero: int) -> None:
    """The largest that bytes make: 255 times 127, beyond 2^24 from 518 inputs on."""
    weights = np.full((inputs, 3), 127, np.int8)
    nodes = [node("MatMulInteger", "x w xz wz", "y")]
    constants = {"w": weights, "xz": np.uint8(0), "wz": np.int8(zero)}
    net = model(nodes, constants, inputs=[tensor("x", [2, inputs], 2)])
    x = np.random.default_rng(1).integers(200, 256, (2, inputs)).astype(np.uint8)
    graph = imported(net)
    (y,) = simulate.run(graph, {"x": x}).values()
    np.testing.assert_array_equal(y, x.astype(np.int32) @ (weights.astype(np.int32) - zero))
    layers = {
        (type(n.op), graph.type(n.inputs[0]).dtype) for n in graph.nodes if n.op.macs(*_types(graph, n))
    }
    assert layers == {(DynamicQuantizeDense, DType.S8) if inputs < 518 else (Dense, DType.S32)}


@pytest.mark.parametrize("operator", ["MatMulInteger", "ConvInteger"])
@pytest.mark.parametrize("inputs", [250, 301, 601])
def test_sums_of_weights_of_nine_bits_are_exact(operator: str, inputs: int) -> None:
    """Up to 255 times 255 a weight, beyond 2^24 from 259 inputs on."""
    rng = np.random.default_rng(inputs)
    weights = rng.integers(250, 256, (inputs, 3)).astype(np.uint8)
    x = rng.integers(250, 256, (4, inputs)).astype(np.uint8)
    is_matrix = operator == "MatMulInteger"
    stored = weights if is_matrix else weights.T[..., None]
    constants = {"w": stored, "xz": np.uint8(0), "wz": np.uint8(0)}
    given = x if is_matrix else x.T[None]
    net = model([node(operator, "x w xz wz", "y")], constants, inputs=[tensor("x", given.shape, 2)])
    (y,) = simulate.run(imported(net), {"x": given}).values()
    expected = x.astype(np.int32) @ weights.astype(np.int32)
    np.testing.assert_array_equal(y, expected if is_matrix else expected.T[None])


def _types(graph: Graph, node: Node) -> list[Type]:
    return [graph.type(name) for name in node.inputs]


@pytest.mark.parametrize("least", [-128, -127, 0])
@pytest.mark.parametrize("zero", [0, 100, 128, 255])
def test_bytes_of_any_range_are_multiplied_as_they_are(least: int, zero: int) -> None:
    """Weights that fit into int8 around their zero point, or do not; activations of one sign, and both."""
    rng = np.random.default_rng(zero)
    weights = rng.integers(least, 128, (40, 5)).astype(np.int8).astype(np.int16) + 128
    constants = {
        "w": weights.astype(np.uint8),
        "ws": rng.uniform(0.001, 0.01, 5).astype(np.float32),
        "wz": np.full(5, zero, np.uint8),
    }
    nodes = [helper.make_node("DynamicQuantizeMatMul", ["x", "w", "ws", "wz"], ["y"], domain="com.microsoft")]
    net = model(nodes, constants, inputs=[tensor("x", [3, 40])])
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    graph = imported(net)
    fits = all(-128 <= n - zero <= 127 for n in (weights.min(), weights.max()))
    assert any(isinstance(n.op, DynamicQuantizeDense) for n in graph.nodes) is fits
    for given in (
        samples(net, 1),
        {"x": np.abs(samples(net, 2)["x"]) + 1},
        {"x": -np.abs(samples(net, 3)["x"])},
    ):
        assert_near(simulate.run(graph, given), reference(net, given))


@pytest.mark.parametrize("network", [attention, convolutions, lstm, perceptron], ids=lambda n: n.__name__)
@pytest.mark.parametrize("unsigned", [False, True])
def test_static_quantization_starts_from_the_float_network(network: Network, unsigned: bool) -> None:
    net = network(np.random.default_rng(4))
    graph = widened_weights(imported(quantized(net, unsigned, True)))
    static = static_form(graph)
    verify(static)
    assert not any(
        isinstance(n.op, DynamicQuantize | DynamicQuantizeDense | DynamicQuantizeLstm) for n in static.nodes
    )
    inputs = samples(net, 4)
    for y, expected in zip(simulate.run(static, inputs).values(), reference(net, inputs), strict=True):
        assert np.abs(y - expected).max() < 0.06 * np.abs(expected).max()  # what seven bits do to weights


def test_a_dynamically_quantized_network_becomes_a_static_one() -> None:
    net = convolutions(np.random.default_rng(4))
    made, _ = api.quantize_model(imported(quantized(net, False, True)), "random", calibrate="minmax")
    layers = [made.type(n.inputs[0]).dtype for n in made.nodes if isinstance(n.op, Linear)]
    assert layers == [DType.S8] * 4
