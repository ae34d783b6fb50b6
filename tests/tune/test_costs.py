"""Pruning for a target: what layers take there decides what goes, in the numbers that kernels like."""

import numpy as np
import pytest
from support.command_line import DIGITS
from support.residual import calibration, quiet, residual_network

from edgekit import api
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.quantize.pruning.cost import PruningCost
from edgekit.quantize.pruning.groups import Network
from edgekit.quantize.pruning.plan import Pruning, PruningPlan
from edgekit.quantize.pruning.prune import prune
from edgekit.tuning.costs import layer_costs, liked_multiple

M4 = targets.load("cortex-m4")


@pytest.fixture(scope="module")
def digits() -> Graph:
    return simplify(api.convert(DIGITS / "digits.onnx"))


def test_costs_of_any_number_of_channels_are_those_of_the_smaller_network(digits: Graph) -> None:
    """A few variants are measured; others are as these say."""
    network, costs = Network.of(digits), layer_costs(M4)
    assert costs is not None
    cost = PruningCost.measured(network, costs, 8)
    for gone in ([4, 8, 16], [0, 8, 8], [4, 0, 16], [4, 8, 0]):
        pairs = list(zip(network.groups, gone, strict=True))
        smaller = network.pruned({group.name: np.arange(group.size) < n for group, n in pairs})
        truth = sum(costs(simplify(smaller)).values())
        assert cost(np.array([n / group.size for group, n in pairs])) == pytest.approx(truth, rel=0.01)


def products(graph: Graph) -> dict[str, float]:
    """Those of layers, as if they were measured."""
    return {
        node.origin: float(node.op.macs(*(graph.type(name) for name in node.inputs))) for node in graph.nodes
    }


def test_costs_know_residuals_and_concatenations() -> None:
    """Where products are measured, it comes to what is known of them."""
    network = Network.of(residual_network())
    measured, known = PruningCost.measured(network, products, 1), PruningCost.of(network, "macs")
    for gone in ([0, 0, 0, 0], [4, 4, 1, 2], [0, 6, 2, 1]):
        shares = np.array([n / g.size for g, n in zip(network.groups, gone, strict=True)])
        assert measured(shares) == pytest.approx(known(shares), rel=0.05)


def test_numbers_of_channels_are_those_that_the_heaviest_kernel_likes(digits: Graph) -> None:
    assert liked_multiple(digits, M4) == 4  # results of a convolution that are computed together
    assert M4.channels == 4
    neon = targets.load("aarch64")
    assert liked_multiple(digits, neon) == neon.channels


def test_half_of_the_instructions(digits: Graph) -> None:
    costs = layer_costs(M4)
    assert costs is not None
    samples = calibration(digits, 8)
    small, found = prune(digits, samples, Pruning(instructions=0.5, multiple=4), costs=costs)
    assert sum(costs(small).values()) <= 0.5 * sum(costs(digits).values())
    assert all(group.after % 4 == 0 or group.after == group.before for group in found.groups)


def test_of_two_layers_the_one_goes_that_costs_more() -> None:
    """What does nothing for the price stays, whatever products it has."""
    graph = residual_network()
    network = Network.of(graph)
    for dear in (0, 1):
        name = network.groups[dear].name

        def costs(graph: Graph, name: str = name) -> dict[str, float]:
            return {name: float(graph.type(name).shape[-1])}

        plan = PruningPlan.of(graph, [], "l2", quiet, costs=costs)
        counts = plan.counts(Pruning(macs=0.95))
        assert counts[dear] > 0
        assert sum(counts) == counts[dear]


def test_without_calibration_instructions_cannot_be_asked_for(digits: Graph) -> None:
    assert layer_costs(targets.load("host")) is None
    with pytest.raises(EdgeKitError, match="not known"):
        prune(digits, [], Pruning(instructions=0.5))
