"""Memory of a given size: which layers run row by row for it, and what less memory costs."""

from dataclasses import replace

import pytest
from support.chains import Chain
from support.row_networks import random_recurrent_network, random_row_network

import edgekit
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.memory.planner import assign, bytes_at_least
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.planned_once import planned_once
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.row_plans import RowTradeoff, tradeoffs
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.reports import footprint

M4 = targets.load("cortex-m4")


def network() -> Graph:
    """Layers of 3x3 whose results get smaller, and channels more."""
    chain = Chain(0, (1, 32, 32, 4))
    for outputs, inputs, stride in ((16, 4, 1), (16, 16, 1), (24, 16, 2), (24, 24, 1), (32, 24, 2)):
        chain.layer(Conv2d((stride, stride), (1, 1, 1, 1)), outputs, 3, 3, inputs)
    return chain.done("net")


def within(limit: int) -> Program:
    return compile_graph(network(), replace(M4, least_ram=True, ram_limit=limit))


def test_less_memory_costs_more_instructions() -> None:
    found = tradeoffs(network(), M4, "caller")
    sizes, costs = [each.working_bytes for each in found], [each.more for each in found]
    assert len(found) > 3
    assert sizes == sorted({*sizes}, reverse=True)
    assert costs == sorted(costs)
    assert found[0] == RowTradeoff(compile_graph(network(), M4).working_bytes, 0.0)
    assert sizes[-1] < 0.6 * sizes[0]


def test_a_library_works_in_the_memory_that_it_is_given() -> None:
    """As cheaply as the estimate says."""
    for each in tradeoffs(network(), M4, "caller"):
        program = within(each.working_bytes)
        assert program.working_bytes <= each.working_bytes
        assert program.row_gain
        assert program.row_gain.more <= each.more


def test_enough_for_whole_tensors_is_said() -> None:
    found = edgekit.estimate(network(), target="cortex-m4", ram=1 << 20)
    assert any(
        row.startswith("by rows") and "no layers: on whole tensors" in row
        for row in footprint.estimate(found)
    )
    plain = edgekit.estimate(network(), target="cortex-m4")
    assert not any(row.startswith("by rows") for row in footprint.estimate(plain))


def test_less_than_the_least_is_refused_with_the_least() -> None:
    with pytest.raises(EdgeKitError, match=r"works in .* B of RAM at least, --ram allows 4,097 B") as caught:
        within(4097)
    assert caught.value.code == "E0604"
    least = int(caught.value.hint.split()[1])
    assert within(least).working_bytes == least


def test_inputs_in_the_arena_count_once() -> None:
    whole = compile_graph(network(), M4, "arena")
    limit = whole.working_bytes * 3 // 4
    program = compile_graph(network(), replace(M4, least_ram=True, ram_limit=limit), "arena")
    assert program.arena.size == program.working_bytes <= limit < whole.arena.size


def test_results_in_little_memory_are_the_same() -> None:
    least = tradeoffs(network(), targets.load("host"), "caller")[-1].working_bytes
    assert edgekit.verify(network(), ram=least).exact


def test_gpus_have_no_limit() -> None:
    with pytest.raises(EdgeKitError, match="opencl is for GPUs: it has no --ram"):
        edgekit.build(network(), target="opencl", ram=20_000)


def test_reports_show_the_shapes_of_whole_tensors() -> None:
    """Not those of the ring buffers."""
    whole, rows = (
        edgekit.estimate(network(), target="cortex-m4", optimize=goal) for goal in ("speed", "ram")
    )
    assert rows.row_gain
    assert whole.map
    assert rows.map
    shapes = [[(layer.inputs, layer.outputs) for layer in each.layers] for each in (whole.map, rows.map)]
    assert shapes[0] == shapes[1]


def test_a_limit_is_a_number_of_bytes() -> None:
    with pytest.raises(EdgeKitError, match="ram -1 is no number of bytes"):
        edgekit.estimate(network(), ram=-1)


@pytest.mark.parametrize("ports", ["caller", "arena"])
@pytest.mark.parametrize("seed", range(12))
def test_no_arena_is_smaller_than_the_least(seed: int, ports: Ports) -> None:
    """With layers before which tensors are moved, too, and of several parts."""
    for graph in (random_row_network(seed), random_recurrent_network(seed)):
        layers = lower(graph, M4, ports)
        found = bytes_at_least(graph, layers, M4.align, ports)
        assert 0 <= found <= assign(graph, layers, M4.align, ports).arena.size


@pytest.mark.parametrize("seed", range(6))
def test_a_trial_has_the_memory_of_the_library(seed: int) -> None:
    for graph in (random_row_network(seed), random_recurrent_network(seed), network()):
        for target in (replace(M4, least_ram=True), replace(M4, least_ram=True, ram_limit=1 << 20)):
            built, tried = (compile_graph(graph, target, is_trial=trial) for trial in (False, True))
            assert built.row_gain
            assert tried.arena_bytes == built.arena_bytes
            assert [line.call.file for line in tried.lines] == [line.call.file for line in built.lines]


@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_starts_elsewhere_finds_the_same_loops(seed: int) -> None:
    """After a model of a lower and of a higher peak."""
    tight = replace(M4, least_ram=True)
    graphs = [random_row_network(seed), network(), random_row_network(seed + 4)]
    alone = [compile_graph(graph, tight, is_trial=True) for graph in graphs]
    with planned_once():
        for _ in range(2):
            for graph, expected in zip(graphs, alone, strict=True):
                found = compile_graph(graph, tight, is_trial=True)
                assert found.arena == expected.arena
                assert [line.call for line in found.lines] == [line.call for line in expected.lines]
