"""Float layers between conversions become layers on integers, where that is exact up to the last rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nets import Net, kinds
from support.quantized_graphs import with_conversions
from support.random_graphs import random_network

from edgekit.core import fixed, simulate
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.activations import HardSwish, PRelu, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Mul, Sub
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.passes.grid import on_grid, rows_on_grid
from edgekit.core.passes.integer_layers import integer_layers
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, DType, Quant

INF = np.inf
X = Quant((0.05,), (-7,))
Y = Quant((0.11,), (12,))


class Quantized(Net):
    """A graph in the making, with tensors of int8."""

    def bytes(self, quant: Quant, *shape: int, name: str = "x") -> str:
        """Reals that are the integers of an input."""
        (labelled,) = self.add(BitCast(DType.S8), self.byte_input(name, *shape), quant=quant)
        return self.one(Dequantize(), labelled)

    def byte_input(self, name: str, *shape: int) -> str:
        self.dtype, before = DType.S8, self.dtype
        made = self.x(*shape, name=name)
        self.dtype = before
        return made

    def weights(self, *shape: int, scale: float = 0.01, low: int = -127) -> Array:
        """Reals that were int8, with a scale for each output."""
        integers = self.rng.integers(low, 128, shape)
        scales = scale * self.rng.uniform(0.5, 1.5, (shape[0], *(1,) * (len(shape) - 1)))
        return (integers * scales.astype(np.float32)).astype(np.float32)

    def to(self, quant: Quant, x: str, dtype: DType = DType.S8) -> str:
        """Reals as plain integers."""
        (y,) = self.add(Quantize(dtype), x, quant=quant)
        return self.one(BitCast(dtype), y)


def inputs(graph: Graph, seed: int) -> dict[str, Array]:
    """Any bytes."""
    rng = np.random.default_rng(seed)
    return {n: rng.integers(-128, 128, graph.type(n).shape).astype(np.int8) for n in graph.inputs}


def units_off(before: Graph, after: Graph, count: int = 3) -> int:
    """How far the integers of two graphs are from each other."""
    worst = 0
    for seed in range(count):
        x = inputs(before, seed)
        pairs = zip(simulate.run(before, x).values(), simulate.run(after, x).values(), strict=True)
        worst = max([worst, *(int(np.abs(a.astype(int) - b.astype(int)).max(initial=0)) for a, b in pairs)])
    return worst


def floats(graph: Graph) -> list[str]:
    """Operators that compute reals."""
    return [type(n.op).__name__ for n in graph.nodes if graph.type(n.outputs[0]).dtype.is_float]


def settled(graph: Graph) -> Graph:
    after = integer_layers(graph)
    verify(after)
    assert integer_layers(after) is after
    return after


LAYERS: dict[str, tuple[Op, tuple[Any, ...]]] = {
    "sigmoid": (Sigmoid(), ()),
    "tanh": (Tanh(), ()),
    "hardswish": (HardSwish(), ()),
    "relu": (Clip(), (0.0, INF)),
    "relu6": (Clip(), (0.0, 2.13)),
    "mean": (Pool2d("mean", (2, 2), (2, 2)), ()),
    "mean_of_all": (Reduce("mean", (1, 2)), ()),
    "maximum": (Pool2d("max", (2, 2), pads=(1, 0, 0, 1)), ()),
    "reshape": (Reshape((8, 6)), ()),
    "transpose": (Transpose((0, 3, 1, 2)), ()),
    "slice": (Slice((0, 1, 0, 0), (1, 1, 2, 1), (1, 3, 2, 3)), ()),
    "pad": (Pad((0, 1, 0, 0), (0, 0, 2, 0)), (0.3,)),
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("quant", [X, Y], ids=["same", "other"])
def test_operators_of_one_tensor(layer: str, quant: Quant) -> None:
    op, numbers = LAYERS[layer]
    net = Quantized()
    graph = net.done(net.to(quant, net(op, net.bytes(X, 1, 4, 4, 3), *map(np.float32, numbers))))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after) <= 1


@pytest.mark.parametrize("rounding", ["tfl", "tflm"])
def test_integers_of_another_rule_stay_reals(rounding: str) -> None:
    net = Quantized()
    x = net.bytes(Quant(X.scale, X.zero, None, rounding), 1, 4, 4, 3)
    graph = net.done(net.to(Y, net(Sigmoid(), net(Reshape((8, 6)), x))))
    assert floats(settled(graph)) == floats(graph)


def test_what_is_moved_in_its_own_scale_is_exact() -> None:
    for layer in ("relu", "maximum", "reshape", "transpose", "slice", "pad"):
        op, numbers = LAYERS[layer]
        net = Quantized()
        graph = net.done(net.to(X, net(op, net.bytes(X, 1, 4, 4, 3), *map(np.float32, numbers))))
        after = settled(graph)
        assert "Requantize" not in kinds(after)
        assert units_off(graph, after) == 0


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("limits", [(-INF, INF), (0, INF), (0, 3)])
def test_convolutions(groups: int, bias: float, limits: tuple[float, float]) -> None:
    net = Quantized(seed=groups)
    op = Conv2d((1, 2), (1, 1, 0, 1), (1, 1), groups, *limits)
    w, b = net.weights(8, 3, 3, 4 // groups), (net.random(8) * bias).astype(np.float32)
    graph = net.done(net.to(Y, net(op, net.bytes(X, 1, 5, 6, 4), w, b)))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after) <= 1


def test_a_dense_layer_between_moves() -> None:
    net = Quantized()
    x = net(Reshape((3, 8)), net(Transpose((1, 0, 2)), net.bytes(X, 2, 3, 4)))
    graph = net.done(net.to(Y, net(Reshape((5, 3)), net(Dense(), x, net.weights(5, 8), net.random(5)))))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after) <= 1


@pytest.mark.parametrize("op", [Add(), Sub(), Mul()])
def test_operators_of_two_tensors(op: Op) -> None:
    net = Quantized()
    a, b = net.bytes(X, 2, 3, 4, name="a"), net.bytes(Y, 3, 1, name="b")
    graph = net.done(net.to(Quant((0.2,), (3,)), net(op, a, b)))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after) <= 1


@pytest.mark.parametrize("op", [Add(), Mul()])
def test_constants_that_were_quantized_are_again(op: Op) -> None:
    net = Quantized()
    c = ((net.rng.integers(0, 256, (3, 4)) - 30) * np.float32(0.02)).astype(np.float32)
    graph = net.done(net.to(Y, net(op, net.bytes(X, 2, 3, 4), c)))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after) <= 1


def test_constants_that_never_were_stay_real() -> None:
    net = Quantized()
    graph = net.done(net.to(Y, net(Add(), net.bytes(X, 2, 30), net.random(30))))
    assert integer_layers(graph) is graph


def test_joined_tensors_take_the_scale_of_the_result() -> None:
    net = Quantized()
    parts = [net.bytes(q, 2, 3, name=name) for q, name in ((X, "a"), (Y, "b"))]
    graph = net.done(net.to(Y, net(Concat(1), *parts)))
    after = settled(graph)
    assert kinds(after).count("Requantize") == 1
    assert units_off(graph, after) <= 1


def test_indices_stay_what_they_are() -> None:
    net = Quantized()
    index = net.const(np.asarray([[2], [0]], np.int64))
    graph = net.done(net.to(X, net(Gather(0), net.bytes(X, 3, 5), index)))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after) == 0


@pytest.mark.parametrize("scale", [1 / 256, 1 / 255, 1 / 127])
def test_a_softmax_has_steps_of_its_own(scale: float) -> None:
    net = Quantized()
    graph = net.done(net.to(Quant((scale,), (-128,)), net(Softmax(), net.bytes(X, 3, 9))))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after, 20) <= 1


def test_a_softmax_in_finer_steps_stays_real() -> None:
    net = Quantized()
    graph = net.done(net.to(Quant((0.001,), (-128,)), net(Softmax(), net.bytes(X, 3, 9))))
    assert integer_layers(graph) is graph


def test_a_layer_that_somebody_else_reads_as_reals_stays_real() -> None:
    net = Quantized()
    real = net(Dense(), net.bytes(X, 2, 8), net.weights(5, 8), net.random(5))
    graph = net.done(net.to(Y, real), real)
    assert integer_layers(graph) is graph


def test_layers_without_rounding_between_them_stay_real() -> None:
    net = Quantized()
    x = net(Dense(), net.bytes(X, 2, 8), net.weights(8, 8), net.random(8))
    graph = net.done(net.to(Y, net(Dense(), x, net.weights(8, 8), net.random(8))))
    assert integer_layers(graph) is graph


def test_weights_on_no_grid_stay_real() -> None:
    net = Quantized()
    graph = net.done(net.to(Y, net(Dense(), net.bytes(X, 2, 30), net.random(5, 30), net.random(5))))
    assert integer_layers(graph) is graph


@pytest.mark.parametrize("bias", [INF, np.nan, 1e30])
def test_a_bias_beyond_all_units_stays_real(bias: float) -> None:
    net = Quantized()
    b = np.full(5, bias, np.float32)
    graph = net.done(net.to(Y, net(Dense(), net.bytes(X, 2, 8), net.weights(5, 8), b)))
    assert integer_layers(graph) is graph


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize(("share", "fits"), [(0.45, True), (0.9, True), (1.1, False), (1.9, False)])
def test_a_bias_leaves_room_for_sums(share: float, fits: bool, others: float) -> None:
    """At most 2^30 units of the products, which are added to it; the largest of the biases counts."""
    net = Quantized()
    w = np.asarray([[1, -127, 5], [3, 127, 2]], np.float32)
    b = np.asarray([1, others], np.float32) * np.float32(share * 2**30 * X.scale[0])
    graph = net.done(net.to(Quant((2.0**24,), (0,)), net(Dense(), net.bytes(X, 2, 3), w, b)))
    after = integer_layers(graph)
    assert (after is not graph) == fits
    if fits:
        assert floats(after) == []
        assert units_off(graph, after) <= 1


@pytest.mark.parametrize(("share", "fits"), [(0.8, True), (1.2, False)])
def test_one_row_that_multiplies_too_much_is_enough(share: float, fits: bool) -> None:
    """Products of 2^20 units of the result and more have no multiplier."""
    net = Quantized()
    scales = np.asarray([[share * 2**20 * Y.scale[0] / X.scale[0]], [0.01]], np.float32)
    w = np.asarray([[1, -127], [3, 127]], np.float32) * scales
    graph = net.done(net.to(Y, net(Dense(), net.bytes(X, 2, 2), w, np.zeros(2, np.float32))))
    assert (integer_layers(graph) is not graph) == fits


# Functions of one tensor by their constants: the norm scales by -g, the others by g.
GAINS: dict[str, Callable[[float], tuple[Op, tuple[Any, ...]]]] = {
    "layer_norm": lambda g: (LayerNorm(1e-5), (np.asarray([-g, 0, -g, 0], np.float32), np.zeros(4))),
    "rms_norm": lambda g: (RmsNorm(1e-5), (np.asarray([-g, 0, -g, 0], np.float32),)),
    "prelu": lambda g: (PRelu(), (np.asarray([-g, 0, -g, 0], np.float32),)),
    "resample": lambda g: (Resample(1), (np.asarray([[0, 1]], np.int32), np.asarray([[-g, 0]], np.float32))),
}


@pytest.mark.parametrize("kind", GAINS)
def test_what_multiplies_too_much_stays_real(kind: str) -> None:
    """Multipliers have no bits left from 2^13 units of the result for one of the operand on."""
    for gain, fits in ((0.8 * 2**13, True), (1.2 * 2**13, False)):
        per_unit = 1.0 if "norm" in kind else X.scale[0]  # a norm makes rows of size 1 first
        op, constants = GAINS[kind](gain * Y.scale[0] / per_unit)
        net = Quantized()
        operands = [net.const(c) if c.dtype.kind == "i" else c for c in constants]
        graph = net.done(net.to(Y, net(op, net.bytes(X, 3, 4), *operands)))
        assert (floats(integer_layers(graph)) == []) == fits


def test_rows_without_weights_are_as_fine_as_the_finest() -> None:
    """Their bias would be rounded to the units of the coarsest, or of the result, otherwise."""
    net = Quantized()
    w = np.asarray([[0, 0], [127, 1], [1270, 10]], np.float32) * np.float32(0.001)
    graph = net.done(net.to(Y, net(Dense(), net.bytes(X, 2, 2), w, np.asarray([0.73, 0, 0], np.float32))))
    after = settled(graph)
    (node,) = [node for node in after.nodes if isinstance(node.op, Dense)]
    quant = after.type(node.inputs[1]).quant
    assert quant is not None
    assert quant.scale[0] == quant.scale[1] == np.float32(0.001)
    assert units_off(graph, after) <= 1


def test_an_output_without_weights_is_its_bias() -> None:
    net = Quantized()
    w = net.weights(5, 8)
    w[2] = 0
    b = np.asarray([0.1, -0.4, 5.5, 0, 1], np.float32)
    graph = net.done(net.to(Y, net(Dense(), net.bytes(X, 2, 8), w, b)))
    after = settled(graph)
    assert floats(after) == []
    assert units_off(graph, after) <= 1


def test_conversions_there_and_back_are_nothing() -> None:
    net = Quantized()
    graph = net.done(net.to(X, net.bytes(X, 2, 3)))
    after = settled(graph)
    assert set(kinds(after)) == {"BitCast"}
    assert units_off(graph, after) == 0


def test_another_scale_is_one_operator() -> None:
    net = Quantized()
    graph = net.done(net.to(Y, net.bytes(X, 2, 300)))
    after = settled(graph)
    assert kinds(after) == ["BitCast", "Requantize", "BitCast"]
    assert units_off(graph, after) <= 1


def test_integers_that_are_moved_without_a_label_keep_it() -> None:
    net = Quantized()
    y = net.to(Y, net(Sigmoid(), net.bytes(X, 2, 3, 4, 1)))
    y = net.one(Pool2d("max", (2, 2)), net.one(Transpose((0, 2, 1, 3)), y))
    (labelled,) = net.add(BitCast(DType.S8), y, quant=Y)
    graph = net.done(net.to(Y, net(Sigmoid(), net.one(Dequantize(), labelled))))
    after = settled(graph)
    assert kinds(after) == ["BitCast", "Sigmoid", "Transpose", "Pool2d", "Sigmoid", "BitCast"]
    assert units_off(graph, after) <= 1


def test_the_order_of_unsigned_bytes_is_not_that_of_their_bits() -> None:
    """A maximum of bytes without sign is none of the same bits with one."""
    net = Quantized()
    (bits,) = net.add(BitCast(DType.U8), net.to(X, net(Sigmoid(), net.bytes(X, 1, 4, 4, 1))))
    y = net.one(Pool2d("max", (2, 2)), bits)
    (labelled,) = net.add(BitCast(DType.S8), y, quant=X)
    graph = net.done(net.to(X, net(Sigmoid(), net.one(Dequantize(), labelled))))
    after = settled(graph)
    assert units_off(graph, after) <= 1


def test_bits_that_are_read_with_another_sign_are_other_integers() -> None:
    """127 as a byte without sign, less 128, is -1; -128 is 0."""
    net = Quantized()
    (labelled,) = net.add(BitCast(DType.S8), net.byte_input("x", 2, 3), quant=X)
    bits = net.one(BitCast(DType.U8), labelled)
    (flipped,) = net.add(FlipSign(), bits, quant=X)
    graph = net.done(net.one(BitCast(DType.S8), flipped))
    assert units_off(graph, settled(graph)) == 0
    assert np.array_equal(
        simulate.run(graph, {"x": np.full((2, 3), 127, np.int8)})[graph.outputs[0]], np.full((2, 3), -1)
    )


def test_integers_may_be_told_again_in_another_scale() -> None:
    net = Quantized()
    plain = net.to(X, net(Sigmoid(), net.bytes(X, 2, 3)))
    (labelled,) = net.add(BitCast(DType.S8), plain, quant=Y)
    graph = net.done(net.to(Y, net(Sigmoid(), net.one(Dequantize(), labelled))))
    assert units_off(graph, settled(graph)) <= 1


def test_clips_of_integers_are_limits_of_the_layer() -> None:
    net = Quantized()
    (y,) = net.add(Quantize(), net(Dense(), net.bytes(X, 2, 8), net.weights(5, 8), net.random(5)), quant=Y)
    real = net.one(Clip(), net.one(Dequantize(), y), net.const(np.float32(-0.4)), net.const(np.float32(2)))
    graph = net.done(net.to(Y, real))
    after = settled(graph)
    assert kinds(after) == ["BitCast", "Dense", "BitCast"]
    assert units_off(graph, after) <= 1


def test_a_layer_with_limits_is_still_called_after_the_layer() -> None:
    net = Quantized()
    x = net.bytes(X, 2, 8)
    net.origin = "layer"
    layer = net(Dense(), x, net.weights(5, 8), net.random(5))
    net.origin = "conversion"
    (y,) = net.add(Quantize(), layer, quant=Y)
    net.origin = "clip"
    real = net.one(Clip(), net.one(Dequantize(), y), net.const(np.float32(-0.4)), net.const(np.float32(2)))
    graph = net.done(net.to(Y, real))
    (node,) = [node for node in settled(graph).nodes if isinstance(node.op, Dense)]
    assert node.origin == "layer"


def test_bytes_are_moved_rather_than_reals() -> None:
    net = Quantized()
    graph = net.done(net(Transpose((0, 3, 1, 2)), net.bytes(X, 1, 4, 4, 3)))
    after = settled(graph)
    assert kinds(after) == ["BitCast", "Transpose", "Dequantize"]
    assert kinds(simplify(graph)) == kinds(after)
    assert units_off(graph, after) == 0


def test_nothing_is_left_to_do_in_the_end() -> None:
    net = Quantized()
    x = net(Transpose((0, 2, 3, 1)), net.bytes(X, 1, 3, 6, 6))
    y = net(Clip(), net(Conv2d(), x, net.weights(4, 3, 3, 3), net.random(4)), np.float32(0), np.float32(INF))
    (q,) = net.add(Quantize(), net(Transpose((0, 3, 1, 2)), y), quant=Y)
    (pooled,) = net.add(Pool2d("max", (2, 2)), q, quant=Y)
    graph = net.done(net.one(Dequantize(), pooled))
    after = simplify(graph)
    assert simplify(after) is after


@pytest.mark.parametrize("seed", range(40))
def test_random_networks_are_off_by_what_is_rounded(seed: int) -> None:
    """Each of 14 layers rounds anew: results are off by a few units of their range."""
    graph = with_conversions(random_network(seed, dtype=DType.F32), seed)
    after = simplify(graph)
    verify(after)
    assert simplify(after) is after
    assert any(after.type(name).quant for name in after.values)
    x = simulate.random_inputs(graph, 0)
    for before, found in zip(simulate.run(graph, x).values(), simulate.run(after, x).values(), strict=True):
        assert np.abs(found - before).max() <= 6 / 255 * np.ptp(np.append(before, 0))


# Grids


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), most=st.integers(1, 127), n=st.integers(1, 40))
def test_rows_that_were_bytes_are_found(seed: int, most: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    integers = rng.integers(-most, most + 1, (6, n))
    scales = np.exp(rng.uniform(-12, 3, 6)).astype(np.float32)
    rows = integers.astype(np.float32) * scales[:, None]
    found = rows_on_grid(rows)
    assert found is not None
    np.testing.assert_allclose(found[0] * found[1][:, None], rows, rtol=1e-6)


def test_the_least_byte_is_taken() -> None:
    found = rows_on_grid(np.asarray([[-128, 127, 1]], np.float32) * np.float32(0.3))
    assert found is not None
    np.testing.assert_array_equal(found[0], [[-128, 127, 1]])
    assert rows_on_grid(np.asarray([[-127, 128, 1]], np.float32) * np.float32(0.3)) is None


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), zero=st.integers(-128, 127))
def test_tensors_that_were_bytes_are_found(seed: int, zero: int) -> None:
    rng = np.random.default_rng(seed)
    integers = rng.integers(-128, 128, (3, 5)) - zero
    data = integers.astype(np.float32) * np.float32(np.exp(rng.uniform(-9, 3)))
    found = on_grid(data)
    assert found is not None
    integers_found, scale, zero_found = found
    np.testing.assert_allclose((integers_found - float(zero_found)) * scale, data, rtol=1e-6)


@pytest.mark.parametrize("data", [[0.0, 0.0], [], [3.5], [INF, 1.0], [np.nan]])
def test_grids_of_odd_tensors(data: list[float]) -> None:
    found = on_grid(np.asarray(data, np.float32))
    if np.isfinite(data).all():
        assert found is not None
        np.testing.assert_allclose((found[0] - float(found[2])) * found[1], data, rtol=1e-6)
    else:
        assert found is None


def test_the_zero_point_is_the_nearest() -> None:
    """The range is that of the data, whose least number is -128."""
    for low in (-100, -99, -3, 0):
        data = np.arange(low, low + 256).astype(np.float32) * np.float32(0.7)
        found = on_grid(data)
        assert found is not None
        np.testing.assert_array_equal(found[0], np.arange(-128, 128))
        assert found[2] == -128 - low


def test_zeros_are_on_the_grid_of_ones() -> None:
    found = on_grid(np.zeros((2, 3), np.float32))
    assert found is not None
    assert (found[0].shape, found[0].any(), *found[1:]) == ((2, 3), False, 1.0, 0)


def test_rows_without_numbers_and_rows_of_zeros_have_no_scale() -> None:
    for shape in ((3, 0), (3, 4)):
        found = rows_on_grid(np.zeros(shape, np.float32))
        assert found is not None
        assert (found[0].shape, found[0].any()) == (shape, False)
        np.testing.assert_array_equal(found[1], [0.0] * 3)


def test_other_reals_are_on_no_grid() -> None:
    rng = np.random.default_rng(0)
    assert rows_on_grid(rng.standard_normal((4, 30))) is None
    assert on_grid(rng.standard_normal(30)) is None
    assert rows_on_grid(np.asarray([[INF, 1]])) is None


def test_every_ratio_that_is_let_pass_has_a_multiplier() -> None:
    for x, y in ((1e-3, 1e3), (1.0, 1e-5), (1e-20, 1e10), (3.0, 3.1)):
        net = Quantized()
        graph = net.done(net.to(Quant((y,), (0,)), net.bytes(Quant((x,), (5,)), 4, 40)))
        assert units_off(graph, settled(graph)) <= 1
    assert fixed.MIN_SHIFT == 33


@pytest.mark.parametrize("moved", [False, True])
def test_a_layer_that_reals_are_read_of_is_not_computed_twice(moved: bool) -> None:
    """Its result is read once, or what moves it, and that twice."""
    net = Quantized()
    y = net(Dense(), net.bytes(X, 3, 8), net.weights(6, 8), np.zeros(6))
    read = net(Transpose((1, 0)), y) if moved else y
    after = settled(net.done(net.to(Y, read), read))
    assert kinds(after).count("Dense") == 1
    assert "Dense" in floats(after)
