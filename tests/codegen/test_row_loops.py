"""Layers that run as loops over rows: what rings hold, what libraries compute, what they take."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.chains import Chain
from support.generated import Library, differences, memory
from support.nets import Net
from support.random_cases import same
from support.row_networks import random_attention_network, random_recurrent_network, random_row_network
from support.tools import require, require_shared

import edgekit
from edgekit.codegen.cost import instructions
from edgekit.codegen.lowering import row_search
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.lowering.row_schedule import (
    Blocks,
    RowLayer,
    RowRead,
    RowSchedule,
    overlap_distance,
    rows_before_end,
    schedule,
)
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Gru
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.target import Optimize

HOST = targets.load("host")


def by_rows(graph: Graph, ports: Ports = "caller", name: str = "host") -> Program:
    return compile_graph(graph, replace(targets.load(name), least_ram=True), ports)


def drawn(seed: int) -> tuple[list[RowLayer], frozenset[str]]:
    """A chain of windows and sums, and what is read behind it."""
    random = Random(seed)
    height = {"x": random.randint(8, 60)}
    layers: list[RowLayer] = []
    for i in range(random.randint(1, 8)):
        known = [*height]
        pairs = [(a, b) for a in known[1:] for b in known[1:] if a < b and height[a] == height[b]]
        if pairs and random.random() < 0.3:
            reads: tuple[RowRead, ...] = tuple(map(RowRead, random.choice(pairs)))
            rows = height[reads[0].tensor]
        else:
            source, size, stride = random.choice(known[-2:]), random.randint(1, 5), random.randint(1, 2)
            pads = random.randint(0, size // 2), random.randint(0, size - 1)
            reads = (RowRead(source, stride, size, pads[0]),)
            rows = (height[source] + sum(pads) - size) // stride + 1
        if rows > 1:
            layers.append(RowLayer(f"y{i}", rows, reads))
            height[f"y{i}"] = rows
    read = {read.tensor for layer in layers for read in layer.reads}
    return layers, frozenset(layer.result for layer in layers if layer.result not in read)


def rows_of(found: RowSchedule, blocks: Blocks, iteration: int) -> range | None:
    """The rows, border included, of what is computed then; None: nothing moves on."""
    block, rest = divmod(iteration - blocks.first, blocks.every)
    ring = found.rings.get(blocks.layer.result)
    if rest or not 0 <= block < (ring.blocks if ring else blocks.count):
        return None
    start = blocks.start + block * blocks.rows
    return range(start, start + blocks.rows)


def move(ring: list[int | None], rows: int) -> None:
    """The first rows are gone, and any bytes may follow the others."""
    ring[:] = [*ring, *[None] * rows][rows:]


def check_rings(found: RowSchedule) -> None:
    """Run the schedule on numbers of rows."""
    rings: Mapping[str, list[int | None]] = {name: [None] * ring.rows for name, ring in found.rings.items()}
    made: Mapping[str, set[int]] = {blocks.layer.result: set() for blocks in found.blocks}
    for iteration in range(found.iterations):
        for blocks in found.blocks:
            layer, rows = blocks.layer, rows_of(found, blocks, iteration) or range(0)
            assert len(rows) <= len(rings.get(layer.result, rows)), "a block is larger than its ring"
            if layer.result in rings and not found.rings[layer.result].reader:
                move(rings[layer.result], len(rows))
            for row in rows:
                if not 0 <= row < layer.height:
                    continue
                for read in layer.reads:
                    if read.tensor not in made:
                        continue
                    top = row * read.stride - read.pad
                    maker = found[read.tensor]
                    for wanted in range(max(top, 0), min(top + read.rows, maker.layer.height)):
                        assert wanted in made[read.tensor]
                        if ring := rings.get(read.tensor):
                            first = rows[0] * read.stride - read.pad
                            at = len(ring) - rows_before_end(maker, blocks, read) + wanted - first
                            assert ring[at] == wanted, f"{layer.result} reads another row of {read.tensor}"
                made[layer.result].add(row)
                if layer.result in rings:
                    rings[layer.result][len(rings[layer.result]) - len(rows) + row - rows[0]] = row
            for name, ring in found.rings.items():
                if ring.reader == layer.result and (newest := rows_of(found, found[name], iteration)):
                    move(rings[name], len(newest))
    for blocks in found.blocks:
        assert made[blocks.layer.result] == set(range(blocks.layer.height))


def test_rows_are_in_their_rings_when_windows_read_them() -> None:
    found = 0
    for seed in range(400):
        layers, exits = drawn(seed)
        for period in (1, 2, 3, 4, 8):
            if layers and (plan := schedule(layers, exits, period)):
                check_rings(plan)
                found += 1
    assert found > 800


def test_a_ring_has_the_rows_of_a_window() -> None:
    """Three layers of 3x3, the second of stride 2, and a sum with the input of the last one."""
    layers = [
        RowLayer("a", 32, (RowRead("x", 1, 3, 1),)),
        RowLayer("b", 16, (RowRead("a", 2, 3, 1),)),
        RowLayer("c", 16, (RowRead("b", 1, 3, 1),)),
        RowLayer("d", 16, (RowRead("c"), RowRead("b"))),
    ]
    plan = schedule(layers, frozenset("d"), 1)
    assert plan
    assert {name: ring.rows for name, ring in plan.rings.items()} == {"a": 3, "b": 3, "c": 1}
    assert [name for name, ring in plan.rings.items() if ring.is_transient] == ["c"]


@pytest.mark.parametrize("period", [1, 2, 4])
def test_a_result_grows_over_an_input_as_far_as_it_is_read(period: int) -> None:
    """The largest distance between bytes that are written and bytes that are read afterwards."""
    layers = [RowLayer("a", 24, (RowRead("x", 1, 3, 1),)), RowLayer("b", 12, (RowRead("a", 2, 3, 0),))]
    plan = schedule(layers, frozenset("b"), period)
    assert plan
    events = [
        (blocks.layer.result, rows)
        for iteration in range(plan.iterations)
        for blocks in plan.blocks
        if (rows := rows_of(plan, blocks, iteration)) and rows[0] < blocks.layer.height
    ]
    worst = 0
    for i, (result, rows) in enumerate(events):
        following = [max(first[0] - 1, 0) for name, first in events[i:] if name == "a"]
        if result == "b" and following:
            worst = max(worst, min(rows[-1] + 1, 12) * 10 - min(following) * 4)
    reader = (plan["a"], layers[0].reads[0], True)
    assert overlap_distance(plan["b"], [reader], 10, 4) == worst > 0


def run_everywhere(graphs: Sequence[Graph], folder: Path, optimize: Optimize) -> int:
    """Compare loops over rows with the simulator, in arenas of two fillings, with bytes on both sides that
    nothing may touch. How many have loops."""
    programs = [by_rows(graph) for graph in graphs]
    library = Library(programs, folder, optimize)
    for program in programs:
        assert not differences(library, program)
    return sum(bool(program.row_gain and program.row_gain.layers) for program in programs)


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_random_networks_compute_what_they_compute_on_whole_tensors(
    tmp_path: Path, optimize: Optimize, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("gcc")
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    # In the last ones, windows leave out rows of blocks of two.
    graphs = [random_row_network(seed) for seed in (*same(5), 1022, 1088)]
    assert run_everywhere(graphs, tmp_path, optimize) > len(graphs) // 2


@pytest.mark.parametrize("optimize", ["speed", "size"])
@pytest.mark.parametrize("drawn", [random_recurrent_network, random_attention_network])
def test_steps_and_heads_one_by_one_compute_what_they_compute_at_once(
    drawn: Callable[[int], Graph], tmp_path: Path, optimize: Optimize, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Integers what is simulated; floats the bits of whole tensors."""
    require("gcc")
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    graphs = [drawn(seed) for seed in same(6)]
    programs = [by_rows(graph) for graph in graphs]
    at_once = [compile_graph(graph.with_name(f"{graph.name}_at_once"), HOST) for graph in graphs]
    library = Library([*programs, *at_once], tmp_path / "floats", optimize)
    for pair in zip(programs, at_once, strict=True):
        inputs = simulate.random_inputs(pair[0].graph, 1)
        (y,), (wanted,) = (library.run(each, inputs, memory(each.arena.size, 0xA5)).values() for each in pair)
        np.testing.assert_array_equal(y, wanted, strict=True)
    assert run_everywhere(list(map(quantized, graphs)), tmp_path / "integers", optimize) > len(graphs) // 2


