"""Pruning of models with states: ring buffers lose channels that nothing reads, and the stream is judged."""

from typing import Any

import numpy as np
import pytest
from support import random_cases
from support.residual import quiet
from support.streaming_networks import CLASSES, FEATURES, STEPS, WINDOW, convolutions, recurrent, steps
from support.tools import require

from edgekit import Pruning, prune, run
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.recurrent import Lstm
from edgekit.core.passes.channels import dead_channels
from edgekit.core.types import Array
from edgekit.quantize.measure import sqnr
from edgekit.quantize.pruning.groups import Network
from edgekit.quantize.pruning.plan import Pruned

JUDGED = STEPS // 4


def scores(graph: Graph) -> Array:
    (found,) = run(graph, steps(graph)).values()
    return found.reshape(STEPS, CLASSES)


def pruned(graph: Graph, wanted: Pruning, **options: Any) -> tuple[Graph, Pruned]:
    return prune(graph, steps(graph), wanted, progress=quiet, **options)


def widths(graph: Graph) -> list[int]:
    return [state.initial.type.shape[-1] for state in graph.states]


def masked(network: Network, seed: int) -> tuple[Graph, Graph]:
    """The network with random units that are not read, and without them."""
    rng = np.random.default_rng(seed)
    gone = {group.name: np.arange(group.size) < rng.integers(1, group.size) for group in network.groups}
    return network.opened.closed_graph(network.masked(gone)), network.pruned(gone)


@pytest.mark.parametrize("seed", random_cases.same(20))
def test_networks_without_channels_are_those_with_masks(seed: int) -> None:
    depth, width = 1 + seed % 4, 2 + seed % 7
    network = Network.of(convolutions(seed, depth=depth, width=width, is_residual=seed % 2 == 1))
    whole, small = masked(network, seed)
    np.testing.assert_allclose(scores(whole), scores(small), rtol=1e-4, atol=1e-5)
    found = {name for group in network.groups for name in group.cells}
    pairs = zip(whole.states, widths(whole), widths(small), strict=True)
    assert [after < before for _, before, after in pairs] == [state.input in found for state in whole.states]


def test_a_ring_buffer_loses_what_its_layer_loses() -> None:
    graph = convolutions()
    assert [len(group.cells) for group in Network.of(graph).groups] == [5, 5, 3]
    made, report = pruned(graph, Pruning(ratio=0.5))
    assert [(group.before, group.after) for group in report.groups] == [(16, 8)] * 3
    assert widths(made) == [FEATURES, 8, 8]


def test_a_residual_of_streams_is_one_group() -> None:
    assert [group.size for group in Network.of(convolutions(is_residual=True)).groups] == [16]


def test_other_passes_leave_states_alone_for_entries_share_them() -> None:
    network = Network.of(convolutions())
    whole, small = masked(network, 1)
    assert widths(dead_channels(whole)) == widths(whole) != widths(small)


def test_the_quality_is_that_of_the_end_of_the_stream() -> None:
    graph = convolutions()
    made, report = pruned(graph, Pruning(macs=0.5))
    before, after = (scores(g)[-JUDGED:].astype(np.float64) for g in (graph, made))
    assert report.samples == JUDGED
    assert report.sqnr_db == pytest.approx(sqnr([before], [after]), abs=0.01)
    assert report.sqnr_db > 20


def test_the_accuracy_is_that_of_the_end_of_the_stream() -> None:
    graph = convolutions()
    labels = scores(graph).argmax(axis=1)
    made, report = pruned(graph, Pruning(macs=0.5), labels=labels)
    assert report.accuracy_before == 1
    assert report.accuracy == np.mean(scores(made).argmax(axis=1)[-JUDGED:] == labels[-JUDGED:])


def test_blocks_of_zeros_beside_states() -> None:
    require("gcc")
    graph = convolutions()
    made, report = pruned(graph, Pruning(blocks=0.5), target="cortex-m4")
    assert [block.share for block in report.blocks] == [0.5]
    assert widths(made) == [FEATURES, 16, 16]
    assert report.sqnr_db is not None
    assert report.sqnr_db > 20


def test_recurrent_layers_keep_their_width() -> None:
    with pytest.raises(EdgeKitError, match="no channel of Lstm can be pruned") as caught:
        pruned(recurrent(Lstm()), Pruning(ratio=0.5))
    assert "edgekit quantize" in caught.value.hint


def test_one_step_is_a_stream() -> None:
    graph = convolutions()
    first = {name: x[:1] for name, x in steps(graph).items()}
    made, report = prune(graph, first, Pruning(ratio=0.5), progress=quiet)
    assert (report.samples, widths(made)) == (1, [FEATURES, 8, 8])
    assert made.states[0].initial.type.shape[1] == WINDOW - 1
