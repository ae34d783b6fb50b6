"""Bytes of folded constants: those that something still needs count, and equal steps of a loop once."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from support.onnx_models import node
from support.tools import require_module

import edgekit
from edgekit.core import builder
from edgekit.core.errors import EdgeKitError

SIZE = 100  # rows and columns: 40 kB in floats
STEPS = 30
WEIGHTS = np.random.default_rng(0).normal(size=(SIZE, SIZE)).astype(np.float32) / SIZE
LIMIT = 400_000  # bytes, and once those that the file holds


def saved(nodes: Sequence[NodeProto], folder: Path) -> Path:
    """y = f(x)"""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, SIZE]) for name in "xy")
    constants = {"w": WEIGHTS, "half": np.float32(0.5), "steps": np.int64(STEPS), "go": np.bool_(True)}
    constants |= {"zero": np.array([0]), "size": np.array([SIZE]), "one": np.array([1])}
    constants |= {"narrow": (99 * SIZE * WEIGHTS).astype(np.int8)}
    made = [numpy_helper.from_array(np.asarray(data), name) for name, data in constants.items()]
    graph = helper.make_graph(nodes, "net", [x], [y], made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / "net.onnx")
    return folder / "net.onnx"


def chain() -> list[NodeProto]:
    """Weights that are made of weights, again and again: each is needed for the next one alone."""
    names = ["w", *(f"w{i}" for i in range(STEPS))]
    steps = [
        node("Mul", f"{a} half" if i % 2 else f"half {a}", b) for i, (a, b) in enumerate(pairwise(names))
    ]
    return [*steps, node("MatMul", f"x {names[-1]}", "y")]


def loop(body: Sequence[NodeProto], results: str, *, state: str) -> NodeProto:
    """A body with a fixed number of steps; it sees the names around it."""
    number = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    again = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    before = helper.make_tensor_value_info("s", TensorProto.FLOAT, [None, None])
    ends = [helper.make_empty_tensor_value_info(name) for name in ("c_out", *results.split())]
    graph = helper.make_graph([node("Identity", "c", "c_out"), *body], "body", [number, again, before], ends)
    outputs = ["last", "all"][: len(results.split())]
    return helper.make_node("Loop", ["steps", "go", state], outputs, body=graph)


def same_weights_in_each_step() -> list[NodeProto]:
    step = [
        node("Cast", "narrow", "wide", to=TensorProto.FLOAT),
        node("MatMul", "s wide", "t"),
        node("Tanh", "t", "u"),
    ]
    return [loop(step, "u", state="x"), node("Identity", "last", "y")]


def steps_that_are_kept() -> list[NodeProto]:
    """Constants of steps leave a loop together: each of them is needed when the last one is made."""
    step = [node("Mul", "s half", "u"), node("ReduceSum", "u axis", "row", keepdims=0)]
    row = numpy_helper.from_array(np.array([0]), "axis")
    axis = helper.make_node("Constant", [], ["axis"], value=row)
    return [
        axis,
        loop(step, "u row", state="w"),
        node("ReduceSum", "all axis", "sum", keepdims=1),
        node("Add", "x sum", "y"),
    ]


@pytest.mark.parametrize("nodes", [chain, same_weights_in_each_step, steps_that_are_kept])
def test_constants_that_nothing_needs_any_more_do_not_count(
    nodes: Callable[[], list[NodeProto]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = require_module("onnxruntime")
    path = saved(nodes(), tmp_path)
    monkeypatch.setattr(builder, "_FREE_FOLD_BYTES", LIMIT)
    monkeypatch.setattr(builder, "_FOLD_BYTES_PER_BYTE", 1)
    x = np.random.default_rng(1).normal(size=(2, SIZE)).astype(np.float32)
    (expected,) = runtime.InferenceSession(str(path)).run(None, {"x": x})
    found = edgekit.run(edgekit.convert(path), {"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_constants_that_are_needed_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint says by how much limits have to be raised, and that helps."""
    monkeypatch.setattr(builder, "_FREE_FOLD_BYTES", LIMIT)
    monkeypatch.setattr(builder, "_FOLD_BYTES_PER_BYTE", 1)
    joined = node("Concat", " ".join(f"w{i}" for i in range(8)), "v", axis=0)
    nodes = [*chain()[:8], joined, node("Gemm", "x v", "u", transB=1), node("Slice", "u zero size one", "y")]
    path = saved(nodes, tmp_path)
    with pytest.raises(EdgeKitError, match="E0402 constants that the model computes take more") as refused:
        edgekit.convert(path)
    factor = re.search(r"--raise-limits (\d+)", refused.value.hint)
    assert factor
    with edgekit.raised_limits(int(factor[1])):
        edgekit.convert(path)
