"""Branches that data decide, and loops: what ONNX Runtime computes, by C that runs one side of each If."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from support.onnx_models import node
from support.tools import require, require_module

from edgekit import convert
from edgekit.codegen.compilation.build import run
from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification.output_coverage import untaken
from edgekit.converters.read import read
from edgekit.core import target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.while_loop import While
from edgekit.core.passes.simplify import simplify

SIZE = 48
HOST = target.load("host")
WEIGHTS = {
    name: np.random.default_rng(i).standard_normal((SIZE, SIZE)).astype(np.float32) / 7
    for i, name in enumerate(("v", "w"))
}
POSITIVE = [node("ReduceMean", "x", "mean", keepdims=0), node("Greater", "mean zero", "c")]


def sub(
    nodes: Sequence[NodeProto], outputs: str, inputs: Sequence[onnx.ValueInfoProto] = ()
) -> onnx.GraphProto:
    """A branch, or the body of a loop."""
    infos = [helper.make_empty_tensor_value_info(name) for name in outputs.split()]
    return helper.make_graph(nodes, "sub", inputs, infos)


def branch(condition: str, outputs: str, yes: onnx.GraphProto, no: onnx.GraphProto) -> NodeProto:
    return helper.make_node("If", [condition], outputs.split(), then_branch=yes, else_branch=no)


def saved(nodes: Sequence[NodeProto], folder: Path) -> Path:
    """y = f(x)"""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, SIZE]) for name in "xy")
    constants = {**WEIGHTS, "zero": np.float32(0), "half": np.float32(0.5)}
    constants |= {"three": np.int64(3), "go": np.bool_(True)}
    made = [numpy_helper.from_array(np.asarray(data), name) for name, data in constants.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "net", [x], [y], made), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


def chosen() -> list[NodeProto]:
    """Two results of either side, one of which is an intermediate."""
    yes = sub([node("MatMul", "x v", "p"), node("Tanh", "p", "q")], "q p")
    no = sub([node("MatMul", "x w", "r"), node("Sigmoid", "r", "s")], "s r")
    return [*POSITIVE, branch("c", "a b", yes, no), node("Add", "a b", "y")]


def nested() -> list[NodeProto]:
    """The inner condition is computed within the outer branch."""
    inner = branch("d", "i", sub([node("MatMul", "p w", "j")], "j"), sub([node("Relu", "p", "k")], "k"))
    test = [node("ReduceMax", "p", "m", keepdims=0), node("ReduceMin", "p", "n", keepdims=0)]
    test += [node("Add", "m n", "mn"), node("Greater", "mn zero", "d")]
    yes = sub([node("MatMul", "x v", "p"), *test, inner, node("Tanh", "i", "q")], "q")
    return [*POSITIVE, branch("c", "y", yes, sub([node("Neg", "x", "r")], "r"))]


def within_a_loop() -> list[NodeProto]:
    """Each of three iterations decides anew."""
    yes, no = sub([node("MatMul", "h v", "p")], "p"), sub([node("MatMul", "h w", "q")], "q")
    test = [node("ReduceMean", "h", "mh", keepdims=0), node("Greater", "mh zero", "d")]
    body = [*test, branch("d", "f", yes, no), node("Neg", "f", "g"), node("Identity", "t", "u")]
    inputs = [
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("t", TensorProto.BOOL, []),
        helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, SIZE]),
    ]
    return [helper.make_node("Loop", ["three", "go", "x"], ["y"], body=sub(body, "u g", inputs))]


BODY = [
    helper.make_tensor_value_info("i", TensorProto.INT64, []),
    helper.make_tensor_value_info("t", TensorProto.BOOL, []),
    helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, SIZE]),
]


def looped(nodes: Sequence[NodeProto], outputs: str = "u g") -> list[NodeProto]:
    """At most three iterations."""
    body = sub(nodes, outputs, BODY)
    return [helper.make_node("Loop", ["three", "go", "x"], ["y"], body=body)]


def until_small() -> list[NodeProto]:
    """Data decide when it ends."""
    test = [node("ReduceMean", "g", "m", keepdims=0), node("Greater", "m zero", "u")]
    return looped([node("MatMul", "h v", "p"), node("Relu", "p", "q"), node("Sub", "q h", "g"), *test])


def with_branches() -> list[NodeProto]:
    """An If in a loop that stays, whose condition is new in each iteration."""
    yes, no = sub([node("MatMul", "h v", "p")], "p"), sub([node("MatMul", "h w", "q")], "q")
    test = [node("ReduceMean", "h", "mh", keepdims=0), node("Greater", "mh zero", "d")]
    end = [node("ReduceMax", "g", "m", keepdims=0), node("Greater", "m half", "u")]
    return looped([*test, branch("d", "f", yes, no), node("Neg", "f", "g"), *end])


def counted_by_data() -> list[NodeProto]:
    """The number of iterations is computed; the counter takes part."""
    trips = [node("ReduceMax", "x", "m", keepdims=0), node("Cast", "m", "n", to=TensorProto.INT64)]
    body = [node("Cast", "i", "k", to=TensorProto.FLOAT), node("Add", "h k", "p"), node("Tanh", "p", "g")]
    made = sub([*body, node("Identity", "t", "u")], "u g", BODY)
    return [*trips, helper.make_node("Loop", ["n", "", "x"], ["y"], body=made)]


@pytest.mark.parametrize(
    ("make", "branches", "most"),
    [(until_small, 0, None), (with_branches, 1, None), (counted_by_data, 0, 9)],
)
def test_loops_that_data_end_stay_loops(
    make: Callable[[], list[NodeProto]], branches: int, most: int | None, tmp_path: Path
) -> None:
    """Some inputs end them before the first iteration, or at once, and others go on to the limit."""
    require("cc")
    path = saved(make(), tmp_path)
    graph = simplify(read(path, max_iterations=most))
    program = compile_graph(graph, HOST)
    assert [node.op.limit for node in graph.nodes if isinstance(node.op, While)] == [most or 3]
    assert program.branches == branches
    rng = np.random.default_rng(0)
    inputs = [{"x": (rng.standard_normal((2, SIZE)) + shift).astype(np.float32)} for shift in range(-4, 5)]
    session = require_module("onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    for sample, found in zip(inputs, run(graph, HOST, inputs), strict=True):
        (expected,) = session.run(None, sample)
        np.testing.assert_allclose(found["y"], expected, rtol=0, atol=2e-5 * np.abs(expected).max())


def test_branches_of_different_shapes_depend_on_their_condition(tmp_path: Path) -> None:
    """Though one could be spread over the other."""
    yes = sub([node("ReduceSum", "x", "s", keepdims=1)], "s")
    path = saved([*POSITIVE, branch("c", "y", yes, sub([node("Neg", "x", "n")], "n"))], tmp_path)
    with pytest.raises(EdgeKitError, match="the shape of a result of If depends on the input x"):
        read(path)


def test_loops_without_a_bound_ask_for_one(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="E0301 how often this loop runs depends on the input x") as found:
        read(saved(counted_by_data(), tmp_path))
    assert "--max-iterations N" in found.value.hint


@pytest.mark.parametrize(("make", "branches"), [(chosen, 1), (nested, 2), (within_a_loop, 3)])
def test_c_computes_what_onnx_runtime_computes(
    make: Callable[[], list[NodeProto]], branches: int, tmp_path: Path
) -> None:
    """On inputs that take each side."""
    require("cc")
    path = saved(make(), tmp_path)
    graph = simplify(convert(path))
    assert compile_graph(graph, HOST).branches == branches
    rng = np.random.default_rng(0)
    inputs = [
        {"x": (rng.standard_normal((2, SIZE)) + shift).astype(np.float32)} for shift in (-1, -0.2, 0, 0.2, 1)
    ]
    assert not untaken(graph, inputs)
    session = require_module("onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    for sample, found in zip(inputs, run(graph, HOST, inputs), strict=True):
        (expected,) = session.run(None, sample)
        np.testing.assert_allclose(found["y"], expected, rtol=0, atol=2e-5)
