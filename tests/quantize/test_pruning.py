"""Pruning: what goes together, the smaller network is the masked one, and what is left makes up for it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support import random_cases
from support.nets import Net, assert_same
from support.prunable import prunable_network
from support.residual import SAME, calibration, conv, quiet, residual_network
from support.tools import require_shared

from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes.channels import dead_channels
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import random_inputs
from edgekit.quantize.pruning.criteria import CRITERIA
from edgekit.quantize.pruning.fit import fitted
from edgekit.quantize.pruning.groups import Network
from edgekit.quantize.pruning.plan import Pruning, PruningPlan, macs, quality_of, weights
from edgekit.quantize.pruning.prune import prune


def groups(graph: Graph) -> list[tuple[int, int]]:
    """Units of each group, and tensors that they are in."""
    return [(group.size, len(group.cells)) for group in Network.of(graph).groups]


# What goes together


def test_a_residual_is_one_group() -> None:
    net = Net()
    first = conv(net, net.x(1, 4, 4, 3), 8)
    second = net(Add(), first, conv(net, first, 8))
    third = net(Add(), second, conv(net, second, 8))
    assert groups(net.done(conv(net, third, 5))) == [(8, 5)]


def test_everything_that_ties_channels_together() -> None:
    network = Network.of(residual_network())
    sizes = [group.size for group in network.groups]
    # Ten concatenated channels, of six and four, are read in two groups of five. Those of one place are from
    # both sides, but for one pair, which is alone of its kind.
    assert sizes == [8, 12, 4, 4]
    flattened = network.groups[-1]
    assert [cells.shape for cells in flattened.cells.values()] == [(4, 2), (4, 18)]


def test_what_the_caller_sees_stays() -> None:
    net = Net()
    x = conv(net, net.x(1, 4, 4, 3), 8)
    assert groups(net.done(x, conv(net, x, 5))) == []


def test_what_a_softmax_mixes_stays() -> None:
    net = Net()
    x = net(Softmax(), conv(net, net.x(1, 4, 4, 3), 8))
    assert groups(net.done(conv(net, x, 5))) == []


def test_half_of_the_channels_may_be_free() -> None:
    net = Net()
    x = conv(net, net.x(1, 4, 4, 3), 8)
    half = net(Slice((0, 0, 0, 4), (1, 1, 1, 1), (1, 4, 4, 4)), x)
    y = net.done(conv(net, x, 5), net(Sigmoid(), half))
    assert groups(y) == [(4, 1)]


# The smaller network is the masked one


def some(network: Network, seed: int, share: float = 0.4) -> Mapping[str, Any]:
    """Units at random, never all of a group."""
    rng = np.random.default_rng(seed)
    gone = {}
    for group in network.groups:
        mask = rng.random(group.size) < share
        mask[rng.integers(group.size)] = False
        gone[group.name] = mask
    return gone


@pytest.mark.parametrize("seed", random_cases.same(100))
def test_random_networks_without_channels_are_those_with_masks(seed: int) -> None:
    network = Network.of(dead_channels(prunable_network(seed)))
    gone = some(network, seed)
    assert_same(network.masked(gone), network.pruned(gone))


@pytest.mark.parametrize("seed", range(100))
def test_channels_of_random_networks_are_gone(seed: int) -> None:
    network = Network.of(dead_channels(prunable_network(seed)))
    gone = some(network, seed)
    pruned = network.pruned(gone)
    for name in pruned.values.keys() & network.graph.values.keys():
        parts = [g.cells[name][gone[g.name]].size for g in network.groups if name in g.cells]
        if parts:  # more may go with them: what is constant now, for one
            assert pruned.type(name).shape[-1] <= network.graph.type(name).shape[-1] - sum(parts)


def test_random_networks_have_something_to_prune() -> None:
    found = [len(Network.of(prunable_network(seed)).groups) for seed in range(100)]
    assert min(found) > 0
    assert sum(found) > 300


def test_units_that_are_gone_are_gone_everywhere() -> None:
    network = Network.of(residual_network())
    gone = some(network, 1)
    left = Network.of(network.pruned(gone))
    sizes = [group.size for group in left.groups]
    assert sizes == [int((~gone[group.name]).sum()) for group in network.groups]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", ["pretrainedResnet", "kws_ref_model_float32", "vww_96_float", "ad01_fp32"])
def test_real_networks_lose_30_percent_exactly(name: str, criterion: str) -> None:
    graph = simplify(tflite_reader.convert(require_shared(f"models/mlperf_tiny/{name}.tflite")))
    samples = [random_inputs(graph, seed) for seed in range(2)]
    plan = PruningPlan.of(graph, samples, criterion, quiet)
    counts = plan.counts(Pruning(ratio=0.3))
    gone = plan.masks(counts)
    small, found = plan.prune(counts, fit=False, progress=quiet)
    assert_same(plan.network.masked(gone), small)
    assert all(group.after <= 0.7 * group.before for group in found.groups)


# How much, and which


@pytest.mark.parametrize("share", [0.8, 0.5, 0.2])
def test_no_more_multiplications_are_left_than_wanted(share: float) -> None:
    graph = residual_network()
    small, found = prune(graph, calibration(graph), Pruning(macs=share))
    assert found.macs == macs(small) <= share * macs(graph)
    assert found.macs_before == macs(graph)


def test_no_more_weights_are_left_than_wanted() -> None:
    graph = residual_network()
    small, found = prune(graph, [], Pruning(weights=0.5))
    layers = Network.of(small).layers.values()
    assert sum(layer.w.size for layer in layers) <= 0.5 * sum(
        layer.w.size for layer in Network.of(graph).layers.values()
    )
    assert found.weights == weights(small)
    assert found.criterion == "l2"


def test_numbers_of_channels_are_multiples() -> None:
    graph = residual_network()
    _, found = prune(graph, [], Pruning(ratio=0.4, multiple=4))
    assert all(group.after % 4 == 0 or group.after == group.before for group in found.groups)


def test_multiples_that_are_liked_do_not_stand_in_the_way() -> None:
    """Half of the multiplications leave multiples of 4, a third smaller ones, but where 4 was asked for."""
    graph = residual_network()

    def left(share: float, liked: int = 1, multiple: int = 1) -> list[int]:
        wanted = Pruning(macs=share, liked=liked, multiple=multiple)
        return [group.after for group in prune(graph, [], wanted)[1].groups]

    assert left(0.5, liked=4) == left(0.5, multiple=4)
    assert left(0.3, liked=4) == left(0.3, multiple=2)
    with pytest.raises(EdgeKitError, match="4 channels"):
        prune(graph, [], Pruning(macs=0.3, multiple=4))


def test_what_cannot_be_reached_says_what_can() -> None:
    graph = residual_network()
    with pytest.raises(EdgeKitError, match="single channel"):
        prune(graph, [], Pruning(macs=0.0001))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_finds_what_is_useless(criterion: str) -> None:
    """Filters that are almost zero go first, by all of them."""
    net = Net()
    w, useless = net.random(8, 3, 3, 3), [1, 4, 6]
    w[useless] *= 1e-4
    b = np.zeros(8, np.float32)
    x = net(Conv2d(pads=SAME, lo=0.0), net.x(1, 6, 6, 3), w, b)
    graph = net.done(conv(net, x, 5))
    plan = PruningPlan.of(graph, calibration(graph), criterion, quiet)
    (candidate,) = plan.candidates
    assert sorted(candidate.order.units[:3]) == useless


@pytest.mark.parametrize("criterion", ["l1", "activation", "reconstruction"])
def test_a_copy_of_a_filter_costs_nothing(criterion: str) -> None:
    """What another channel can make up for is made up for, by the fit; reconstruction looks for it."""
    net = Net()
    w = net.random(4, 3, 3, 3)
    w, b = np.concatenate([w, 2 * w]), np.tile(net.random(4), 2) * np.repeat([1, 2], 4).astype(np.float32)
    x = net(Conv2d(pads=SAME, lo=0.0), net.x(1, 6, 6, 3), w, b)
    graph = net.done(conv(net, x, 5, k=3, pads=SAME))
    samples = calibration(graph)
    small, found = prune(graph, samples, Pruning(ratio=0.5, criterion=criterion))
    assert [group.after for group in found.groups] == [4]
    # The small filters go, or one of each pair: both can be made up for.
    assert quality_of(graph, small, samples) > 50
    plain, _ = prune(graph, samples, Pruning(ratio=0.5, criterion=criterion, fit=False))
    assert quality_of(graph, plain, samples) < 20


@pytest.mark.parametrize("worse", [0, 1])
def test_the_quality_is_that_of_the_worst_output(worse: int) -> None:
    def scaled(*factors: float) -> Graph:
        net = Net()
        x = net.x(1, 8)
        return net.done(*(net(Mul(), x, factor, name=f"y{i}") for i, factor in enumerate(factors)))

    samples = [random_inputs(scaled(1, 1), seed) for seed in range(4)]
    factors = [1.001, 1.001]
    factors[worse] = 1.1
    assert quality_of(scaled(1, 1), scaled(*factors), samples) == pytest.approx(20, abs=0.01)


def test_a_fit_of_nothing_changes_nothing() -> None:
    network = Network.of(residual_network())
    assert_same(network.graph, fitted(network, network.graph, calibration(network.graph, 4), quiet), 0.0)


def test_a_fit_helps_on_samples_that_it_has_not_seen() -> None:
    graph = residual_network()
    samples = calibration(graph, 64)
    fresh = [random_inputs(graph, 1000 + seed) for seed in range(16)]
    quality = {}
    for fit in (True, False):
        small, _ = prune(graph, samples, Pruning(macs=0.6, fit=fit))
        quality[fit] = quality_of(graph, small, fresh)
    assert quality[True] > quality[False] + 3


def test_pruning_is_deterministic() -> None:
    graph = residual_network()
    first, second = (prune(graph, calibration(graph), Pruning(macs=0.5))[0] for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({}, "E0101"),
        ({"ratio": 0.5, "macs": 0.5}, "E0101"),
        ({"ratio": 1.0}, "E0103"),
        ({"macs": 0.0}, "E0103"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, float], code: str) -> None:
    with pytest.raises(EdgeKitError) as caught:
        Pruning(**settings)
    assert caught.value.code == code


def test_criteria_that_need_data_say_so() -> None:
    with pytest.raises(EdgeKitError, match="calibration data"):
        prune(residual_network(), [], Pruning(ratio=0.5, criterion="activation"))
    with pytest.raises(EdgeKitError, match="unknown criterion"):
        prune(residual_network(), [], Pruning(ratio=0.5, criterion="beauty"))


def test_a_network_without_hidden_channels_is_refused() -> None:
    net = Net()
    graph = net.done(conv(net, net.x(1, 4, 4, 3), 8))
    with pytest.raises(EdgeKitError, match="no channel of net can be pruned"):
        prune(graph, [], Pruning(ratio=0.5))
