"""Branches in generated C: a run executes one side, and computes what computing both and selecting would."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.branching import random_branches, samples
from support.generated import STRICT, compiled
from support.nets import Net
from support.tools import require, require_module

from edgekit import build
from edgekit.codegen.compilation import build as library
from edgekit.codegen.lowering import branches
from edgekit.codegen.lowering.branches import Among, Guard, costliest
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.verification import selftest
from edgekit.codegen.verification.output_coverage import drawn, provoked
from edgekit.core import ek_file, simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.logic import Less, Where
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type
from edgekit.onnx_backend import compile_programs

HOST = target.load("host")
SEEDS = 24
WIDTH = 64


def choosing(size: int = WIDTH, *, leak: bool = False) -> Graph:
    """y = tanh(x W + b) where c, else -x; with `leak` the product is an output, too."""
    net = Net()
    x = net.x(32 if leak else 1, size)
    condition = net.input("c", Type(DType.BOOL, ()))
    net.inputs.append(condition)
    product = net(Dense(), x, net.random(size, size), net.random(size), name="product")
    y = net(Where(), condition, net(Tanh(), product), net(Neg(), x), name="y")
    return net.done(y, *[product] * leak)


def text_of(graph: Graph) -> str:
    """The body of the run function."""
    text = render(compile_graph(graph, HOST), "size")["net.c"].decode()
    return text[text.index("net_run(") :]


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Branches everywhere, however little they save."""
    monkeypatch.setattr(branches, "_MIN_SAVED", 0)


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    ("optimize", "ports", "loops"), [("size", "caller", 0), ("speed", "arena", 0), ("size", "arena", 0.4)]
)
def test_c_computes_what_the_simulator_selects(
    optimize: Optimize, ports: str, loops: float, tmp_path: Path
) -> None:
    """The arena is filled with other bytes before every run, and what a run leaves out stays that."""
    graphs = [simplify(random_branches(seed, loops)) for seed in range(SEEDS)]
    programs = {g.name: compile_graph(g, HOST, "arena" if ports == "arena" else "caller") for g in graphs}
    depths = [len(line.guards) for program in programs.values() for line in program.lines]
    assert sum(p.branches for p in programs.values()) > 2 * SEEDS
    assert max(depths) > 2
    assert (sum(p.loops for p in programs.values()) > SEEDS) is (loops > 0)
    driver, errors = compile_programs(list(programs.values()), tmp_path, optimize)
    assert not errors, next(iter(errors.values()))
    for graph in graphs:
        steps = samples(graph, 8)
        expected = simulate.run_each(graph, steps)
        for right, found in zip(expected, driver.run_each(programs[graph.name], steps), strict=True):
            for name in graph.outputs:
                assert found[name].tobytes() == right[name].tobytes(), graph.name


@pytest.mark.usefixtures("guarded")
def test_a_microcontroller_computes_the_same() -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    graph = next(g for g in map(random_branches, range(0, SEEDS, 2)) if len(branches.branches(g).paths) >= 6)
    steps = samples(graph, 8)
    expected = simulate.run_each(graph, steps)
    for right, found in zip(expected, library.run(graph, target.load("cortex-m4"), steps), strict=True):
        for name in graph.outputs:
            assert found[name].tobytes() == right[name].tobytes()


