"""Graphs of many nodes: the work grows with the nodes, and no depth is too much."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from support.large_models import FAMILIES, chain
from support.nets import Net, kinds
from support.steps import steps

from edgekit.api import inspect
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.memory import arena, copies, schedule
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.core import ek_file, target
from edgekit.core.ops.activations import Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.logic import Where
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes.simplify import simplify
from edgekit.core.wellformed import faults
from edgekit.reports import results

HOST = target.load("host")


def plan_whole(model: ModelProto, folder: Path) -> None:
    """What happens between a model file and the text of its library."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    graph = simplify(onnx_reader.convert(path))
    ek_file.save(graph, folder / "model.ek")
    graph = ek_file.load(folder / "model.ek")
    assert not list(faults(graph))
    program = compile_graph(graph, HOST)
    generate(program, "speed")


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets that small graphs exhaust, so that only what grows with the nodes is counted."""
    monkeypatch.setattr(schedule, "_BUDGET", 500)
    monkeypatch.setattr(schedule, "_FLOOR_TASKS", 16)
    monkeypatch.setattr(schedule, "_SEARCH_TASKS", 32)
    monkeypatch.setattr(arena, "BUDGET", 500)
    monkeypatch.setattr(arena, "MAX_PAIRS", 500)
    monkeypatch.setattr(copies, "BUDGET", 500)
    monkeypatch.setattr(copies, "_BUDGET", 500)
    monkeypatch.setattr(copies, "_TRIED_CALLS", 0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.usefixtures("small_limits")
def test_four_times_as_many_nodes_are_four_times_the_work(family: str, tmp_path: Path) -> None:
    make = FAMILIES[family]
    plan_whole(make(20), tmp_path)  # what is cached is there now
    few, many = (steps(partial(plan_whole, make(nodes), tmp_path)) for nodes in (40, 160))
    assert few < many < 4.4 * few


def test_a_chain_of_thousands_of_layers_is_planned(tmp_path: Path) -> None:
    plan_whole(chain(2000), tmp_path)


def test_a_search_that_its_budget_ended_is_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net()
    parts = [net(Tanh(), net.x(n, name=f"x{n}")) for n in (64, 48, 80, 112, 16, 96)]
    ends = [net(Reduce("max", (0,)), part) for part in parts]
    graph = net.done(net(Concat(0), *ends))
    assert not [line for line in results.inspection(inspect(graph), verbose=False) if "stopped" in line]
    monkeypatch.setattr(schedule, "_BUDGET", 3)
    (line,) = [line for line in results.inspection(inspect(graph), verbose=False) if "stopped" in line]
    assert re.fullmatch(r"order +search stopped after \d+ trials, another one may need less memory", line)


def test_dead_layers_go_however_many_they_are() -> None:
    net = Net()
    x = net.x(4)
    dead = x
    for _ in range(5000):
        dead = net(Tanh(), dead)
    nothing = net(Mul(), net(Where(), net.const(np.array([False])), dead, x), 1.0)
    assert kinds(simplify(net.done(net(Sigmoid(), nothing)))) == ["Sigmoid"]


def test_views_of_views_lie_where_the_first_lies() -> None:
    net = Net()
    x = net(Tanh(), net.x(2, 3))
    for i in range(2000):
        x = net(Reshape((3, 2) if i % 2 == 0 else (2, 3)), x)
    program = compile_graph(net.done(net(Sigmoid(), x)), HOST)
    assert [line.kernel.name for line in program.lines] == ["tanh_f32", "sigmoid_f32"]
    assert program.arena.size == 24


@pytest.mark.parametrize("family", FAMILIES)
def test_simpler_plans_of_large_graphs_take_little_more(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(FAMILIES[family](120), tmp_path / "model.onnx")
    graph = simplify(onnx_reader.convert(tmp_path / "model.onnx"))
    best = compile_graph(graph, HOST).arena
    monkeypatch.setattr(schedule, "_SEARCH_TASKS", 8)
    monkeypatch.setattr(schedule, "_FLOOR_TASKS", 8)
    monkeypatch.setattr(arena, "MAX_PAIRS", 0)
    simple = compile_graph(graph, HOST).arena
    assert simple.lower_bound <= simple.size <= 1.5 * best.size
