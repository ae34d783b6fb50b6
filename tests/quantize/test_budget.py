"""Time and memory of quantization: so many float passes over all samples, and values of few of them."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from support.nets import Net

from edgekit.core import simulate
from edgekit.core.ir import Graph, Node
from edgekit.core.ops.activations import HardSwish
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.types import Array
from edgekit.quantize import post_training
from edgekit.quantize.calibration import sample_batches, search_budget
from edgekit.quantize.calibration.search_budget import INTEGER, SearchBudget, node_work
from edgekit.quantize.post_training import quantize
from edgekit.quantize.settings import Settings

SIDE, CHANNELS, LAYERS = 32, 16, 6


def network(outlier: float = 1) -> Graph:
    """Convolutions over an image."""
    net = Net()
    x = net.x(1, SIDE, SIDE, CHANNELS)
    for layer in range(LAYERS):
        weights = net.random(CHANNELS, 3, 3, CHANNELS) / 12
        weights[0] *= outlier if layer == 2 else 1
        weights[..., 0] *= 0 if layer == 3 and outlier > 1 else 1
        x = net(HardSwish(), net(Conv2d(pads=(1, 1, 1, 1)), x, weights, net.random(CHANNELS) / 9))
    return net.done(net(Pool2d("mean", (SIDE, SIDE)), x))


def samples(count: int) -> list[dict[str, Array]]:
    random = np.random.default_rng(0)
    shape = (1, SIDE, SIDE, CHANNELS)
    return [{"x": (random.normal(size=shape) + random.normal()).astype(np.float32)} for _ in range(count)]


class Counter:
    """Counts what the simulator is given to do, whatever the budget says."""

    def __init__(self, graph: Graph, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spent, self.one = 0.0, sum(node_work(graph, node) for node in graph.nodes) * count
        self.before, self.budgets = simulate._computed, list[SearchBudget]()
        self.of = SearchBudget.of
        monkeypatch.setattr(simulate, "_computed", self.computed)
        monkeypatch.setattr(SearchBudget, "of", self.made)
        monkeypatch.setattr(search_budget, "_LEAST", 0)

    def computed(self, made: Graph, node: Node, values: dict[str, Array]) -> dict[str, Array]:
        self.spent += node_work(made, node) * (INTEGER if made.type(node.outputs[0]).quant else 1)
        return self.before(made, node, values)

    def made(self, graph: Graph, samples: int, passes: float = 20) -> SearchBudget:
        self.budgets.append(self.of(graph, samples, passes))
        return self.budgets[-1]


@pytest.mark.parametrize("passes", [20, 30])
@pytest.mark.parametrize("outlier", [1, 300])
def test_all_of_it_takes_as_many_passes_as_the_budget_says(
    outlier: float, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each stage what was paid is what was done, and no more than the whole; also where layers need better
    formats. What is left in the end is what no stage had a use for."""
    graph, given = network(outlier), samples(32)
    counter = Counter(graph, len(given), monkeypatch)
    stages: dict[str, tuple[float, float]] = {}

    def progress(step: str) -> None:
        paid = sum(budget.spent for budget in counter.budgets)
        if paid:
            stages[step] = counter.spent, paid

    report = quantize(graph, given, Settings(passes=passes), progress)[1]
    assert (report.mixed is not None) == (outlier > 1)
    (budget,) = counter.budgets
    assert 8 * counter.one < counter.spent < budget.spent <= budget.limit
    assert len(stages) > 10
    for step, (done, paid) in stages.items():
        assert 0.9 * done <= paid <= budget.limit, step


def test_a_part_of_a_budget_is_paid_by_the_whole_and_leaves_what_is_reserved() -> None:
    whole = SearchBudget(100)
    whole.reserved = 30
    part = whole.part(50)
    part.pay(20)
    assert (part.left, whole.spent, whole.left) == (30, 20, 50)
    whole.pay(45)
    assert (part.left, whole.left) == (5, 5)
    assert whole.part(50).limit == 5
    assert whole.samples(0.5, 1, 40, 2) == 5
    assert whole.samples(0.5, 1, 4, 2) == 4
    assert whole.samples(0.5, 10, 40, 2) == 2


def test_memory_is_that_of_few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is measured is the same: outputs of all held-out samples, layers of fewer. No value waits for
    the garbage collector, which runs more rarely the more a process holds."""
    graph, given, settings = network(), samples(32), Settings(calibrate="minmax", strict_int8=True)
    monkeypatch.setattr(sample_batches, "_LARGEST", 1)
    peaks, reports = [], []
    for memory in (2**30, 2**20):
        monkeypatch.setattr(post_training, "_MEMORY", memory)
        gc.disable()
        tracemalloc.start()
        reports.append(quantize(graph, given, settings)[1])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        gc.enable()
    assert peaks[1] < 0.4 * peaks[0]
    assert reports[0].outputs == reports[1].outputs
    pairs = zip(reports[0].layers, reports[1].layers, strict=True)
    assert all(abs(one.sqnr_db - other.sqnr_db) < 3 for one, other in pairs)
