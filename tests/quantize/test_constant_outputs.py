"""Outputs that are constants, inputs, or other outputs: quantized and pruned models keep them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

import edgekit
from edgekit.api import quantize_model
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.quantize.post_training import quantize
from edgekit.quantize.preparation.constant_outputs import WithoutConstantOutputs
from edgekit.quantize.pruning.plan import Pruning
from edgekit.quantize.settings import DEFAULT

_RNG = np.random.default_rng(1)
WEIGHTS = {"w": _RNG.normal(size=(4, 6)).astype(np.float32), "v": _RNG.normal(size=(6, 3)).astype(np.float32)}
C = np.float32([1.5, -2, 300])
SAMPLES = _RNG.normal(size=(8, 1, 4)).astype(np.float32)


def network(*nodes: NodeProto, outputs: str, **constants: Array) -> Callable[[], Graph]:
    """Two layers, x to y, and more beside them."""
    layers = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "v"], ["y"]),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs.split()]
    for info, name in zip(infos, outputs.split(), strict=True):
        if name in constants:
            info.CopyFrom(helper.make_tensor_value_info(name, TensorProto.FLOAT, constants[name].shape))
    made = helper.make_graph(
        [*layers, *nodes],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        infos,
        [numpy_helper.from_array(data, name) for name, data in (WEIGHTS | constants).items()],
    )
    model: ModelProto = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return lambda: simplify(convert(model))


def _same(name: str, source: str) -> NodeProto:
    return helper.make_node("Identity", [source], [name])


KINDS: Mapping[str, Callable[[], Graph]] = {
    "an initializer": network(outputs="c y", c=C),
    "weights": network(_same("z", "w"), outputs="y z"),
    "a sum of constants": network(helper.make_node("Add", ["c", "c"], ["z"]), outputs="y z", c=C),
    "a shape": network(
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Cast", ["s"], ["z"], to=TensorProto.FLOAT),
        outputs="z y",
    ),
    "integers": network(_same("z", "i"), outputs="y z", i=np.int64([3, 4])),
    "a number": network(_same("z", "i"), outputs="y z", i=np.float32(7)),
    "one constant twice": network(_same("z", "c"), _same("u", "c"), outputs="z y u", c=C),
    "a constant that a layer reads": network(
        _same("z", "c"), helper.make_node("Add", ["y", "c"], ["u"]), outputs="z u", c=C
    ),
    "an input": network(_same("z", "x"), outputs="z y"),
    "one tensor twice": network(_same("z", "y"), outputs="y z"),
    "a tensor in between": network(_same("z", "r"), outputs="y z"),
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "int8": {},
    "int8 ports": {"io": "int8", "calibrate": "minmax"},  # outputs do not depend on how ranges are found
    "int16": {"activations": "int16", "calibrate": "minmax"},
    "f16": {"dtype": "f16"},
    "bf16 everywhere": {"dtype": "bf16", "activations": "bf16"},
}


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_output_is_there_after_quantization(kind: str, settings: str) -> None:
    graph = KINDS[kind]()
    made, _ = quantize_model(graph, {"x": SAMPLES}, **SETTINGS[settings])
    check(graph, made)


def check(graph: Graph, made: Graph) -> None:
    """Constants are the same to the last bit, the others nearly."""
    verify(made)
    compile_graph(made, edgekit.list_targets()[0])
    assert made.outputs == graph.outputs
    varying = WithoutConstantOutputs.of(graph).graph.outputs
    (x,) = made.inputs
    quant = made.type(x).quant
    given = SAMPLES[0]
    if quant is not None:
        given = np.rint(given / quant.scale[0] + quant.zero[0]).clip(-128, 127).astype(np.int8)
    right, found = simulate.run(graph, {"x": SAMPLES[0]}), simulate.run(made, {x: given})
    for name in graph.outputs:
        y, own = found[name], made.type(name).quant
        if name not in varying:
            assert y.dtype == right[name].dtype
            assert np.array_equal(y, right[name])
            continue
        real = y if own is None else (y.astype(np.float32) - own.zero[0]) * own.scale[0]
        assert np.abs(real - right[name]).max() < 0.05 * np.ptp(right[name])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a tensor in between"])  # which is kept
def test_every_output_is_there_after_pruning(kind: str) -> None:
    graph = KINDS[kind]()
    made, _ = edgekit.prune(graph, {"x": SAMPLES}, Pruning(ratio=0.2))
    verify(made)
    assert made.outputs == graph.outputs
    found, right = simulate.run(made, {"x": SAMPLES[0]}), simulate.run(graph, {"x": SAMPLES[0]})
    for name in set(graph.outputs) - set(WithoutConstantOutputs.of(graph).graph.outputs):
        assert np.array_equal(found[name], right[name])


@pytest.mark.parametrize("kind", KINDS)
def test_quantization_itself_takes_constants(kind: str) -> None:
    """Tuning asks it with all outputs; what is a copy of a copy may be rounded then."""
    graph = KINDS[kind]()
    made, _ = quantize(graph, [{"x": x} for x in SAMPLES], DEFAULT)
    verify(made)
    right = simulate.run(graph, {"x": SAMPLES[0]})
    found = simulate.run(made, {"x": SAMPLES[0]})
    for old, new in zip(graph.outputs, made.outputs, strict=True):
        if old not in WithoutConstantOutputs.of(graph).graph.outputs:
            np.testing.assert_allclose(found[new], right[old], atol=0.01 * np.abs(right[old]).max())


def test_names_that_quantization_took_are_given_back() -> None:
    """The copy of h in integers is called as the constant is."""
    graph = network(_same("y_int8", "c"), outputs="y y_int8", c=C)()
    made, _ = quantize_model(graph, {"x": SAMPLES})
    check(graph, made)
    assert made.outputs == ("y", "y_int8")