def quantized(graph: Graph) -> Graph:
    (name,) = graph.inputs
    samples = np.random.default_rng(0).normal(size=(4, *graph.type(name).shape)).astype(np.float32)
    found, _ = edgekit.quantize_model(graph, {name: samples}, calibrate="minmax", strict_int8=True)
    return found.with_name(f"{graph.name}_int8")


def test_a_sequence_of_steps_needs_the_memory_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What gates take, the state, and the last result: not the inputs of 49 steps, and not their results."""
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    net = Net()
    x = net(Dense(), net(Reshape((49, 10)), net.x(1, 49, 10)), net.random(48, 10), net.random(48))
    state, bias = np.zeros((1, 16), np.float32), np.zeros(16, np.float32)
    given = (net.const(each) for each in (net.random(48, 16), state, bias))
    y, _ = net.add(Gru(), net(Reshape((49, 1, 48)), x), *given)
    y = net(Reshape((1, 16)), net(Slice((48, 0, 0), (1, 1, 1), (1, 1, 16)), y))
    graph = net.done(net(Dense(), y, net.random(3, 16), net.random(3)))
    program = by_rows(graph)
    assert compile_graph(graph, HOST).arena.size > 49 * 64 * 4
    gates, scratch, states = 48 * 4, 64 * 4, 2 * 16 * 4
    assert program.arena.size == gates + scratch + states


@pytest.mark.parametrize("reader", ["layer", "sum"])
def test_the_last_state_is_read_behind_its_loop(reader: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second recurrent layer starts from it, or it is added to each step."""
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    net, (steps, size) = Net(), (20, 8)

    def recurrent(x: str, state: str) -> tuple[str, ...]:
        gates = net(Dense(), x, net.random(3 * size, size) / 2, net.random(3 * size))
        given = net.const(net.random(3 * size, size) / 2), state, net.const(net.random(size))
        y, last = net.add(Gru(), net(Reshape((steps, 1, 3 * size)), gates), *given)
        return net(Reshape((steps, size)), y), last

    y, last = recurrent(net.x(steps, size), net.const(net.random(1, size)))
    y = recurrent(y, last)[0] if reader == "layer" else net(Add(), y, last)
    program = by_rows(net.done(net(Dense(), y, net.random(3, size), net.random(3))))
    loops = [line.rows for line in program.lines if last in {arg.name for arg in line.call.args}]
    assert len(loops) == 2
    maker, reader_of_it = (rows and rows.loop for rows in loops)
    assert maker
    assert maker != reader_of_it


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m55", "aarch64", "x86-64-avx2"])
@pytest.mark.parametrize("drawn", [random_recurrent_network, random_attention_network])
def test_instruction_sets_agree_on_steps_and_heads(
    drawn: Callable[[int], Graph], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    graph = quantized(drawn(2))
    gain = by_rows(graph, name=name).row_gain
    assert gain
    assert gain.layers
    assert edgekit.verify(graph, target=name, optimize="ram", ports="arena").exact


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m55", "aarch64", "x86-64-avx2"])
def test_instruction_sets_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    graph = random_row_network(3)
    gain = by_rows(graph, name=name).row_gain
    assert gain
    assert gain.layers
    checked = edgekit.verify(graph, target=name, optimize="ram", ports="arena")
    assert checked.exact


def test_several_cores_run_the_other_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    graph = random_row_network(3)
    assert edgekit.verify(graph, optimize="ram", cores=2).exact


def test_libraries_with_a_path_for_gpus_have_no_row_loops() -> None:
    with pytest.raises(EdgeKitError, match="opencl is for GPUs: it has no --optimize ram") as caught:
        edgekit.build(random_row_network(3), target="opencl", optimize="ram")
    assert caught.value.code == "E0103"
    assert "cortex-m4" in caught.value.hint


def tall_network() -> Graph:
    """Two layers whose results are far larger than the image and what comes of it."""
    chain = Chain(0, (1, 32, 32, 2))
    for depth, size in ((2, 16), (16, 16), (16, 2)):
        chain.layer(Conv2d(pads=(1, 1, 1, 1)), size, 3, 3, depth)
    return chain.done("tall")


def test_the_arena_is_that_of_the_rings() -> None:
    graph = tall_network()
    whole, rows = compile_graph(graph, HOST), by_rows(graph)
    assert whole.arena.size > 32 * 32 * 16
    assert rows.arena.size == 2 * 3 * 32 * 16
    assert rows.row_gain
    assert (rows.row_gain.layers, rows.row_gain.loops) == (3, 1)
    assert rows.row_gain.whole_arena_bytes == whole.arena.size


def test_rows_of_a_ring_move_as_soon_as_all_have_read_them() -> None:
    chain = Chain(0, (1, 32, 32, 2))
    for depth, size in ((2, 16), (16, 16), (16, 16), (16, 2)):
        chain.layer(Conv2d(pads=(1, 1, 1, 1)), size, 3, 3, depth)
    program = by_rows(chain.done("deep"))
    (loop,) = {line.rows.loop for line in program.lines if line.rows}
    row = 32 * 16
    assert {(move.kept, move.dropped) for move in loop.moves} == {(2 * row, row)}
    assert [(move.ring, move.reader) for move in loop.moves] == [*pairwise(loop.results)]
    text = render(program, "speed")["deep.c"].decode()
    assert text.count("ek_keep_rows(") == len(loop.moves) == 3


def averaged_network() -> Graph:
    """A layer of many channels, and the mean of each."""
    chain = Chain(0, (1, 32, 32, 2))
    chain.layer(Conv2d(pads=(1, 1, 1, 1)), 16, 3, 3, 2)
    chain.add(Pool2d("mean", (32, 32)))
    return chain.done("averaged")


def test_a_mean_needs_a_row_and_its_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    program = by_rows(averaged_network())
    row, sums = 32 * 16, 16 * 4
    assert program.arena.size == row + sums
    assert program.row_gain
    assert (program.row_gain.layers, program.row_gain.loops) == (2, 1)


def test_a_mean_in_no_loop_stays_one_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 0.0)
    kernels = [line.call.kernel for line in by_rows(averaged_network()).lines]
    assert kernels == ["conv2d_int", "avgpool2d_s8"]


