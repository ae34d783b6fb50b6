"""Weights that only meet padding go."""

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.api import quantize_model
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.passes.simplify import simplify
from edgekit.core.passes.taps import taps


def network(
    image: tuple[int, int],
    kernel: tuple[int, int],
    pads: tuple[int, int, int, int],
    strides: tuple[int, int] = (1, 1),
    dilations: tuple[int, int] = (1, 1),
    groups: int = 1,
) -> Graph:
    net = Net()
    weights = net.random(4, *kernel, 4 // groups)
    op = Conv2d(strides, pads, dilations, groups, lo=0.0)
    return net.done(net(op, net.x(1, *image, 4), weights, net.random(4), name="y"))


def weights_of(graph: Graph) -> tuple[int, ...]:
    (node,) = graph.nodes
    return graph.type(node.inputs[1]).shape[1:3]


@pytest.mark.parametrize(
    ("graph", "left"),
    [
        (network((1, 1), (3, 3), (1, 1, 1, 1)), (1, 1)),
        (network((1, 2), (1, 3), (0, 1, 0, 1), (1, 2)), (1, 2)),  # one place, at the left
        (network((1, 4), (3, 3), (1, 1, 1, 1)), (1, 3)),
        (network((2, 2), (5, 5), (2, 2, 2, 2)), (3, 3)),
        (network((1, 4), (1, 3), (0, 3, 0, 3), dilations=(1, 3)), (1, 3)),
        (network((1, 2), (1, 3), (0, 3, 0, 3), dilations=(1, 3)), (1, 1)),
        (network((1, 1), (3, 3), (1, 1, 1, 1), groups=4), (1, 1)),
        (network((1, 1), (2, 2), (0, 0, 1, 1)), (1, 1)),
    ],
)
def test_only_taps_that_meet_the_image_stay(graph: Graph, left: tuple[int, int]) -> None:
    after = taps(graph)
    assert kinds(after) == ["Conv2d"]
    assert weights_of(after) == left
    assert_same(graph, after)
    assert taps(after) is after


def test_integers_are_the_same() -> None:
    rows = np.random.default_rng(3).normal(size=(8, 1, 1, 1, 4)).astype(np.float32)
    made, _ = quantize_model(network((1, 1), (3, 3), (1, 1, 1, 1)), rows, calibrate="minmax")
    whole = next(node for node in made.nodes if isinstance(node.op, Conv2d))
    assert made.type(whole.inputs[1]).shape[1:3] == (3, 3)  # a graph that was made without the pass
    after = simplify(made)
    (conv,) = (node for node in after.nodes if isinstance(node.op, Conv2d))
    assert after.type(conv.inputs[1]).shape[1:3] == (1, 1)
    for x in rows:
        before, now = (simulate.run_all(graph, {"x": x}) for graph in (made, after))
        assert np.array_equal(before[whole.outputs[0]], now[conv.outputs[0]])


def pair(random: np.random.Generator, low: int, end: int) -> tuple[int, int]:
    first, second = random.integers(low, end, 2)
    return int(first), int(second)


def test_random_windows_give_the_same() -> None:
    random, smaller = np.random.default_rng(5), 0
    for _ in range(200):
        image, kernel, strides, dilations = (pair(random, 1, most) for most in (5, 5, 4, 3))
        pads = (*pair(random, 0, 4), *pair(random, 0, 4))
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        if any(n + pads[i] + pads[i + 2] < reach[i] for i, n in enumerate(image)):
            continue
        graph = network(image, kernel, pads, strides, dilations)
        after = taps(graph)
        assert_same(graph, after)
        smaller += after is not graph
    assert smaller > 40


def test_what_meets_the_image_stays() -> None:
    graph = network((3, 3), (3, 3), (1, 1, 1, 1))
    assert taps(graph) is graph
