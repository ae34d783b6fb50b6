"""Resource variables: runs go on where LiteRT's do, and what makes no sense is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.tflite_networks import Step, Subgraph, network
from tflite.litert import converted, litert_steps, named

from edgekit import run
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify

START = np.array([[1, 2, 3]], np.float32)


def handle(name: str, result: str = "handle") -> Step:
    return Step("VAR_HANDLE", [], [result], "VarHandleOptions", {"sharedName": name, "container": "c"})


def assign(content: str, of: str = "handle") -> Step:
    return Step("ASSIGN_VARIABLE", [of, content], [], "AssignVariableOptions")


def read(result: str, of: str = "handle") -> Step:
    return Step("READ_VARIABLE", [of], [result], "ReadVariableOptions")


def add(a: str, b: str, result: str) -> Step:
    return Step("ADD", [a, b], [result], "AddOptions")


ONCE = Step("CALL_ONCE", [], [], "CallOnceOptions", {"initSubgraphIndex": 1})
INIT = Subgraph([handle("v"), assign("start")], {"handle": None, "start": (1, 3)}, {"start": START})
SHAPES = {"handle": None, "x": (1, 3), "old": (1, 3), "sum": (1, 3), "new": (1, 3), "y": (1, 3)}
# y = the sum so far, which is read back, plus what it was before
SUM = [read("old"), add("old", "x", "sum"), assign("sum"), read("new"), add("new", "old", "y")]
MAIN = Subgraph([ONCE, handle("v"), *SUM], SHAPES, {}, ["x"], ["y"])


def streams(count: int = 5) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((1, 3)).astype(np.float32) for _ in range(count)]


def test_runs_go_on_as_litert_does(tmp_path: Path) -> None:
    content = network(MAIN, INIT)
    graph = simplify(converted(content, tmp_path, "sums"))
    verify(graph)
    assert [s.start.tolist() for s in graph.states] == [START.tolist()]
    steps = streams()
    found = simulate.run_each(graph, [named(graph, [x]) for x in steps])
    compiled = run(graph, np.stack(steps), target="host")["y"]
    for outputs, c, (right,) in zip(
        found, compiled, litert_steps(content, [[x] for x in steps]), strict=True
    ):
        assert np.array_equal(outputs["y"], right)
        assert np.array_equal(c, right)


def test_a_variable_that_is_never_assigned_is_a_constant(tmp_path: Path) -> None:
    steps = [ONCE, handle("v"), read("old"), add("old", "x", "y")]
    graph = converted(network(replace(MAIN, steps=steps), INIT), tmp_path, "net")
    verify(graph)
    assert not graph.states
    (x,) = streams(1)
    assert np.array_equal(simulate.run(graph, {"x": x})["y"], START + x)


def test_a_variable_that_is_assigned_first_needs_no_state(tmp_path: Path) -> None:
    steps = [handle("v"), assign("x"), read("old"), add("old", "x", "y")]
    graph = converted(network(replace(MAIN, steps=steps)), tmp_path, "net")
    verify(graph)
    assert not graph.states


@pytest.mark.parametrize(
    ("graphs", "words"),
    [
        ([replace(MAIN, steps=[handle("v"), *SUM])], "is read, but never initialized"),
        ([replace(MAIN, steps=[ONCE, handle("w"), *SUM]), INIT], "c/w is read, but never initialized"),
        ([replace(MAIN, steps=[ONCE, *SUM]), INIT], "is no handle of a variable"),
        ([MAIN], "holds no graph 1"),
        ([MAIN, replace(INIT, steps=[ONCE, *INIT.steps])], "CALL_ONCE of 0 operands"),
        (
            [MAIN, replace(INIT, shapes={**INIT.shapes, "start": (1, 2)}, data={"start": START[:, :2]})],
            "but starts as",
        ),
        (
            [replace(MAIN, steps=[*MAIN.steps, Step("VAR_HANDLE", ["x"], ["handle"])]), INIT],
            "VAR_HANDLE of 1 op",
        ),
        (
            [
                replace(
                    MAIN,
                    steps=[*MAIN.steps, assign("half")],
                    shapes={**SHAPES, "half": (1, 1)},
                    data={"half": START[:, :1]},
                ),
                INIT,
            ],
            "is assigned",
        ),
    ],
)
def test_nonsense_is_refused(graphs: Sequence[Subgraph], words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=words) as caught:
        converted(network(*graphs), tmp_path, "net")
    assert caught.value.code == "E0401"
