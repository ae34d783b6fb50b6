"""The int8 MLPerf Tiny networks: the integers of LiteRT's reference kernels, in the simulator and in C."""

from pathlib import Path

import numpy as np
import pytest
from support import random_cases
from support.tools import require, require_module, require_shared

from edgekit.codegen.compilation.build import run
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.passes import verify
from edgekit.core.passes.batches import batched
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")
SAMPLES = random_cases.same(200)  # of each network
ALONE = 20  # of them are simulated one by one, all of them in batches
BATCH = 25


def model(name: str) -> Path:
    return require_shared(f"models/mlperf_tiny/{name}.tflite")


def random_inputs(graph: Graph, count: int, seed: int = 2026) -> list[Array]:
    """Any int8, the ends of the range alone, and noise of every strength around every level."""
    rng = np.random.default_rng(seed)
    shape = graph.type(graph.inputs[0]).shape
    ends = np.array([-128, 127], np.int8)
    inputs = []
    for i in range(count):
        if i % 4 == 0:
            inputs.append(rng.integers(-128, 128, shape).astype(np.int8))
        elif i % 4 == 1:
            inputs.append(rng.choice(ends, shape))
        else:
            noise = rng.normal(rng.uniform(-128, 128), np.exp(rng.uniform(0, 5)), shape)
            inputs.append(np.rint(noise).clip(-128, 127).astype(np.int8))
    return inputs


def litert_says(path: Path, inputs: list[Array]) -> list[Array]:
    litert = require_module("ai_edge_litert.interpreter")
    resolver = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    (x,), (y,) = interpreter.get_input_details(), interpreter.get_output_details()
    results = []
    for data in inputs:
        interpreter.set_tensor(x["index"], data)
        interpreter.invoke()
        results.append(interpreter.get_tensor(y["index"]).copy())
    return results


def simulated(graph: Graph, inputs: list[Array]) -> Array:
    """All results, simulated in batches: a fourth of the time."""
    many = batched(graph, BATCH)
    batches = (np.concatenate(inputs[i : i + BATCH]) for i in range(0, len(inputs), BATCH))
    return np.concatenate([simulate.run(many, {many.inputs[0]: x})[many.outputs[0]] for x in batches])


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_simulator_and_c_give_the_integers_of_litert(name: str) -> None:
    require("gcc")
    path = model(name)
    graph = convert(path)
    verify(graph)
    simple = simplify(graph)
    verify(simple)
    inputs = random_inputs(graph, len(SAMPLES), 2026 + SAMPLES.start)
    expected = litert_says(path, inputs)
    compiled = run(simple, target.load("host"), [{simple.inputs[0]: x} for x in inputs])
    for x, right in zip(inputs[:ALONE], expected, strict=False):
        assert np.array_equal(simulate.run(graph, {graph.inputs[0]: x})[graph.outputs[0]], right)
    assert np.array_equal(simulated(graph, inputs), np.concatenate(expected))
    for right, found in zip(expected, compiled, strict=True):
        assert np.array_equal(found[simple.outputs[0]], right)
    assert len(np.unique(np.stack(expected), axis=0)) > 10  # classifiers are mostly sure of noise


def test_dead_channels_of_the_visual_wake_words_network_are_removed() -> None:
    graph = convert(model("vww_96_int8"))
    simple = simplify(graph)
    assert multiply_accumulates(graph) == 7_489_664
    assert convolution_weights(graph) == 207_600
    assert multiply_accumulates(simple) <= 3_730_000
    assert convolution_weights(simple) <= 29_242
    assert simple.source.removed
    assert simple.source.removed.macs_before - simple.source.removed.macs == multiply_accumulates(simple)
    assert simple.source.removed.macs_before == 7_489_664
    for x in random_inputs(graph, 20):
        before = simulate.run(graph, {graph.inputs[0]: x})[graph.outputs[0]]
        after = simulate.run(simple, {simple.inputs[0]: x})[simple.outputs[0]]
        assert np.array_equal(before, after)


def multiply_accumulates(graph: Graph) -> int:
    return sum(node.op.macs(*(graph.type(name) for name in node.inputs)) for node in graph.nodes)


def convolution_weights(graph: Graph) -> int:
    return sum(graph.type(node.inputs[1]).size for node in graph.nodes if isinstance(node.op, Conv2d))
