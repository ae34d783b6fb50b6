"""Heads of detectors: boxes and scores that leave a model in one tensor keep their own precision."""

import math

import numpy as np
import pytest
from support.nets import Net

from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.simulate import run
from edgekit.core.types import Array
from edgekit.quantize.integers.integer_io import KINDS, Io
from edgekit.quantize.post_training import quantize
from edgekit.quantize.settings import Settings


def head(reach: float) -> Graph:
    """Boxes that go to `reach`, and scores up to 1, moved behind the join."""
    net = Net(seed=3)
    y = net(Sigmoid(), net(Dense(), net.x(6, 12), net.random(5, 12), net.random(5)))
    boxes = net(Mul(), net(Slice((0, 0), (1, 1), (6, 4)), y), np.float32(reach))
    y = net(Concat(1), boxes, net(Slice((0, 4), (1, 1), (6, 1)), y))
    return net.done(net(Transpose((1, 0)), y))


def samples(graph: Graph, count: int = 32) -> list[dict[str, Array]]:
    return [simulate.random_inputs(graph, seed) for seed in range(count)]


def noise(graph: Graph, made: Graph, rows: slice) -> float:
    """The signal-to-noise ratio of some rows of the output."""
    signal = error = 0.0
    for sample in samples(graph):
        (exact,), (found,) = (run(g, sample).values() for g in (graph, made))
        signal += float(np.square(exact[rows]).sum())
        error += float(np.square(exact[rows] - found[rows]).sum())
    return 10 * math.log10(signal / error)


@pytest.mark.parametrize("calibrate", ["minmax", "auto"])
def test_scores_beside_boxes_are_as_fine_as_alone(calibrate: str) -> None:
    graph = head(300.0)
    made, found = quantize(graph, samples(graph), Settings(calibrate=calibrate))
    verify(made)
    assert noise(graph, made, slice(0, 4)) > 35
    assert noise(graph, made, slice(4, 5)) > 35
    assert [x.op for x in found.layers if x.runs_in == "float32"] == ["Concat", "Transpose"]
    assert not [w for w in found.warnings if "float32" in w or "joins" in w]


def test_the_quality_is_that_of_all_parts() -> None:
    graph = head(300.0)
    _, found = quantize(graph, samples(graph), Settings(calibrate="minmax"))
    of = {x.name: x.sqnr_db for x in found.layers}
    (concat,) = (node for node in graph.nodes if isinstance(node.op, Concat))
    assert found.sqnr_db == pytest.approx(min(of[name] for name in concat.inputs))


def test_in_one_scale_boxes_keep_their_precision_and_the_rest_is_warned_of() -> None:
    graph = head(300.0)
    made, found = quantize(graph, samples(graph), Settings(io="int8"))
    verify(made)
    assert {x.runs_in for x in found.layers} == {"int8"}
    assert [w for w in found.warnings if "joins tensors whose ranges differ" in w]
    (join,) = (node for node in made.nodes if isinstance(node.op, Concat))
    (sigmoid,) = (node for node in made.nodes if isinstance(node.op, Sigmoid))
    assert made.type(sigmoid.outputs[0]).quant != made.type(join.outputs[0]).quant


@pytest.mark.parametrize("io", KINDS)
def test_parts_of_like_ranges_are_joined_in_integers(io: Io) -> None:
    graph = head(2.0)
    made, found = quantize(graph, samples(graph), Settings(io=io))
    verify(made)
    assert {x.runs_in for x in found.layers} == {"int8"}
    assert not [w for w in found.warnings if "joins" in w]
