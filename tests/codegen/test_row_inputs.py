"""Inputs that arrive row by row (--ports rows): what a library computes, in which memory, and refusals."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.chains import Chain
from support.generated import Library, differences, memory, outputs
from support.nets import Net
from support.random_cases import same
from support.row_networks import random_recurrent_network, random_row_network
from support.tools import require

import edgekit
from edgekit.codegen.lowering import row_search
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reshape import Reshape
from edgekit.core.target import Optimize

TARGETS = ("cortex-m4", "cortex-m55", "wasm32", "aarch64", "x86-64-avx2")


def compiled(graph: Graph, ports: Ports = "rows", name: str = "host") -> Program:
    return compile_graph(graph, replace(targets.load(name), least_ram=True), ports)


def classifier(height: int = 32) -> Graph:
    """Layers with a padded window, a stride and a residual sum, and a classifier of the means."""
    chain = Chain(0, (1, height, 24, 3))
    chain.layer(Conv2d(pads=(1, 1, 1, 1)), 8, 3, 3, 3)
    start = chain.last
    chain.layer(Conv2d(pads=(1, 1, 1, 1)), 8, 3, 3, 8)
    chain.add(Add(), start)
    chain.layer(Conv2d((2, 2), (1, 1, 1, 1)), 16, 3, 3, 8)
    chain.add(Pool2d("mean", chain.image()[1:3]))
    chain.add(Reshape((1, 16)))
    chain.layer(Dense(), 4, 16)
    return chain.done("classifier")


@pytest.mark.parametrize(("optimize", "budget"), [("speed", 0.0), ("speed", 9.0), ("size", 9.0)])
def test_rows_that_arrive_give_what_the_image_gives(
    tmp_path: Path, optimize: Optimize, budget: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In arenas of two fillings, with bytes on both sides that nothing may touch; with large blocks of rows,
    and with the smallest rings."""
    require("gcc")
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", budget)
    # In the last ones, windows leave out rows of blocks of two.
    graphs = [classifier(), *(random_row_network(seed) for seed in (*same(5), 1022, 1088))]
    programs = [compiled(graph) for graph in graphs]
    library = Library(programs, tmp_path, optimize)
    for program in programs:
        assert not differences(library, program)


def test_blocks_of_rows_begin_at_different_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tests above go through: blocks of several rows, of which the first one is shorter, and blocks
    that a layer needs in every other iteration."""
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 0.0)
    found = [compiled(random_row_network(seed)).row_port for seed in (*same(5), 1022, 1088)]
    blocks = [port.source.blocks for port in found if port]
    assert any(each.rows > 1 and each.start < 0 for each in blocks)
    assert any(each.rows > 1 and each.start == 0 for each in blocks)


@pytest.mark.parametrize("name", TARGETS)
def test_instruction_sets_agree(name: str) -> None:
    assert edgekit.verify(classifier(), target=name, ports="rows").exact


def quantized(graph: Graph) -> Graph:
    (name,) = graph.inputs
    samples = np.random.default_rng(0).normal(size=(4, *graph.type(name).shape)).astype(np.float32)
    found, _ = edgekit.quantize_model(graph, {name: samples}, calibrate="minmax", strict_int8=True)
    return found


@pytest.mark.parametrize("is_quantized", [False, True])
def test_steps_arrive_one_by_one(is_quantized: bool) -> None:
    """Of floats, and of floats that become integers in the loop."""
    graph = random_recurrent_network(2)
    assert edgekit.verify(quantized(graph) if is_quantized else graph, ports="rows")


def test_the_arena_has_a_ring_of_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three rows, as a window reads them, and the number of rows so far."""
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    graph = classifier()
    row, counter, outputs = 24 * 3, 4, 4
    program = compiled(graph)
    assert program.row_port
    assert program.row_port.source.ring == 3 * row
    assert (program.row_port.rows, program.row_port.row_size) == (32, row)
    assert program.working_bytes == program.arena.size
    of_the_caller = compiled(graph, "caller")
    assert program.arena.size <= of_the_caller.arena.size + 3 * row + counter + outputs
    assert program.working_bytes < of_the_caller.working_bytes - 28 * row


