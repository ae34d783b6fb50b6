"""IF and WHILE: what LiteRT computes, by branches that are selected and loops that are unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model, network
from support.tools import require, require_module

from edgekit import convert
from edgekit.codegen.compilation.build import run
from edgekit.codegen.program import compile_graph
from edgekit.converters.read import read
from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.while_loop import While
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

X = np.array([1, -2, 3], np.float32)


def entry(kind: str, number: float, size: int = 3) -> bytes:
    """y = x + number or x * number."""
    operands = [Tensor((size,)), constant([number], "float32")]
    return model(Operator(kind, operands, [Tensor((size,))], f"{kind.title()}Options"))


def with_subgraphs(main: bytes, others: Sequence[bytes]) -> bytes:
    """The file of the first, whose operators number the others from 1."""
    s: Any = require_module("ai_edge_litert.schema_py_generated")
    whole = s.ModelT.InitFromPackedBuf(main, 0)
    for content in others:
        part = s.ModelT.InitFromPackedBuf(content, 0)
        (graph,) = part.subgraphs
        for tensor in graph.tensors:
            tensor.buffer += len(whole.buffers)
        for operator in graph.operators:
            operator.opcodeIndex += len(whole.operatorCodes)
        whole.buffers += part.buffers
        whole.operatorCodes += part.operatorCodes
        whole.subgraphs.append(graph)
    builder = flatbuffers.Builder(1024)
    builder.Finish(whole.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def choice(folder: Path, yes: int = 1, size: int = 3) -> Path:
    """y = x + 2 if c else x * 5"""
    values = {"thenSubgraphIndex": yes, "elseSubgraphIndex": 2}
    op = Operator("IF", [Tensor((1,), "bool"), Tensor((size,))], [Tensor((size,))], "IfOptions", values)
    path = folder / "choice.tflite"
    path.write_bytes(with_subgraphs(model(op), [entry("ADD", 2, size), entry("MUL", 5, size)]))
    return path


def loop(folder: Path, limit: float, start: Tensor, factor: float = 2, most: float | None = None) -> Path:
    """while i < limit: i, y = i + 1, y * factor; and while the largest of y is less than `most`, too"""
    one, least = constant([1], "float32"), constant([limit], "float32")
    i, y, c = Tensor((1,)), Tensor((3,)), Tensor((1,), "bool")
    tests = [Operator("LESS", [i, least], [c], "LessOptions")]
    if most is not None:
        largest, small, both = Tensor((1,)), Tensor((1,), "bool"), Tensor((1,), "bool")
        tests += [
            Operator("REDUCE_MAX", [y, constant([0])], [largest], "ReducerOptions", {"keepDims": True}),
            Operator("LESS", [largest, constant([most], "float32")], [small], "LessOptions"),
            Operator("LOGICAL_AND", [c, small], [both], "LogicalAndOptions"),
        ]
        c = both
    less = network(tests, [i, y], [c])
    next_i, next_y = Tensor((1,)), Tensor((3,))
    two = constant([factor], "float32")
    steps = [
        Operator("ADD", [i, one], [next_i], "AddOptions"),
        Operator("MUL", [y, two], [next_y], "MulOptions"),
    ]
    body = network(steps, [i, y], [next_i, next_y])
    x, end, result = Tensor((3,)), Tensor((1,)), Tensor((3,))
    values = {"condSubgraphIndex": 1, "bodySubgraphIndex": 2}
    op = Operator("WHILE", [start, x], [end, result], "WhileOptions", values)
    inputs = [x] if start.data is not None else [start, x]
    path = folder / "loop.tflite"
    path.write_bytes(with_subgraphs(network([op], inputs, [result]), [less, body]))
    return path


def litert(path: Path, *inputs: Array) -> Array:
    interpreter = require_module("ai_edge_litert.interpreter").Interpreter(str(path))
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    result: Array = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return result


@pytest.mark.parametrize("condition", [True, False])
def test_both_branches_are_what_litert_computes(tmp_path: Path, condition: bool) -> None:
    path, given = choice(tmp_path), np.array([condition])
    graph = convert(path)
    (found,) = simulate.run(graph, dict(zip(graph.inputs, (given, X), strict=True))).values()
    np.testing.assert_array_equal(found, litert(path, given, X))


def test_c_computes_one_branch_of_what_is_worth_it(tmp_path: Path) -> None:
    require("cc")
    path, x = choice(tmp_path, size=600), np.arange(600, dtype=np.float32)
    graph = simplify(convert(path))
    host = target.load("host")
    assert compile_graph(graph, host).branches == 1
    conditions = [np.array([given]) for given in (True, False, True)]
    samples = [dict(zip(graph.inputs, (given, x), strict=True)) for given in conditions]
    for given, found in zip(conditions, run(graph, host, samples), strict=True):
        np.testing.assert_array_equal(found[graph.outputs[0]], litert(path, given, x))


def test_operators_of_branches_are_named_with_the_others(tmp_path: Path) -> None:
    values = {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2}
    op = Operator("IF", [Tensor((1,), "bool"), Tensor((3,))], [Tensor((3,))], "IfOptions", values)
    kinds = ("LSH_PROJECTION", "UNIQUE")
    branches = [model(Operator(kind, [Tensor((3,))], [Tensor((3,))])) for kind in kinds]
    path = tmp_path / "choice.tflite"
    path.write_bytes(with_subgraphs(model(op), branches))
    with pytest.raises(EdgeKitError) as caught:
        convert(path)
    error = caught.value
    assert [(e.message, e.where) for e in (error, *error.also)] == [
        ("unsupported op LSH_PROJECTION", "operator 0 of graph 1"),
        ("unsupported op UNIQUE", "operator 0 of graph 2"),
    ]


def test_unrolled_loops_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs: three of the body, and four of its condition."""
    monkeypatch.setattr(tflite_reader, "MAX_RUNS", 7)
    convert(loop(tmp_path, 3, constant([0], "float32")))
    monkeypatch.setattr(tflite_reader, "MAX_RUNS", 6)
    with pytest.raises(EdgeKitError, match="run graphs more than 6 times") as found:
        convert(loop(tmp_path, 3, constant([0], "float32")))
    assert "convert it for shorter sequences" in found.value.hint


