"""Integers of quantized operators: simulator and C agree bit for bit, on random and on extreme numbers."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import random_cases
from support.in_process import Machine
from support.integer_bench import Bench, Family, RandomRun, Seeded
from support.integer_families import FAMILIES as BASIC
from support.more_integer_families import MORE
from support.tools import require

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.types import Array

FAMILIES = (*BASIC, *MORE)
CASES = random_cases.same(480)  # of each family; each build runs all of them
BATCH = 32  # cases that share a graph
# How C becomes code. What is undefined in C is reported, and fails.
BUILDS: Mapping[str, tuple[str, ...]] = {
    "gcc": ("gcc", "-O2"),
    "clang": ("clang", "-O2"),
    "defined": ("gcc", "-O1", "-fsanitize=undefined"),
}
Machines = Callable[[str], Machine]


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Machines:
    """The compiled kernels of each build, for all tests."""
    made: dict[str, Machine] = {}
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own  # of this run: workers share it

    def get(build: str) -> Machine:
        if build not in made:
            (folder / f"kernels_{build}").mkdir(exist_ok=True)
            made[build] = Machine(folder / f"kernels_{build}", *BUILDS[build])
        return made[build]

    return get


@dataclass
class Tally:
    """What was compared."""

    cases: int = 0
    varied: int = 0  # cases whose results are not all the same


def compare(bench: Bench, *machines: Machine) -> Tally:
    """Run all cases of a bench in the simulator, and in C on each machine."""
    graph = bench.graph()
    expected = simulate.run(graph, bench.inputs)
    program = compile_graph(graph, targets.load("host"))
    for machine in machines:
        found = machine.run(program, bench.inputs)
        for name in bench.outputs:
            right, result = expected[name], found[name]
            assert result.tobytes() == right.tobytes(), difference(graph, name, right, result)
    varied = sum(len(np.unique(expected[name])) > 1 for name in bench.outputs)
    return Tally(len(bench.outputs), varied)


def difference(graph: Graph, name: str, right: Array, found: Array) -> str:
    """The node, its types, and where it goes wrong."""
    node = graph.producer(name)
    assert node is not None
    types = ", ".join(str(graph.type(operand)) for operand in node.inputs)
    quants = [graph.type(operand).quant for operand in (*node.inputs, name)]
    at = np.argwhere(right != found)[0]
    return f"{node.op} of {types} at {at}: {right[tuple(at)]} in numpy, {found[tuple(at)]} in C; {quants}"


def test_there_are_thirty_thousand_runs() -> None:
    assert len(CASES) % BATCH == 0
    assert len(CASES) * len(BUILDS) * len(FAMILIES) >= 30_000


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_c_gives_the_integers_of_the_simulator(
    family: Family, machines: Machines, capfd: pytest.CaptureFixture[str]
) -> None:
    choices = Seeded(CASES.start + 1000 * FAMILIES.index(family))
    cases = varied = 0
    while cases < len(CASES):
        bench = Bench(choices)
        for _ in range(BATCH):
            bench.case(family)
        tally = compare(bench, *map(machines, BUILDS))
        cases, varied = cases + tally.cases, varied + tally.varied
    assert cases == len(CASES)
    assert varied > len(CASES) // 3  # or nothing was tested
    assert "runtime error" not in capfd.readouterr().err


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_no_choice_tells_c_from_the_simulator(family: Family, machines: Machines) -> None:
    """The same families, where hypothesis chooses, and finds the least case that fails."""
    machine = machines("gcc")

    @settings(max_examples=len(random_cases.same(20)), derandomize=True, database=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        bench = Bench(RandomRun(data.draw))
        bench.case(family)
        compare(bench, machine)

    check()


def test_channels_first_images_are_read_as_they_are() -> None:
    """Or the family of that name tests nothing of its own."""
    require("gcc")
    bench = Bench(Seeded(0))
    bench.case(next(f for f in FAMILIES if f.__name__ == "channels_first_convolutions"))
    program = compile_graph(bench.graph(), targets.load("host"))
    assert [kernel.name.split("_")[0] for kernel in program.kernels] == ["conv2d"]
