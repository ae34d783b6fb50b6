"""The networks of TFLite Micro's tree: the integers of its own kernels, in the simulator and in C."""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.tools import SHARED, require, require_module, require_shared

from edgekit import simulate, target
from edgekit.codegen.build import run
from edgekit.converters.from_tflite import convert
from edgekit.converters.tflite_file import root
from edgekit.ir import Array, Graph
from edgekit.passes.simplify import simplify

STEPS = 24
ARENA = 1 << 20
INT32, INT8 = 2, 9
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


def micro_says(path: Path, inputs: list[dict[str, Array]]) -> Iterator[Array]:
    """What the interpreter of TFLite Micro computes, step by step of one stream."""
    runtime = require_module("tflite_micro").runtime
    interpreter = runtime.Interpreter.from_file(str(path), arena_size=ARENA)
    for step in inputs:
        (data,) = step.values()
        interpreter.set_input(data, 0)
        interpreter.invoke()
        yield interpreter.get_output(0).copy()


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
        expected = np.stack(list(micro_says(path, inputs)))
        simulated = [next(iter(found.values())) for found in simulate.run_each(graph, inputs)]
        compiled = [next(iter(found.values())) for found in run(simplify(graph), target.load("host"), inputs)]
        np.testing.assert_array_equal(np.stack(simulated), expected)
        np.testing.assert_array_equal(np.stack(compiled), expected)
        varied += len(np.unique(expected, axis=0)) > 3
    assert varied > 2
