"""Outputs of dense layers in 16ths of the steps of int8, where they leave as floats."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.nets import Net, kinds

from edgekit.api import quantize_model
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Gelu, Sigmoid, Tanh
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes import verify
from edgekit.core.passes.int16_outputs import has_fraction, with_fraction, with_int8_outputs
from edgekit.core.types import Array, DType, Quant, Type
from edgekit.integer_ports import with_integer_ports
from edgekit.quantize.measure import sqnr
from edgekit.quantize.settings import Settings

SIZE = 32


def data(count: int, seed: int = 2) -> Array:
    return np.random.default_rng(seed).normal(size=(count, 1, SIZE)).astype(np.float32)


def dense(net: Net, x: str, outputs: int, inputs: int = SIZE, lo: float = -math.inf) -> str:
    weights = net.random(outputs, inputs) / inputs**0.5
    return net(Dense(lo), x, weights, net.random(outputs), name=f"y{len(net.nodes)}")


def classifier() -> Graph:
    """Scores without a softmax, moved once more."""
    net = Net()
    net.done(net(Reshape((10,)), dense(net, net.x(1, SIZE), 10)))
    return net.graph("net", ["x"], [net.nodes[-1].outputs[0]])


def perceptron(size: int) -> Graph:
    """A dense layer in front of the one that gives scores."""
    net = Net()
    hidden = dense(net, net.x(1, SIZE), size, lo=0.0)
    return net.done(dense(net, hidden, 10, size))


def with_softmax() -> Graph:
    net = Net()
    return net.done(net(Softmax(), dense(net, net.x(1, SIZE), 10)))


def with_a_second_reader() -> Graph:
    """An output that another layer reads, too, whose result is an output as well."""
    net = Net()
    first = dense(net, net.x(1, SIZE), 1024)
    return net.graph("net", ["x"], [first, dense(net, first, 4, 1024)])


def joined_with_a_convolution() -> Graph:
    """Scores of a dense layer and of a convolution, in one tensor."""
    net = Net()
    x = net.x(1, SIZE)
    image = net(Reshape((1, 1, 1, SIZE)), x)
    other = net(Conv2d(), image, net.random(4, 1, 1, SIZE) / 6, net.random(4))
    return net.done(net(Concat(1), dense(net, x, 4), net(Reshape((1, 4)), other)))


def fractional(graph: Graph, **options: Any) -> set[str]:
    """The tensors that have parts of the steps of int8."""
    made, _ = quantize_model(graph, data(16), calibrate="minmax", **options)
    verify(made)
    return {name for name, value in made.values.items() if has_fraction(value.type)}


def test_scores_keep_what_int8_rounds_away() -> None:
    graph = classifier()
    made, found = quantize_model(graph, data(32))
    strict, _ = quantize_model(graph, data(32), strict_int8=True)
    assert kinds(made) == kinds(strict) == ["Quantize", "Dense", "Reshape", "Dequantize"]
    assert {layer.runs_in for layer in found.layers} == {"int8"}
    (output,) = graph.outputs
    assert made.type(output) == strict.type(output) == graph.type(output)
    unseen = [{"x": x} for x in data(100, seed=5)]
    exact, ours, before = ([simulate.run(g, x)[output] for x in unseen] for g in (graph, made, strict))
    assert sqnr(exact, ours) > sqnr(exact, before) + 1


def test_integer_outputs_are_those_of_int8() -> None:
    made, _ = quantize_model(classifier(), data(32))
    (output,) = made.outputs
    whole = with_int8_outputs(made)
    verify(whole)
    assert with_int8_outputs(whole) is whole
    ported = with_integer_ports(made, "int8")
    assert ported.type(output).dtype is DType.S8
    inner, outer = (next(n for n in g.nodes if isinstance(n.op, Dense)).outputs[0] for g in (made, whole))
    for x in data(50, seed=6):
        parts = simulate.run_all(made, {"x": x})[inner].astype(np.int32)
        values = simulate.run_all(whole, {"x": x})
        assert np.abs(parts - 8 - 16 * values[outer].astype(np.int32)).max() <= 8
        quantized = next(node.outputs[0] for node in whole.nodes)
        integers = simulate.run(ported, {"x": values[quantized]})[output]
        np.testing.assert_array_equal(integers, values[outer].reshape(-1))


def test_gpus_have_int8_outputs() -> None:
    made, _ = quantize_model(classifier(), data(32))
    program = compile_graph(made, target.load("opencl"))
    assert not any(has_fraction(value.type) for value in program.graph.values.values())
    assert program.gpu is not None
    assert not program.gpu.segments


@pytest.mark.parametrize("build", [with_softmax, joined_with_a_convolution])
def test_what_others_read_or_give_too_stays_int8(build: Callable[[], Graph]) -> None:
    assert not fractional(build())


def test_an_output_that_a_layer_reads_stays_int8_and_that_of_the_layer_does_not() -> None:
    graph = with_a_second_reader()
    made, _ = quantize_model(graph, data(16), calibrate="minmax")
    first, second = (node.outputs[0] for node in made.nodes if isinstance(node.op, Dense))
    assert made.type(first).dtype is DType.S8
    assert has_fraction(made.type(second))


def test_a_kernel_more_is_for_networks_beside_which_it_is_small() -> None:
    assert fractional(classifier())
    assert not fractional(perceptron(64))
    assert fractional(perceptron(1024))


@pytest.mark.parametrize(
    "options",
    [{"strict_int8": True}, {"io": "int8"}, {"io": "uint8"}, {"weights": "int4"}, {"activations": "int16"}],
)
def test_other_formats_have_no_outputs_of_16_bits(options: dict[str, Any]) -> None:
    assert not fractional(perceptron(1024), **options)


def test_other_tensors_of_16_bits_are_not_taken_for_parts_of_steps() -> None:
    step = Quant((0.0371,), (-17,))
    parts = Type(DType.S16, (4,), with_fraction(step))
    assert has_fraction(parts)
    assert math.isclose(with_fraction(step).scale[0] * 16, step.scale[0], rel_tol=2**-12)
    assert not has_fraction(dataclasses.replace(parts, dtype=DType.S8))
    for quant in (None, Quant((0.0371 / 16,), (-264,)), Quant((2**-9,), (0,)), Quant((2**-9,), (16_008,))):
        assert not has_fraction(Type(DType.S16, (4,), quant))


def test_settings_tell_where_outputs_may_have_16_bits() -> None:
    assert Settings().has_int16_outputs
    assert Settings(weights="int4").has_int16_outputs
    assert not Settings(dtype="f16").has_int16_outputs


def squashed(op: Any, outputs: int = 64, hidden: int = 1024) -> Graph:
    """A function behind the last dense layer, moved once more."""
    net = Net()
    inner = dense(net, net.x(1, SIZE), hidden, lo=0.0)
    net.done(net(Reshape((outputs,)), net(op, dense(net, inner, outputs, hidden))))
    return net.graph("net", ["x"], [net.nodes[-1].outputs[0]])


@pytest.mark.parametrize("op", [Tanh(), Sigmoid()])
def test_functions_behind_are_computed_in_floats(op: Any) -> None:
    graph = squashed(op)
    made, found = quantize_model(graph, data(32))
    strict, _ = quantize_model(graph, data(32), strict_int8=True)
    kind = type(op).__name__
    assert kinds(made) == ["Quantize", "Dense", "Dense", "Dequantize", kind, "Reshape"]
    assert kinds(strict) == ["Quantize", "Dense", "Dense", kind, "Reshape", "Dequantize"]
    assert not any("integer form" in warning for warning in found.warnings)
    (output,) = graph.outputs
    unseen = [{"x": x} for x in data(100, seed=5)]
    exact, ours, before = ([simulate.run(g, x)[output] for x in unseen] for g in (graph, made, strict))
    assert sqnr(exact, ours) > sqnr(exact, before) + 1


def test_functions_behind_become_tables_again_for_integer_ports() -> None:
    graph = squashed(Tanh())
    made, _ = quantize_model(graph, data(32))
    ported = with_integer_ports(made, "int8")
    verify(ported)
    assert kinds(ported) == ["Dense", "Dense", "Tanh", "Reshape"]
    (output,) = graph.outputs
    quant = ported.type(output).quant
    assert ported.type(output).dtype is DType.S8
    assert quant is not None
    assert quant.scale[0] <= 2.01 / 255
    ends = [made.type("x"), ported.type("x")]
    assert ends[1].quant is not None
    noise = []
    for x in data(50, seed=6):
        integers = np.rint(x / ends[1].quant.scale[0]) + ends[1].quant.zero[0]
        y = simulate.run(ported, {"x": integers.clip(-128, 127).astype(np.int8)})[output]
        noise.append((y.astype(np.float64) - quant.zero[0]) * quant.scale[0])
    exact = [simulate.run(graph, {"x": x})[output] for x in data(50, seed=6)]
    assert sqnr(exact, noise) > 30


def test_long_functions_of_floats_stay_tables() -> None:
    """They would take more than a small share of the time; Gelu neither rises nor falls."""
    assert fractional(squashed(Tanh(), outputs=2048, hidden=16)) == set()
    assert fractional(squashed(Gelu())) == set()