def test_only_one_side_of_a_branch_is_called(tmp_path: Path) -> None:
    """A hook behind each layer tells which ones a run takes."""
    require("cc")
    graph = choosing()
    report = build(graph, tmp_path / "net", layer_hook=True)
    assert report.branches == 1
    main = """
    #include "net.h"
    #include <stdio.h>
    static const char *const names[] = {NET_LAYER_NAMES};
    void net_layer_done(int32_t layer) { puts(names[layer]); }
    int main(int count, char **words)
    {
        (void)words;
        static float x[64], y[64];
        static uint8_t arena[NET_ARENA_SIZE + 64];
        const uint8_t c = count > 1;
        net_run(x, &c, y, (void *)(((uintptr_t)arena + 63) / 64 * 64));
        return 0;
    }
    """
    (tmp_path / "main.c").write_text(main)
    sources = [str(path) for path in (tmp_path / "net").glob("*.c") if "selftest" not in path.name]
    compiled(tmp_path, "cc", *STRICT, "-Inet", "main.c", *sources, "-o", "main")

    def layers(*words: str) -> list[str]:
        command = [str(tmp_path / "main"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    names = [line.c for line in compile_graph(graph, HOST).lines]
    assert layers("true") == [name for name in names if "neg" not in name]
    assert layers() == [name for name in names if "neg" in name]


def test_what_is_read_outside_of_a_branch_always_runs() -> None:
    before, _, within = text_of(choosing(leak=True)).partition("if (")
    assert "net_dense(" in before
    assert "net_tanh(" in within


def test_few_elements_are_selected_without_a_branch() -> None:
    assert "if (" not in text_of(choosing(8))


def test_branches_nest() -> None:
    """Of three results, one is chosen: each is computed where nothing else is."""
    net = Net()
    x = net.x(1, WIDTH)
    for name in ("c", "d"):
        net.inputs.append(net.input(name, Type(DType.BOOL, (1,))))
    layers = [net(Dense(), x, net.random(WIDTH, WIDTH), net.random(WIDTH), name=f"d{i}") for i in range(3)]
    inner = net(Where(), "d", layers[0], layers[1])
    text = text_of(net.done(net(Neg(), net(Where(), "c", net(Tanh(), inner), layers[2]))))
    structure = re.findall(r"if \((\w)\[0\] != 0u\)|(} else)|net_(\w+)\(\w+, ", text)
    words = [next(filter(None, found)) for found in structure]
    assert words == ["c", "d", "dense", "} else", "dense", "tanh", "} else", "dense", "neg"]


def test_sides_write_the_result_where_it_is_wanted() -> None:
    """Nothing is copied, and the more expensive side counts."""
    program = compile_graph(choosing(), HOST)
    assert not any("copy" in line.kernel.name for line in program.lines)
    assert program.macs == WIDTH * WIDTH


def test_costs_are_those_of_the_most_expensive_path() -> None:
    yes, no = Guard("a", True), Guard("a", False)
    inner, outer = Guard("b", True), Guard("b", False)
    guards = [(), (yes,), (no,), (no, inner), (no, outer), ()]
    assert costliest([1, 20, 3, 5, 4, 100], guards) == 121
    assert costliest([1, 6, 3, 5, 4, 100], guards) == 109


def test_costs_of_conditions_of_which_few_hold_are_those_of_the_most_expensive_ones() -> None:
    among = Among("chosen", 2)
    guards = [(Guard(name, side, among),) for name in "abcd" for side in (True, False)]
    assert costliest([30, 1, 50, 2, 40, 3, 4, 4], guards) == 50 + 40 + 1 + 4
    assert costliest([1, 30, 2, 2, 2, 2, 2, 2], guards) == 30 + 2 + 2 + 2


def test_a_side_may_be_a_constant_that_broadcasts() -> None:
    """It is written where the other side leaves its result."""
    require("cc")
    net = Net()
    x = net.x(1, WIDTH)
    net.inputs.append(net.input("c", Type(DType.BOOL, ())))
    product = net(Dense(), x, net.random(WIDTH, WIDTH), net.random(WIDTH))
    graph = net.done(net(Where(), "c", product, np.float32(0.5)))
    assert compile_graph(graph, HOST).branches == 1
    steps = [{"x": net.random(1, WIDTH), "c": np.array(side)} for side in (True, False, True)]
    for right, found in zip(simulate.run_each(graph, steps), library.run(graph, HOST, steps), strict=True):
        (y,), (expected,) = found.values(), right.values()
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["verification", "self-test"])
def test_samples_take_each_side(kind: str) -> None:
    """Here, noise of 1 is above the limit in one run of twenty."""
    net = Net()
    x = net.x(1, WIDTH)
    first = net(Reshape(()), net(Slice((0, 0), (1, 1), (1, 1)), x))
    condition = net(Less(), net.const(np.float32(1.6)), first)
    product = net(Dense(), x, net.random(WIDTH, WIDTH), net.random(WIDTH))
    graph = net.done(net(Where(), condition, product, net(Neg(), x)))
    found = branches.branches(graph)
    made = provoked(drawn(graph, 2)).samples if kind == "verification" else selftest.prepare(graph).samples
    taken = [found.taken(simulate.run_all(graph, sample)) for sample in made]
    assert frozenset().union(*taken) == found.paths
    assert len(found.paths) == 2


def test_sides_that_nothing_reaches_are_told() -> None:
    require("cc")
    graph = choosing()
    sample = {**simulate.random_inputs(graph, 0), "c": np.array(True)}
    assert library.verify(graph, HOST, samples=[sample]).untaken == ("y if c is false",)


def test_files_keep_branches(tmp_path: Path) -> None:
    graph = simplify(choosing())
    ek_file.save(graph, tmp_path / "net.ek")
    assert text_of(ek_file.load(tmp_path / "net.ek")) == text_of(graph)


def test_gpus_compute_both_sides() -> None:
    """And the CPU of such a library one, as that of other targets."""
    program: Program = compile_graph(choosing(), target.load("opencl"))
    assert [d.operator for d in program.gpu_plans[0].dispatches] == ["Dense", "Tanh", "Neg", "Where"]
    assert program.branches == 1
