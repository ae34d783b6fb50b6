"""Inputs and outputs of int8 models: floats, int8, uint8, and bytes that come in as they are."""

import numpy as np
import pytest
from support.nets import Net, kinds
from support.quantize_warnings import besides_speed

from edgekit.api import quantize_model
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType, Quant, Type
from edgekit.quantize.integers.integer_io import KINDS, Io

PIXELS = np.random.default_rng(1).integers(0, 256, (24, 1, 6, 6, 3)).astype(np.uint8)


def bytes_network(dtype: DType = DType.U8) -> Graph:
    """Pixels -> floats -> convolution."""
    net = Net()
    net.inputs.append(net.input("x", Type(dtype, (1, 6, 6, 3))))
    x = net(Cast(DType.F32), "x")
    return net.done(net(Conv2d(pads=(1, 1, 1, 1)), x, net.random(4, 3, 3, 3) / 255, net.random(4), name="y"))


def normal(*shape: int) -> Array:
    return np.random.default_rng(2).normal(size=shape).astype(np.float32)


def signed(pixels: Array) -> Array:
    return (pixels.astype(np.int16) - 128).astype(np.int8)


def reals(integers: Array, quant: Quant) -> Array:
    centred = (integers.astype(np.int32) - quant.zero[0]).astype(np.float32)
    return np.asarray(np.float32(quant.scale[0]) * centred)


def test_a_float_model_gets_integer_doors() -> None:
    net = Net()
    net.done(net(Conv2d(), net.x(1, 6, 6, 3), net.random(4, 3, 3, 3), net.random(4), name="y"))
    graph = net.graph("net", ["x"], ["y"])
    data = normal(16, 1, 6, 6, 3)
    made = {io: quantize_model(graph, data, calibrate="minmax", io=io)[0] for io in KINDS}
    for found in made.values():
        verify(found)
        assert (found.inputs, found.outputs) == (("x",), ("y",))
    assert kinds(made["float"]) == ["Quantize", "Conv2d", "Dequantize"]
    assert kinds(made["int8"]) == ["Conv2d"]
    assert kinds(made["uint8"]) == ["FlipSign", "Conv2d", "FlipSign"]
    x, y = (made["int8"].type(name).quant for name in "xy")
    assert x is not None
    assert y is not None
    q = np.rint(data[0] / np.float32(x.scale[0]) + x.zero[0]).clip(-128, 127).astype(np.int8)
    integers = simulate.run(made["int8"], {"x": q})["y"]
    real = simulate.run(made["float"], {"x": data[0]})["y"]
    np.testing.assert_array_equal(real, reals(integers, y))
    unsigned = simulate.run(made["uint8"], {"x": (q.astype(np.int16) + 128).astype(np.uint8)})["y"]
    np.testing.assert_array_equal(signed(unsigned), integers)
    assert made["uint8"].type("y").quant == Quant(y.scale, (y.zero[0] + 128,))


@pytest.mark.parametrize(
    ("io", "dtype", "quant", "first"),
    [
        ("float", DType.U8, Quant((1.0,), (0,)), "FlipSign"),
        ("uint8", DType.U8, Quant((1.0,), (0,)), "FlipSign"),
        ("int8", DType.S8, Quant((1.0,), (-128,)), "Conv2d"),
    ],
)
def test_pixels_go_in_without_a_multiplication(io: Io, dtype: DType, quant: Quant, first: str) -> None:
    graph = bytes_network()
    made, found = quantize_model(graph, PIXELS, io=io)
    verify(made)
    assert made.type("x") == Type(dtype, (1, 6, 6, 3), quant)
    assert kinds(made)[0] == first
    assert "Quantize" not in kinds(made)
    assert found.sqnr_db > 35
    assert not besides_speed(found)
    assert {layer.runs_in for layer in found.layers} == {"int8"}


def test_all_doors_lead_to_the_same_numbers() -> None:
    made: dict[Io, Graph] = {io: quantize_model(bytes_network(), PIXELS, io=io)[0] for io in KINDS}
    pixels = PIXELS[0]
    y = made["int8"].type("y").quant
    assert y is not None
    integers = simulate.run(made["int8"], {"x": signed(pixels)})["y"]
    np.testing.assert_array_equal(signed(simulate.run(made["uint8"], {"x": pixels})["y"]), integers)
    real = simulate.run(made["float"], {"x": pixels})["y"]
    np.testing.assert_array_equal(real, reals(integers, y))


@pytest.mark.parametrize("io", KINDS)
def test_signed_bytes_go_in_as_they_are(io: Io) -> None:
    made, _ = quantize_model(bytes_network(DType.S8), signed(PIXELS), io=io)
    verify(made)
    wanted = DType.U8 if io == "uint8" else DType.S8
    assert made.type("x") == Type(wanted, (1, 6, 6, 3), Quant((1.0,), (128 if io == "uint8" else 0,)))


def test_pixels_that_never_reach_both_ends_keep_the_scale() -> None:
    dark = (PIXELS // 4).astype(np.uint8)
    made, _ = quantize_model(bytes_network(), dark, io="int8")
    assert made.type("x").quant == Quant((1.0,), (-128,))


def test_pixels_may_be_moved_first() -> None:
    net = Net()
    net.inputs.append(net.input("x", Type(DType.U8, (1, 3, 6, 6))))
    x = net(Transpose((0, 2, 3, 1)), net(Cast(DType.F32), "x"))
    graph = net.done(net(Conv2d(), x, net.random(4, 3, 3, 3) / 255, net.random(4), name="y"))
    made, _ = quantize_model(graph, PIXELS.transpose(0, 1, 4, 2, 3), io="int8")
    verify(made)
    assert kinds(made) == ["Transpose", "Conv2d"]


def test_a_float_layer_beside_integer_ones_reads_the_same_input() -> None:
    net = Net()
    x = net.x(1, 6, 6, 3)
    conv = net(Conv2d(), x, net.random(3, 1, 1, 3), net.random(3))
    sums = net(Cumulative("sum", 3), x)
    graph = net.done(net(Concat(3), conv, sums, name="y"))
    data = normal(16, 1, 6, 6, 3)
    made, found = quantize_model(graph, data, io="int8")
    verify(made)
    assert made.type("x").dtype is made.type("y").dtype is DType.S8
    assert kinds(made)[:1] == ["Dequantize"]
    assert found.sqnr_db > 25


def test_what_no_integer_layer_touches_stays_float() -> None:
    net = Net()
    sums = net(Cumulative("sum", 1), net.x(1, 6))
    kept = net(Conv2d(), net.x(1, 4, 4, 3, name="image"), net.random(2, 1, 1, 3), net.random(2))
    graph = net.done(sums, kept)
    data = {"x": normal(8, 1, 6), "image": normal(8, 1, 4, 4, 3)}
    made, _ = quantize_model(graph, data, io="int8")
    verify(made)
    assert [made.type(name).dtype for name in (*made.inputs, *made.outputs)] == [
        DType.F32,
        DType.S8,
        DType.F32,
        DType.S8,
    ]


def test_an_input_that_is_an_output_stays_float() -> None:
    net = Net()
    x = net.x(1, 4, 4, 3)
    y = net(Conv2d(), x, net.random(2, 1, 1, 3), net.random(2))
    data = normal(8, 1, 4, 4, 3)
    made, _ = quantize_model(net.done(x, y), data, io="int8")
    verify(made)
    assert made.type(x).dtype is DType.F32
    assert made.type(y).dtype is DType.S8
