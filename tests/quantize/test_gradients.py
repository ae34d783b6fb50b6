"""Gradients of operators are what small changes do, and weights follow them to better answers."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from support.gradient_cases import CASES, operands
from support.nets import Net
from support.prunable import prunable_network
from support.residual import calibration, conv, quiet, residual_network

from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.softmax import Softmax
from edgekit.core.simulate import random_inputs
from edgekit.core.types import Array, DType
from edgekit.quantize.gradients import gradients, is_differentiable
from edgekit.quantize.pruning import adjust
from edgekit.quantize.pruning.adjust import adjusted
from edgekit.quantize.pruning.fit import fitted
from edgekit.quantize.pruning.groups import Network
from edgekit.quantize.pruning.plan import Pruning, PruningPlan, quality_of


@pytest.mark.parametrize(("op", "shapes"), CASES, ids=lambda x: type(x).__name__ if isinstance(x, Op) else "")
def test_gradients_are_what_small_changes_do(op: Op, shapes: list[tuple[int, ...] | Array]) -> None:
    args = operands(shapes)
    (result,) = op.eval(*args)
    wanted = np.random.default_rng(1).standard_normal(result.shape)
    assert is_differentiable(op)
    for i, found in enumerate(gradients(op, args, result, wanted)):
        assert found.shape == args[i].shape
        if args[i].dtype.kind != "f":
            continue
        np.testing.assert_allclose(found, _differences(op, args, i, wanted), rtol=1e-5, atol=1e-6)


def _differences(op: Op, args: list[Array], which: int, wanted: Array) -> Array:
    """One element after the other."""
    found = np.zeros_like(args[which])
    for place in np.ndindex(found.shape):
        ends = []
        for step in (1e-5, -1e-5):
            moved = [arg.copy() for arg in args]
            moved[which][place] += step
            ends.append((op.eval(*moved)[0] * wanted).sum())
        found[place] = (ends[0] - ends[1]) / 2e-5
    return found


@pytest.mark.parametrize("op", [Softmax(), MatMul(), Pool2d("other", (2, 2)), Reduce("max", (0,))])
def test_what_has_no_gradient_says_so(op: Op) -> None:
    assert not is_differentiable(op)


def test_all_weights_together_answer_better() -> None:
    graph = residual_network()
    network, samples = Network.of(graph), calibration(graph, 128)
    masked = network.masked(PruningPlan.of(graph, samples, "", quiet).masks([2, 4, 1, 1]))
    by_layers = fitted(network, masked, samples, quiet)
    together = adjusted(network, by_layers, samples, quiet)
    fresh = [random_inputs(graph, 1000 + seed) for seed in range(32)]
    assert quality_of(graph, together, fresh) > quality_of(graph, by_layers, fresh) + 0.3
    for name, data in by_layers.constants():
        if name in together.values and data.ndim > 1:
            assert not np.asarray(together.data(name))[data == 0].any(), name


def test_samples_that_judge_are_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, samples = residual_network(), calibration(residual_network(), 32)
    parts, batches = list[set[int]](), adjust._batches

    def seen(some: Sequence[Mapping[str, Array]], size: int) -> Sequence[Mapping[str, Array]]:
        parts.append({id(sample) for sample in some})
        return batches(some, size)

    monkeypatch.setattr(adjust, "_batches", seen)
    adjusted(Network.of(graph), graph, samples, quiet)
    fitting, judging = parts
    assert fitting.isdisjoint(judging)
    assert fitting | judging == {id(sample) for sample in samples}


def test_nothing_to_gain_changes_nothing() -> None:
    graph = residual_network()
    assert adjusted(Network.of(graph), graph, calibration(graph, 32), quiet) == graph


def mixing_network() -> Graph:
    """A softmax in the middle."""
    net = Net(DType.F32)
    x = conv(net, conv(net, net.x(1, 4, 4, 3), 8, lo=0.0), 8)
    return net.done(conv(net, net(Softmax(), x), 5))


def test_networks_without_gradients_stay_as_layers_fit() -> None:
    graph = mixing_network()
    network, samples = Network.of(graph), calibration(graph, 32)
    masked = network.masked(PruningPlan.of(graph, samples, "", quiet).masks([4]))
    assert adjusted(network, masked, samples, quiet) is masked


@pytest.mark.parametrize("seed", range(4))
def test_random_networks_do_not_become_worse(seed: int) -> None:
    graph = prunable_network(seed)
    plan = PruningPlan.of(graph, calibration(graph, 24), "", quiet)
    counts = plan.counts(Pruning(ratio=0.3))
    by_layers = fitted(plan.network, plan.network.masked(plan.masks(counts)), plan.fitting, quiet)
    together = adjusted(plan.network, by_layers, plan.fitting, quiet)
    judging = plan.fitting[7::8]
    assert quality_of(graph, together, judging) >= quality_of(graph, by_layers, judging) - 0.01