def test_an_output_grows_over_the_input_in_the_arena() -> None:
    program = by_rows(tall_network(), "arena")
    image = 32 * 32 * 2
    assert program.arena.size < 2 * 3 * 32 * 16 + image + image // 4


def test_other_goals_have_no_row_loops() -> None:
    graph = tall_network()
    assert not any(line.rows for line in compile_graph(graph, HOST).lines)
    assert b"row_blocks.h" not in render(compile_graph(graph, HOST), "speed")["tall.c"]


def test_loops_beyond_the_instruction_budget_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 0.0)
    gain = by_rows(tall_network()).row_gain
    assert gain
    assert not gain.layers


def test_instructions_of_loops_are_counted() -> None:
    graph, target = tall_network(), targets.load("cortex-m4")
    program = fit(graph, replace(target, least_ram=True))
    assert [line.rows.blocks.count for line in program.lines if line.rows] == [32, 32, 32]
    assert sum(1 for _ in program.executed) == 96
    whole = instructions.counted(fit(graph, target), "speed")
    counted, estimated = instructions.counted(program, "speed"), instructions.estimated(program, "speed")
    assert whole.total < counted.total < 1.05 * whole.total
    assert estimated
    assert abs(estimated.total / counted.total - 1) < 0.1


# The rings that hold what windows read, and working memory of kernels, some of it in rings.
REFERENCE = {
    "mlperf_tiny/pretrainedResnet_quant": (32768, 11520),
    "mlperf_tiny/vww_96_int8": (36864, 14608),
    "tflite_micro/person_detect": (36864, 12528),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_networks_take_as_little_as_their_rings(name: str) -> None:
    models = require_shared("models")
    graph = edgekit.convert(models / f"{name}.tflite")
    assert (compile_graph(graph, HOST).arena.size, by_rows(graph).arena.size) == REFERENCE[name]
