"""The networks of TFLite Micro's tree: the integers of its own kernels, in the simulator and in C."""

import struct
from pathlib import Path

import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model
from support.tools import SHARED, require, require_shared
from tflite.litert import converted, named
from tflite.micro import micro_says

from edgekit.codegen.compilation.build import run
from edgekit.converters.tflite.file import root
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

STEPS = 24
INT32, INT8 = 2, 9
SAME, VALID = 0, 1
NETWORKS = sorted(path.stem for path in (SHARED / "models" / "tflite_micro").glob("*.tflite"))


def steps(graph: Graph) -> list[dict[str, Array]]:
    """Any integers, the ends of their ranges, and noise of every strength around every level."""
    rng = np.random.default_rng(2026)
    (name,) = graph.inputs
    type = graph.type(name)
    least, most = np.iinfo(type.dtype.numpy).min, np.iinfo(type.dtype.numpy).max
    found = []
    for i in range(STEPS):
        noise = rng.normal(rng.uniform(least, most), np.exp(rng.uniform(0, np.log(most))), type.shape)
        any_integer = rng.integers(least, most + 1, type.shape)
        ends = rng.choice([least, most], type.shape)
        data = (any_integer, ends, np.rint(noise).clip(least, most))[i % 3]
        found.append({name: data.astype(type.dtype.numpy)})
    return found


def results(path: Path) -> list[int]:
    """The first result of every operator."""
    graph = next(root(path.read_bytes()).tables(2))
    return [int(operator.array(2, "<i4")[0]) for operator in graph.tables(3)]


def with_output(data: bytes, tensor: int) -> bytes:
    """The file, whose output is another one of its tensors."""
    made = bytearray(data)
    start, _ = next(root(data).tables(2))._vector(2)
    struct.pack_into("<i", made, start, tensor)
    return bytes(made)


def softened(data: bytes) -> bytes:
    """The file with biases of 0 and smaller weights: scrambled ones drive all layers to the ends of their
    ranges, where releases of TFLite Micro differ (states of int8 wrapped around in earlier ones)."""
    made, model = bytearray(data), root(data)
    buffers = list(model.tables(4))
    for tensor in next(model.tables(2)).tables(0):
        start, length = buffers[tensor.integer(2, "I")]._vector(0)
        if tensor.integer(1, "b") == INT32:
            made[start : start + length] = bytes(length)
        elif tensor.integer(1, "b") == INT8:
            weights = np.frombuffer(data, np.int8, length, start)
            made[start : start + length] = (weights // 6).astype(np.int8).tobytes()
    return bytes(made)


@pytest.mark.parametrize("name", NETWORKS or ["person_detect"])
def test_network_gives_the_integers_of_tflite_micro(name: str, tmp_path: Path) -> None:
    """The outputs, and what some of the operators before compute."""
    require("gcc")
    whole = require_shared(f"models/tflite_micro/{name}.tflite")
    data = softened(whole.read_bytes()) if "scrambled" in name else whole.read_bytes()
    path = tmp_path / "net.tflite"
    varied = 0
    made = results(whole)
    for tensor in (*made[1:4], made[-1]):
        path.write_bytes(with_output(data, tensor))
        graph = convert(path, profile="tflm")
        inputs = steps(graph)
        runs = [list(step.values()) for step in inputs]
        expected = np.stack([y for (y,) in micro_says(path.read_bytes(), runs)])
        simulated = [next(iter(found.values())) for found in simulate.run_each(graph, inputs)]
        compiled = [next(iter(found.values())) for found in run(simplify(graph), target.load("host"), inputs)]
        np.testing.assert_array_equal(np.stack(simulated), expected)
        np.testing.assert_array_equal(np.stack(compiled), expected)
        varied += len(np.unique(expected, axis=0)) > 3
    assert varied > 2


def conv_to(shape: tuple[int, ...], size: tuple[int, int], padding: int) -> Operator:
    """A transposed convolution of floats whose operand for the size is an input."""
    to, x, y = Tensor((4,), "int32"), Tensor(shape), Tensor((1, *size, 2))
    weights = constant(np.random.default_rng(1).standard_normal((2, 3, 2, shape[3])), "float32")
    strides = {"padding": padding, "strideH": 2, "strideW": 1}
    return Operator("TRANSPOSE_CONV", [to, weights, x], [y], "TransposeConvOptions", strides)


@pytest.mark.parametrize(
    ("size", "padding"), [((8, 5), SAME), ((7, 5), SAME), ((9, 6), VALID)], ids=["even", "odd", "valid"]
)
def test_size_that_is_an_input_is_that_of_the_result(
    size: tuple[int, int], padding: int, tmp_path: Path
) -> None:
    """As in TFLite Micro, which does not read the operand."""
    op = conv_to((1, 4, 5, 3), size, padding)
    x = np.random.default_rng(2).standard_normal((1, 4, 5, 3)).astype(np.float32)
    ((expected,),) = micro_says(model(op), [[np.array([1, *size, 2], np.int32), x]])
    graph = converted(model(op), tmp_path, "net")
    (found,) = simulate.run(graph, named(graph, [np.zeros(4, np.int32), x])).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_size_that_the_result_does_not_tell_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="E0301 the size of TRANSPOSE_CONV depends on the input"):
        converted(model(conv_to((1, 4, 5, 3), (1, 1), SAME)), tmp_path, "net")


KINDS: dict[str, tuple[int, str, dict[str, float]]] = {
    "RELU": (1, "", {}),
    "LEAKY_RELU": (1, "LeakyReluOptions", {"alpha": 0.3}),
    "SUB": (2, "SubOptions", {}),
    "ADD": (2, "AddOptions", {}),
    "MUL": (2, "MulOptions", {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_int16_is_rescaled_as_in_tflite_micro(kind: str, tmp_path: Path) -> None:
    """A ratio in float32 instead of float64 would change some of so many numbers."""
    rng = np.random.default_rng(7)
    count, options, values = KINDS[kind]
    every = np.arange(-(2**15), 2**15).astype(np.int16)
    for _ in range(8):
        scales = np.exp(rng.uniform(-10, -8, count + 1)).astype(np.float32)
        *entries, y = (Tensor(every.shape, "int16", scale=(float(s),), zero=(0,)) for s in scales)
        op = Operator(kind, entries, [y], options, values)
        inputs = [every, rng.permutation(every)][:count]
        ((expected,),) = micro_says(model(op), [inputs])
        (tmp_path / "net.tflite").write_bytes(model(op))
        graph = convert(tmp_path / "net.tflite", profile="tflm")
        (found,) = simulate.run(graph, named(graph, inputs)).values()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_sums_are_quantized_as_in_tflite_micro(dtype: str, tmp_path: Path) -> None:
    """int32 that stands for numbers, as between the operators of a network that was cut."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        sums = Tensor((400,), "int32", scale=(float(np.float32(rng.uniform(1e-6, 1e-5))),), zero=(0,))
        y = Tensor((400,), dtype, scale=(float(np.float32(rng.uniform(1e-4, 1e-2))),), zero=(0,))
        op = Operator("QUANTIZE", [sums], [y])
        x = rng.integers(-(2**18), 2**18, 400).astype(np.int32)
        ((expected,),) = micro_says(model(op), [[x]])
        graph = converted(model(op), tmp_path, "net")
        (found,) = simulate.run(graph, named(graph, [x])).values()
        np.testing.assert_array_equal(found, expected)
