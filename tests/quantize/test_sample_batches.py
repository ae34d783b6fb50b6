"""Samples that run together: what comes out is what each alone would give."""

import numpy as np
import pytest
from support.nets import Net
from support.random_graphs import random_network

from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.quantize.calibration.observe import Observer, Statistics
from edgekit.quantize.calibration.sample_batches import stack_size, stacks


def test_what_runs_together_is_what_each_sample_gives_alone() -> None:
    sizes = []
    for seed in range(40):
        graph = random_network(seed, steps=5)
        samples = [simulate.random_inputs(graph, s) for s in range(5)]
        sizes.append(stack_size(graph, samples))
        if sizes[-1] == 1:
            continue
        (stack,) = stacks(graph, samples)
        found = simulate.run(stack.graph(graph), stack.values)
        for i, sample in enumerate(samples):
            for name, y in simulate.run(graph, sample).items():
                assert np.allclose(found[name][i], y[0], equal_nan=True), (seed, name)
    assert 5 < sum(size > 1 for size in sizes) < 40, "some graphs move the first dimension, others do not"


def test_each_sample_is_there_once_and_in_its_order() -> None:
    net = Net()
    graph = net.done(net(Exp(), net.x(1, 1 << 13)))
    samples = [simulate.random_inputs(graph, s) for s in range(70)]
    found = stacks(graph, samples)
    assert [stack.count for stack in found] == [24, 23, 23]
    again = [x for stack in found for x in stack.apart(stack.values["x"])]
    assert all((x == sample["x"]).all() for x, sample in zip(again, samples, strict=True))


@pytest.mark.parametrize("rows", [1, 4])
def test_samples_that_a_graph_would_mix_stay_alone(rows: int) -> None:
    net = Net()
    graph = net.done(net(Cumulative("sum", 0), net.x(rows, 6)))
    samples = [simulate.random_inputs(graph, s) for s in range(4)]
    assert stack_size(graph, samples) == 1
    assert [stack.count for stack in stacks(graph, samples)] == [1] * 4


@pytest.mark.parametrize("count", [1, 2, 37])
def test_statistics_are_those_of_the_samples(count: int) -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 6), net.random(4, 6), net.random(4)))
    (y,) = graph.outputs
    samples = [simulate.random_inputs(graph, s) for s in range(count)]
    observer, expected = Observer(graph), Statistics()
    for sample in samples:
        observer.add(sample)
        expected.add(simulate.run(graph, sample)[y])
    found = observer.statistics[y]
    assert observer.seen == count
    assert (found.counts == expected.counts).all()
    assert np.allclose((found.low, found.high), (expected.low, expected.high))
    assert np.allclose(found.means, expected.means)


def test_channels_of_vectors_are_those_of_one_sample() -> None:
    net = Net()
    graph = net.done(net(Reshape((1,)), net(Dense(), net.x(1, 6), net.random(1, 6), net.random(1))))
    observer, samples = Observer(graph), [simulate.random_inputs(graph, s) for s in range(37)]
    for sample in samples:
        observer.add(sample)
    (y,) = graph.outputs
    alone = [simulate.run(graph, sample)[y] for sample in samples]
    assert np.allclose(observer.statistics[y].means, np.mean(alone, axis=0))


def test_the_sample_that_overflows_is_named() -> None:
    net = Net()
    graph = net.done(net(Exp(), net.x(1, 6)))
    observer = Observer(graph)
    with pytest.raises(EdgeKitError, match="sample 23 makes"):  # noqa: PT012  # now, or when all are there
        for i in range(40):
            observer.add({"x": np.full((1, 6), 1000.0 if i == 23 else 1.0, np.float32)})
        assert observer.statistics
