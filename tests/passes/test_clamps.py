"""Clips move into the operators before them."""

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Clip, Max, Min
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.clamps import clamps
from edgekit.core.types import DType

INF = np.inf


def conv(net: Net) -> str:
    return net(Conv2d(pads=(1, 1, 1, 1)), net.x(1, 4, 4, 2), net.random(3, 3, 3, 2), net.random(3))


@pytest.mark.parametrize(
    ("clips", "limits"),
    [
        ([(0, INF)], (0, INF)),  # relu
        ([(0, 6)], (0, 6)),  # relu6
        ([(0, INF), (-INF, 6)], (0, 6)),
        ([(-1, 4), (0, 6)], (0, 4)),
        ([(0, 1), (2, 3)], (2, 2)),  # disjoint: always 2
        ([(2, 3), (0, 1)], (1, 1)),
    ],
)
def test_clips_become_limits_of_the_layer(
    clips: list[tuple[float, float]], limits: tuple[float, float]
) -> None:
    net = Net()
    y = conv(net)
    for lo, hi in clips:
        y = net(Clip(), y, lo, hi)
    graph = net.done(y)
    after = clamps(graph)
    assert [n.op for n in after.nodes] == [Conv2d(pads=(1, 1, 1, 1), lo=limits[0], hi=limits[1])]
    assert [n.outputs for n in after.nodes] == [graph.outputs]
    assert clamps(after) is after
    assert_same(graph, after, 0)


def test_a_layer_with_a_clip_keeps_its_origin() -> None:
    """Tables of layers name what the file calls the convolution."""
    net = Net()
    net.origin = "features.0.conv"
    y = conv(net)
    net.origin = "features.0.relu"
    after = clamps(net.done(net(Clip(), y, 0.0, 6.0)))
    assert [node.origin for node in after.nodes] == ["features.0.conv"]


@pytest.mark.parametrize(
    "op", [Pool2d("max", (2, 2)), Reduce("max", (1, 2)), Reshape((1, 48)), Transpose((0, 3, 1, 2))]
)
def test_clips_go_before_what_commutes_with_them(op: Op) -> None:
    net = Net()
    graph = net.done(net(Clip(), net(op, conv(net)), 0.0, 6.0, name="y"))
    after = clamps(graph)
    assert [n.op for n in after.nodes] == [Conv2d(pads=(1, 1, 1, 1), lo=0.0, hi=6.0), op]
    assert_same(graph, after, 0)


def test_a_mean_does_not_commute_with_a_clip() -> None:
    net = Net()
    graph = net.done(net(Clip(), net(Pool2d("mean", (2, 2)), conv(net)), 0.0, 6.0, name="y"))
    assert clamps(graph) is graph


def test_maximum_and_minimum_are_clips() -> None:
    net = Net()
    y = net(Dense(), net.x(2, 5), net.random(3, 5), net.random(3))
    graph = net.done(net(Min(), 0.5, net(Max(), y, np.full(3, -0.5)), name="y"))
    after = clamps(graph)
    assert [n.op for n in after.nodes] == [Dense(lo=-0.5, hi=0.5)]
    assert_same(graph, after, 0)


def test_clips_merge_without_a_layer() -> None:
    net = Net()
    graph = net.done(net(Clip(), net(Clip(), net.x(4), 0.0, 6.0), 1.0, 9.0, name="y"))
    after = clamps(graph)
    assert kinds(after) == ["Clip"]
    assert_same(graph, after, 0)


def test_integers_keep_their_maximum() -> None:
    net = Net(DType.S32)
    graph = net.done(net(Max(), net.x(4), 0, name="y"))
    assert clamps(graph) is graph


@pytest.mark.parametrize("limits", [(6.0, 0.0), (np.array([0.0, 1.0, 2.0]), 6.0), (np.nan, 1.0)])
def test_limits_that_are_no_interval_stay(limits: tuple[object, object]) -> None:
    net = Net()
    graph = net.done(net(Clip(), conv(net), *limits, name="y"))
    assert clamps(graph) is graph


def test_a_layer_that_others_read_keeps_its_results() -> None:
    net = Net()
    y = conv(net)
    graph = net.done(net(Add(), net(Clip(), y, 0.0, INF), y, name="y"))
    assert clamps(graph) is graph
    net = Net()
    y = conv(net)
    graph = net.done(y, net(Clip(), y, 0.0, INF, name="z"))
    assert clamps(graph) is graph
