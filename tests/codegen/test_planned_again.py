"""A model that is planned again: what did not change is neither selected nor packed anew."""

import gc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import ref

import pytest
from support.chains import Chain

from benchmarks.kernel_layers import rotated
from edgekit.codegen.kernels import sources
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.selection import cheapest
from edgekit.codegen.lowering import lower
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.planned_once import planned_once
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.target import Target
from edgekit.core.types import Value
from edgekit.reports import what_if

M4 = target.load("cortex-m4")


def chain() -> Graph:
    made = Chain(0, (1, 32))
    for outputs, inputs in ((24, 32), (16, 24)):
        made.layer(Dense(), outputs, inputs)
    return made.done("chain")


def with_other_weights(graph: Graph, layer: int) -> Graph:
    name = [node for node in graph.nodes if isinstance(node.op, Dense)][layer].inputs[1]
    value = graph.values[name]
    assert value.data is not None
    return replace(graph, values={**graph.values, name: Value(value.type, value.data[::-1].copy())})


def weights(program: Program) -> list[object]:
    return [constant.data for constant in program.constants if constant.type.rank == 2]


def test_the_layer_that_changed_is_selected_and_packed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = chain()
    asked: list[str] = []

    def noted(call: Call, found: Sequence[Variant], target: Target, operands: Sequence[str]) -> Variant:
        asked.append(call.kernel)
        return cheapest(call, found, target, operands)

    monkeypatch.setattr(sources, "cheapest", noted)
    with sources.selected_once():
        before = compile_graph(graph, M4)
        asked.clear()
        after = compile_graph(with_other_weights(graph, 1), M4)
        assert {*asked} == {"dense_int"}
        asked.clear()
        compile_graph(with_other_weights(graph, 1), M4)
        assert not asked
    assert [one is other for one, other in zip(weights(before), weights(after), strict=True)] == [True, False]
    compile_graph(graph, M4)
    assert asked


def test_layers_that_lose_the_same_channels_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A convolution, and the depthwise one behind it."""
    made = Chain(0, (1, 8, 8, 4))
    made.layer(Conv2d((1, 1), (1, 1, 1, 1)), 16, 3, 3, 4)
    made.layer(Conv2d((1, 1), (1, 1, 1, 1), groups=16), 16, 3, 3, 1)
    made.layer(Conv2d(), 8, 1, 1, 16)
    graph, planned = made.done("separable"), list[int]()

    def counted(*args: Any, **options: Any) -> Program:
        planned[-1] += 1
        return fit(*args, **options)

    monkeypatch.setattr(what_if, "fit", counted)
    one, other, _ = (node.outputs[0] for node in graph.nodes if isinstance(node.op, Conv2d))
    planned.append(0)
    alone = what_if.changes(graph, M4, [(one, "half")])
    planned.append(0)
    found = what_if.changes(graph, M4, [(one, "half"), (other, "half")])
    assert planned == [2, 2]
    assert found == {(one, "half"): alone[one, "half"], (other, "half"): alone[one, "half"]}


def test_rivals_take_their_turn_after_changes_were_looked_at() -> None:
    graph = chain()
    (result,) = (node.outputs[0] for node in graph.nodes[-1:])
    taken, roomy = set(), replace(M4, weight_growth=100.0)
    for by in range(2):
        what_if.changes(graph, roomy, [(result, "half")])
        with rotated(by) as seen:
            files = {line.call.file for line in compile_graph(graph, roomy).lines}
            what_if.changes(graph, roomy, [(result, "half")])
        assert files == {variant.file for variant in seen.taken.values()}
        taken.add(frozenset(files))
    assert len(taken) == 2


def test_nothing_keeps_the_weights_of_a_model_that_was_planned() -> None:
    graph = chain()
    program = compile_graph(graph, M4)
    kept = [
        ref(data)
        for data in (*weights(program), *(v.data for v in graph.values.values() if v.data is not None))
    ]
    assert len(kept) >= 4
    del program, graph
    gc.collect()
    assert not any(each() is not None for each in kept)


def test_layers_that_stay_are_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each target, and for each limit of weights."""
    graph = chain()
    name = graph.nodes[-1].outputs[0]
    asked: list[str] = []

    def noted(call: Call, target: Target) -> list[Call]:
        asked.append(call.args[-1].name)
        return fitted(call, target)

    fitted = lower.fitted
    monkeypatch.setattr(lower, "fitted", noted)
    with planned_once():
        first = lower.lower(graph, M4)
        assert len(asked) == len(first)
        asked.clear()
        assert lower.lower(graph, M4) == first
        assert not asked
        lower.lower(with_other_weights(graph, 1), M4)
        lower.lower(graph, M4, limits={name: 0})
        assert asked == [name, name]
        lower.lower(graph, target.load("cortex-m55"))
        assert len(asked) == 2 + len(first)
    asked.clear()
    lower.lower(graph, M4)
    assert len(asked) == len(first)
