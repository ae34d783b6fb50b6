"""Inputs and outputs as parts of the arena: placed as tensors are, and found by functions of the header."""

from pathlib import Path

import numpy as np
import pytest
from support.chains import random_chain
from support.nets import Net
from support.node_suite import SANITIZE
from support.random_graphs import random_movement, random_network
from support.stateful import random_graph, samples
from support.tools import ROOT, require

from edgekit import build
from edgekit.codegen.compilation import build as building
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Neg
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType
from edgekit.onnx_backend import compile_programs

HOST = target.load("host")
SEEDS = 10


def joined() -> Graph:
    """Inputs side by side in one tensor, that is an output as well as what is computed from it."""
    net = Net()
    a, b = net.x(2, 3, name="a"), net.x(4, 3, name="b")
    both = net(Concat(0), a, b)
    return net.done(both, net(Neg(), both), net(Add(), a, a)).with_name("joined")


def passed_on() -> Graph:
    """Outputs that are an input, a part of one, and a constant."""
    net = Net()
    x = net.x(3, 4)
    part = net(Slice((1, 0), (1, 1), (2, 4)), x)
    fixed = net.const(np.arange(5, dtype=np.float32))
    return net.done(x, part, fixed, net(Reshape((12,)), x)).with_name("passed_on")


def called_like_functions() -> Graph:
    net = Net()
    names = ("run", "selftest", "reset", "state", "arena", "called_like_functions_run", "ARENA")
    first, *others = (net.x(2, name=name) for name in names)
    for other in others:
        first = net(Add(), first, other)
    return net.done(first).with_name("called_like_functions")


def half() -> Graph:
    net = Net(DType.F16)
    return net.done(net(Neg(), net.x(5))).with_name("half")


def graphs() -> list[Graph]:
    made = [joined(), passed_on(), called_like_functions(), half()]
    for seed in range(SEEDS):
        made.append(random_network(seed, steps=20).with_name(f"net{seed}"))
        made.append(random_movement(seed, steps=20).with_name(f"moves{seed}"))
        made.append(random_chain(seed))
        made.append(simplify(random_graph(seed)))
    return made


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_results_are_those_of_the_simulator(optimize: Optimize, tmp_path: Path) -> None:
    """The arena is full of other bytes before each run, and guarded."""
    require("cc")
    programs = {graph.name: compile_graph(graph, HOST, "arena") for graph in graphs()}
    driver, errors = compile_programs(list(programs.values()), tmp_path, optimize, SANITIZE)
    assert not errors, next(iter(errors.values()))
    for graph in graphs():
        steps = samples(graph, 3)
        found = list(driver.run_each(programs[graph.name], steps))
        for right, outputs in zip(simulate.run_each(graph, steps), found, strict=True):
            for name in graph.outputs:
                if right[name].dtype.kind == "f" and not graph.name.startswith("moves"):
                    scale = np.abs(right[name]).max(initial=1e-3)
                    assert np.allclose(outputs[name], right[name], rtol=0, atol=1e-4 * scale), graph.name
                else:
                    assert outputs[name].tobytes() == right[name].tobytes(), graph.name


def test_all_together_never_need_more_than_apart() -> None:
    saved = 0
    for graph in graphs():
        apart, together = (compile_graph(graph, HOST, ports) for ports in ("caller", "arena"))
        padding = HOST.align * (len(graph.inputs) + len(graph.outputs))
        assert together.arena.size <= apart.working_bytes + padding, graph.name
        assert together.working_bytes == together.arena.size
        saved += together.working_bytes < apart.working_bytes
    assert saved > SEEDS


def test_outputs_in_the_arena_are_not_copied() -> None:
    program = compile_graph(passed_on(), HOST, "arena")
    assert len(program.lines) == 1, "the constant"
    assert [port.offset for port in program.outputs[::3]] == [program.inputs[0].offset] * 2


def test_networks_run_and_are_verified_with_ports_in_the_arena() -> None:
    require("cc")
    graph = joined()
    assert building.verify(graph, HOST, ports="arena").exact
    sample = simulate.random_inputs(graph, seed=1)
    (found,) = building.run(graph, HOST, [sample], ports="arena")
    assert all(np.array_equal(found[name], y) for name, y in simulate.run(graph, sample).items())


def test_the_library_says_what_it_is(tmp_path: Path) -> None:
    """build compiles it, and runs its self-test."""
    require("cc")
    model = ROOT / "examples" / "digits" / "digits.onnx"
    made = build(model, tmp_path / "together", ports="arena", verify=True)
    assert made.working_bytes == made.arena_bytes
    apart = build(model, tmp_path / "apart", verify=False)
    assert apart.working_bytes == apart.arena_bytes + 64 * 4 + 10 * 4
    header = (tmp_path / "together" / "digits.h").read_text()
    assert "static inline float *digits_x(void *arena)" in header
    assert "void digits_run(void *arena);" in header
    text = render(compile_graph(joined(), HOST), "size")["joined.h"].decode()
    assert "overwrites" not in text


def test_one_port_of_16_bits_among_others_brings_its_type() -> None:
    """No kernel does: what passes on is copied as bytes."""
    net = Net()
    y = net(Neg(), net.x(3, name="a"))
    net.dtype = DType.F16
    files = render(compile_graph(net.done(y, net.x(4, name="b")).with_name("mixed"), HOST), "speed")
    assert "edgekit/half.h" in files
    assert b"edgekit/half.h" in files["mixed.h"] + files["mixed.c"]
