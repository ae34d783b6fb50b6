"""Where tensors live: in an arena that is used to its last byte, and that may hold anything before."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.chains import Chain
from support.generated import C99, Library, compiled, memory, written
from support.nets import Net
from support.node_suite import SANITIZE
from support.random_graphs import random_movement, random_network
from support.tools import ROOT, require

from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.memory.planner import assign
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.arithmetic import Add, Neg
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import random_inputs, run
from edgekit.core.target import Optimize
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

HOST = target.load("host")
EXAMPLES = ("digits", "keywords", "anomaly")
# Graphs of splits, joins, reshapes and residuals; those that move data are compared bit for bit.
SEEDS = 25
SLACK = 256
# Runs digits in an arena of so many bytes.
EXACT = """
#define _POSIX_C_SOURCE 200112L
#include "digits.h"
#include <stdlib.h>
int main(int argc, char **argv)
{
    void *arena;
    if (posix_memalign(&arena, DIGITS_ARENA_ALIGN, (size_t)atol(argv[argc - 1])))
        return 1;
    float *x = calloc(DIGITS_X_SIZE, sizeof *x), *y = calloc(DIGITS_Y_SIZE, sizeof *y);
    digits_run(x, y, arena);
    free(x), free(y), free(arena);
    return 0;
}
"""


def graphs() -> dict[str, Graph]:
    made = {name: simplify(convert(ROOT / "examples" / name / f"{name}.onnx")) for name in EXAMPLES}
    for seed in range(SEEDS):
        made[f"net{seed}"] = random_network(seed, steps=30)
        made[f"moves{seed}"] = random_movement(seed, steps=30)
    return {name: graph.with_name(name) for name, graph in made.items()}


@dataclass(frozen=True)
class Runs:
    """A program run twice, in arenas that were full of zeros and full of ones."""

    program: Program
    inputs: Mapping[str, Array]
    outputs: tuple[Mapping[str, Array], Mapping[str, Array]]
    used: int  # bytes of the arena up to the last one that was written


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Runs]:
    require("gcc")
    programs = [compile_graph(graph, HOST) for graph in graphs().values()]
    library = Library(programs, tmp_path_factory.mktemp("memory"))
    return [run_twice(library, program) for program in programs]


def run_twice(library: Library, program: Program) -> Runs:
    inputs = random_inputs(program.graph, seed=1)
    arenas = [memory(program.arena.size + SLACK, fill) for fill in (0, 255)]
    first, second = (library.run(program, inputs, arena) for arena in arenas)
    # What is written with the value that was there before in one run is seen in the other.
    touched = np.flatnonzero((arenas[0] != 0) | (arenas[1] != 255))
    return Runs(program, inputs, (first, second), int(touched[-1]) + 1 if touched.size else 0)


def test_the_arena_is_used_to_its_last_byte_and_not_beyond(runs: list[Runs]) -> None:
    assert {r.program.name: r.used for r in runs} == {r.program.name: r.program.arena.size for r in runs}
    assert sum(r.used > 0 for r in runs) > SEEDS


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_an_arena_of_one_byte_less_is_too_small(optimize: Optimize, tmp_path: Path) -> None:
    program = compile_graph(graphs()["digits"], HOST)
    names = written([program], tmp_path, optimize)
    (tmp_path / "main.c").write_text(EXACT)
    compiled(tmp_path, "gcc", *C99, "-g1", "-Og", "-fsanitize=address", "-I.", *names, "main.c", "-o", "main")
    size = program.arena.size
    done = {n: subprocess.run([tmp_path / "main", str(n)], capture_output=True) for n in (size, size - 1)}
    assert done[size].returncode == 0, done[size].stderr
    assert b"heap-buffer-overflow" in done[size - 1].stderr


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """Each array is exactly as large as the library asks for."""
    require("cc")
    some = [graph for name, graph in graphs().items() if name[-1] == "0"]
    programs = [compile_graph(graph, HOST) for graph in some]
    driver, errors = compile_programs(programs, tmp_path, "size", SANITIZE)
    assert not errors
    for program in programs:
        inputs = random_inputs(program.graph, seed=2)
        outputs = driver.run(program, inputs)
        assert outputs.keys() == set(program.graph.outputs)


def test_what_the_arena_held_before_does_not_matter(runs: list[Runs]) -> None:
    for r in runs:
        for name, first in r.outputs[0].items():
            assert first.tobytes() == r.outputs[1][name].tobytes(), f"{r.program.name}: {name}"


def test_shared_memory_does_not_change_results(runs: list[Runs]) -> None:
    for r in runs:
        expected = run(r.program.graph, r.inputs)
        for name, found in r.outputs[0].items():
            largest = np.abs(expected[name]).max(initial=0)
            error = np.abs(found.astype(np.float64) - expected[name]).max(initial=0)
            assert error <= (0 if found.dtype.kind == "i" else 1e-4) * largest, f"{r.program.name}: {name}"


def test_a_view_keeps_all_that_it_is_part_of() -> None:
    """If it were a copy, it would leave more room beside it than the narrow column, and be made first."""
    net = Net()
    x = net.x(64, 16)
    row = net(Slice((0, 0), (1, 1), (1, 8)), net(Neg(), x))
    narrower = x
    for width in (12, 4, 1):
        narrower = net(Slice((0, 0), (1, 1), (64, width)), narrower)
    program = compile_graph(net.done(net(Add(), row, narrower)), HOST)
    assert program.arena.size == net.type(x).bytes + net.type(narrower).bytes


def test_parts_that_are_joined_in_place_take_no_memory_of_their_own() -> None:
    net = Net()
    x = net.x(64, 16)
    parts = [net(Exp(), net(Slice((i, 0), (1, 1), (1, 16)), x)) for i in range(4)]
    program = compile_graph(net.done(net(Transpose((1, 0)), net(Concat(0), *parts))), HOST)
    assert [line.kernel.name for line in program.lines].count("copy_f32") == 1
    assert program.arena.size == 4 * net.type(parts[0]).bytes


def test_a_whole_takes_no_memory_for_parts_that_are_not_there_yet() -> None:
    net = Net()
    first = net(Exp(), net(Slice((0, 0), (1, 1), (1, 16)), net.x(4, 64)))
    wide = net(Expand((64, 16)), first)  # needs the first part
    turned = net(Transpose((1, 0)), wide)
    second = net(Reshape((1, 512)), net(Exp(), net(Slice((0, 0), (2, 1), (8, 64)), turned)))
    whole = net(Reshape((24, 22)), net(Concat(1), first, second))
    program = compile_graph(net.done(net(Transpose((1, 0)), whole)), HOST)
    assert program.arena.size == sum(net.type(name).bytes for name in (first, wide, turned))


def test_a_smaller_result_in_place_frees_the_rest_of_its_input() -> None:
    chain = Chain(0, (1, 16, 16, 4))
    chain.layer(Conv2d(), 16, 1, 1, 4)
    large = chain.builder.type(chain.last).bytes
    chain.layer(Conv2d((2, 2), (1, 1, 0, 0), groups=16), 16, 3, 3, 1)
    small = chain.builder.type(chain.last).bytes
    chain.layer(Conv2d(), 64, 1, 1, 16)
    program = compile_graph(chain.done("chain"), target.load("cortex-m4"), "arena")
    convolution, depthwise, *_ = program.lines
    before, after = (line.operands[-2].place for line in (convolution, depthwise))  # then working memory
    # As far before its input as the kernel asks, and no farther than alignment takes it.
    overlap = depthwise.call.overlap or 0  # none: in place of its input
    assert 0 <= before.offset - after.offset - overlap < program.target.align
    assert program.arena.size <= large + small


def test_the_chosen_order_needs_no_more_than_the_given_one() -> None:
    lower_peak = 0
    for graph in graphs().values():
        layers = lower(graph, HOST)
        turn = {node.outputs: i for i, node in enumerate(graph.nodes)}
        given = sorted(layers, key=lambda layer: turn[layer.node.outputs])
        chosen, plain = (assign(graph, each, HOST.align).arena.size for each in (layers, given))
        assert chosen <= plain, graph.name
        lower_peak += chosen < plain
    assert lower_peak > SEEDS // 4


def test_an_output_that_is_an_input_is_copied() -> None:
    net = Net()
    x = net.x(3, 4)
    program = compile_graph(net.done(x), HOST)
    assert [line.kernel.name for line in program.lines] == ["copy_f32"]
    assert program.arena.size == 0
