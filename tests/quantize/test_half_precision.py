"""16-bit floats: half the flash, or half the memory too; rounded to nearest even, and known beforehand."""

import numpy as np
import pytest
from support.nets import Net
from support.tools import ROOT, require

from edgekit import api
from edgekit.codegen.compilation.build import run
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Div
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Where
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.trigonometry import Asinh
from edgekit.core.types import DType, Type

ANOMALY = ROOT / "examples" / "anomaly"


def anomaly() -> Graph:
    return api.convert(ANOMALY / "anomaly.onnx")


@pytest.mark.parametrize(("dtype", "least"), [("bf16", 45), ("f16", 60)])
@pytest.mark.parametrize("activations", ["float32", "same"])
def test_c_computes_what_the_simulator_says_bit_for_bit(dtype: str, least: float, activations: str) -> None:
    require("gcc")
    chosen = dtype if activations == "same" else activations
    made, found = api.quantize_model(anomaly(), ANOMALY / "calib.npz", dtype=dtype, activations=chosen)
    assert found.sqnr_db > least
    assert found.bytes_after < 0.52 * found.bytes_before
    assert {layer.runs_in for layer in found.layers} == {dtype}
    x = simulate.random_inputs(made, 1)
    (compiled,) = run(made, targets.load("host"), [x])
    for name, expected in simulate.run(made, x).items():
        assert np.array_equal(compiled[name], expected)


def test_what_overflows_is_the_worst_there_is() -> None:
    net = Net()
    graph = net.done(net(Asinh(), net.x(1, 8)))
    samples = np.random.default_rng(1).uniform(0.5e6, 1e6, (4, 1, 8)).astype(np.float32)
    _, found = api.quantize_model(graph, samples, dtype="f16", activations="f16")
    assert found.sqnr_db == -np.inf


def test_weights_alone_need_no_data_and_leave_the_memory_as_it_is() -> None:
    before = anomaly()
    made, found = api.quantize_model(before, None, dtype="bf16")
    assert found.samples == 0
    host = targets.load("host")
    assert compile_graph(made, host).arena.size == compile_graph(before, host).arena.size
    assert compile_graph(made, host).weight_bytes == found.bytes_after


def test_storage_in_16_bits_halves_the_memory() -> None:
    before = api.convert(ROOT / "examples" / "keywords" / "keywords.onnx")
    made, _ = api.quantize_model(before, None, dtype="bf16", activations="bf16")
    sizes = [compile_graph(graph, targets.load("host")).arena.size for graph in (before, made)]
    assert sizes[1] <= 0.55 * sizes[0]
    assert [made.type(name).dtype for name in (*made.inputs, *made.outputs)] == [DType.F32] * 2
    assert (made.inputs, made.outputs) == (before.inputs, before.outputs)


def test_weights_are_rounded_to_nearest_even() -> None:
    made, _ = api.quantize_model(anomaly(), None, dtype="bf16")
    before = {name: data for name, data in anomaly().constants() if data.ndim == 2}
    assert len(before) == 6
    for name, weights in before.items():
        rounded = made.data(name)
        assert rounded is not None
        assert rounded.dtype == DType.BF16.numpy
        bits = weights.view(np.uint32).astype(np.uint64)
        expected = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        assert np.array_equal(rounded.view(np.uint16), expected)


def test_rows_of_a_table_are_stored_in_16_bits() -> None:
    b = Builder()
    index = b.input("i", Type(DType.S64, (3, 1)))
    table = b.const(np.random.default_rng(1).normal(size=(50, 8)).astype(np.float32))
    graph = b.graph("table", [index], [b.one(Gather(0), table, index)])
    made, found = api.quantize_model(graph, None, dtype="f16")
    assert found.bytes_after * 2 == found.bytes_before
    x = {"i": np.array([[0], [7], [49]])}
    (y,), (expected,) = simulate.run(made, x).values(), simulate.run(graph, x).values()
    assert y.dtype == np.float32
    assert np.array_equal(y, expected.astype(np.float16).astype(np.float32))


def test_weights_beyond_the_range_of_f16_are_refused() -> None:
    b = Builder()
    index = b.input("i", Type(DType.S64, (3, 1)))
    table = b.const(np.array([[1.0], [70000.0]], np.float32))
    graph = b.graph("table", [index], [b.one(Gather(0), table, index)])
    with pytest.raises(EdgeKitError, match="65504"):
        api.quantize_model(graph, None, dtype="f16")
    api.quantize_model(graph, None, dtype="bf16")


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("activations", ["float32", "same"])
def test_the_mask_of_an_attention_stays_finite(dtype: str, activations: str) -> None:
    """Its numbers are the least of float32, and a row of them is no row of NaN."""
    rng = np.random.default_rng(3)
    b = Builder()
    x, keep = b.input("x", Type(DType.F32, (4, 8))), b.input("keep", Type(DType.BOOL, (4, 4)))
    w, zero = b.const(rng.normal(size=(4, 8)).astype(np.float32)), b.const(np.zeros(4, np.float32))
    least = b.const(np.float32(np.finfo(np.float32).min))
    masked = b.one(Where(), keep, b.one(Dense(), x, w, zero), least)
    graph = b.graph("mask", [x, keep], [b.one(Softmax(), masked)])
    chosen = dtype if activations == "same" else activations
    made, _ = api.quantize_model(graph, None, dtype=dtype, activations=chosen)
    sample = {"x": rng.normal(size=(4, 8)).astype(np.float32), "keep": np.tri(4, 4, -1, bool)}
    (y,), (expected,) = simulate.run(made, sample).values(), simulate.run(graph, sample).values()
    np.testing.assert_allclose(y, expected, rtol=0, atol=2**-6)
    (compiled,) = run(made, targets.load("host"), [sample])
    np.testing.assert_allclose(next(iter(compiled.values())), y, rtol=0, atol=1e-6)


def test_a_number_beyond_the_range_of_f16_is_computed_with_in_float32() -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (8,)))
    graph = b.graph("far", [x], [b.one(Div(), x, b.const(np.float32(1e5)))])
    made, _ = api.quantize_model(graph, None, dtype="f16", activations="f16")
    sample = {"x": np.linspace(1, 800, 8).astype(np.float32)}
    (y,), (expected,) = simulate.run(made, sample).values(), simulate.run(graph, sample).values()
    np.testing.assert_allclose(y, expected, rtol=2**-10)