def test_a_fixed_condition_leaves_one_branch(tmp_path: Path) -> None:
    graph = convert(choice(tmp_path), constants={"x0": np.array([True])})
    assert len(graph.nodes) == 1


@pytest.mark.parametrize("limit", [0, 3])
def test_loops_that_count_are_unrolled(tmp_path: Path, limit: int) -> None:
    path = loop(tmp_path, limit, constant([0], "float32"))
    graph = convert(path)
    (found,) = simulate.run(graph, {graph.inputs[0]: X}).values()
    np.testing.assert_array_equal(found, litert(path, X))


def computed(path: Path, samples: Sequence[Sequence[Array]], **options: int) -> Graph:
    """The graph, of which C computes what LiteRT does."""
    require("cc")
    graph = simplify(read(path, **options))
    given = [dict(zip(graph.inputs, sample, strict=True)) for sample in samples]
    for sample, found in zip(samples, run(graph, target.load("host"), given), strict=True):
        np.testing.assert_array_equal(found[graph.outputs[0]], litert(path, *sample))
    return graph


def test_data_end_a_loop_that_has_a_bound(tmp_path: Path) -> None:
    """From no iteration to the last one."""
    path = loop(tmp_path, 3, Tensor((1,)))
    starts = [np.array([start], np.float32) for start in (5, 3, 2.5, -1, -6)]
    graph = computed(path, [(start, X) for start in starts], max_iterations=9)
    assert limits(graph) == [9]


def test_a_counter_bounds_what_data_end(tmp_path: Path) -> None:
    """while i < 6 and largest of y < 100: i, y = i + 1, y * 2"""
    path = loop(tmp_path, 6, constant([0], "float32"), most=100)
    graph = computed(path, [(scale * X,) for scale in (1, 9, 40, -30)])
    assert limits(graph) == [6]


def test_long_loops_stay(tmp_path: Path) -> None:
    """Unrolled, this would be 400 operators."""
    graph = computed(loop(tmp_path, 400, constant([0], "float32"), factor=1.01), [(X,)])
    assert limits(graph) == [400]
    assert len(compile_graph(graph, target.load("host")).lines) < 12


def limits(graph: Graph) -> list[int]:
    """Of the loops."""
    return [node.op.limit for node in graph.nodes if isinstance(node.op, While)]


def test_endless_loops_and_graphs_that_call_themselves_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        EdgeKitError, match="E0205 how often this loop runs depends on what it computes"
    ) as found:
        convert(loop(tmp_path, 1e9, constant([0], "float32")))
    assert "--max-iterations" in found.value.hint
    with pytest.raises(EdgeKitError, match="E0301 how often this loop runs depends on the input in0_0"):
        convert(loop(tmp_path, 3, Tensor((1,))))
    with pytest.raises(EdgeKitError, match="E0401 the graph calls itself"):
        convert(choice(tmp_path, yes=0))