def test_an_image_that_ends_early_is_given_up_by_a_start(tmp_path: Path) -> None:
    require("gcc")
    program = compiled(classifier())
    library = Library([program], tmp_path)
    images = [simulate.random_inputs(program.graph, seed) for seed in (1, 2)]
    arena = memory(program.arena.size, 0xA5)
    library.start(program, arena)
    for row in images[0]["x"].reshape(32, -1)[:20]:
        assert library.push(program, row, arena) == 0
    found = library.run(program, images[1], arena)
    for name, y in simulate.run(program.graph, images[1]).items():
        np.testing.assert_array_equal(found[name], y)


def test_images_follow_each_other_without_a_start(tmp_path: Path) -> None:
    require("gcc")
    program = compiled(classifier())
    library = Library([program], tmp_path)
    arena = memory(program.arena.size, 0xA5)
    library.start(program, arena)
    for seed in (1, 2, 3):
        image = simulate.random_inputs(program.graph, seed)
        answers = [library.push(program, row, arena) for row in image["x"].reshape(32, -1)]
        assert answers == [0] * 31 + [1]
        for name, y in simulate.run(program.graph, image).items():
            np.testing.assert_array_equal(outputs(program, arena)[name], y)


def test_a_build_feeds_rows_to_what_it_verifies(tmp_path: Path) -> None:
    """The comparison with the simulator, and the self-test, which has memory for one row."""
    report = edgekit.build(classifier(), tmp_path / "made", ports="rows", verify=True)
    assert report.verification
    assert report.verification.exact
    header, test = ((tmp_path / "made" / f"classifier{end}").read_text() for end in (".h", "_selftest.c"))
    assert "#define CLASSIFIER_X_ROWS 32\n#define CLASSIFIER_X_ROW_SIZE 72\n" in header
    assert "int classifier_push(const int8_t *x, void *arena);" in header
    assert "given_x[CLASSIFIER_X_ROW_SIZE + 1];" in test
    assert "classifier_push(given_x, arena);" in test


def test_weights_may_be_given_to_each_push(tmp_path: Path) -> None:
    report = edgekit.build(classifier(), tmp_path / "made", ports="rows", weights="pointer", verify=True)
    assert report.verification
    text = (tmp_path / "made" / "classifier.h").read_text()
    assert "int classifier_push(const int8_t *x, const void *weights, void *arena);" in text


def test_a_hook_is_called_behind_the_layers_of_a_push(tmp_path: Path) -> None:
    assert edgekit.build(classifier(), tmp_path / "made", ports="rows", layer_hook=True, verify=True)


def test_memory_of_a_given_size_includes_the_ring() -> None:
    least = compile_graph(classifier(), targets.load("cortex-m4"), "rows").arena.size
    target = replace(targets.load("cortex-m4"), least_ram=True, ram_limit=least)
    assert compile_graph(classifier(), target, "rows").arena.size <= least
    with pytest.raises(EdgeKitError, match=r"works in .* B of RAM at least, --ram allows 100 B") as caught:
        compile_graph(classifier(), replace(target, ram_limit=100), "rows")
    assert caught.value.code == "E0604"


def two_inputs() -> Graph:
    net = Net()
    return net.done(net(Add(), net.x(1, 8, 8, 2), net.x(1, 8, 8, 2, name="z")))


def dense() -> Graph:
    net = Net()
    return net.done(net(Dense(), net.x(1, 8), net.random(3, 8), net.random(3)))


@pytest.mark.parametrize(
    ("graph", "words"),
    [(two_inputs, "it has 2 inputs"), (dense, "layer .* reads x whole")],
)
def test_networks_that_need_the_whole_input_are_refused(graph: Callable[[], Graph], words: str) -> None:
    with pytest.raises(EdgeKitError, match=f"cannot take its input by rows: {words}") as caught:
        compiled(graph())
    assert caught.value.code == "E0103"
    assert "--ports arena" in caught.value.hint


def test_what_gives_each_run_a_whole_input_is_refused(tmp_path: Path) -> None:
    graph = classifier()
    with pytest.raises(EdgeKitError, match="a package arduino gives each run whole inputs"):
        edgekit.build(graph, tmp_path / "a", target="cortex-m4", ports="rows", package=["arduino"])
    with pytest.raises(EdgeKitError, match="by rows: its library has several entries"):
        edgekit.build(graph, tmp_path / "b", ports="rows", entries={"low": classifier(16)})
    with pytest.raises(EdgeKitError, match="by rows: several cores share its layers"):
        edgekit.build(graph, tmp_path / "c", ports="rows", cores=2)
    with pytest.raises(EdgeKitError, match="by rows: target opencl is for GPUs"):
        edgekit.build(graph, tmp_path / "d", ports="rows", target="opencl")
