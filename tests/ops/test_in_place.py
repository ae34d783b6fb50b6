"""Elementwise operators whose result takes the place of an operand: the loops run over one pointer then."""

from pathlib import Path

import numpy as np
import pytest
from support.nets import Net
from support.op_cases import normal, run_graph_in_c

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Abs, Clip, Mul, Neg, Sub
from edgekit.core.target import load
from edgekit.core.types import Array, DType

_FLAGS = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
# The operator, its operands ("in place" is the one whose memory the result takes), by the way it walks.
_CASES: dict[str, tuple[Op, tuple[str | Array, ...]]] = {
    "one": (Abs(), ("in place",)),
    "first of two": (Mul(), ("in place", "x")),
    "second of two": (Sub(), ("x", "in place")),
    "first of two, by rows": (Sub(), ("in place", normal(DType.F32, 7))),
    "second of two, by rows": (Sub(), (normal(DType.F32, 7), "in place")),
    "first of three": (Clip(), ("in place", "x", "x")),
    "second of three": (Clip(), ("x", "in place", "x")),
    "last of three": (Clip(), ("x", "x", "in place")),
}


@pytest.mark.parametrize("name", _CASES)
def test_results_take_the_place_of_operands(name: str, tmp_path: Path) -> None:
    op, operands = _CASES[name]
    net = Net()
    named = {"x": net.x(4, 7)}
    named["in place"] = net(Neg(), named["x"])
    y = net(op, *(named[o] if isinstance(o, str) else o for o in operands))
    graph = net.done(net(Neg(), y))
    assert compile_graph(graph, load("host")).arena.size == graph.type(y).bytes, "one tensor at a time"
    inputs = {"x": normal(DType.F32, 4, 7)}
    found = run_graph_in_c(graph, inputs, tmp_path, "speed", _FLAGS)
    for output, expected in simulate.run(graph, inputs).items():
        assert np.array_equal(found[output], expected)
