"""Scales that tensors share, and constants on the grid of such a scale."""

import numpy as np
import pytest
from support.nets import Net

from edgekit.core import fixed
from edgekit.core.fixed import activation_quant
from edgekit.core.ir import Graph
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.recurrent import Lstm
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import DType
from edgekit.quantize.calibration.observe import Range
from edgekit.quantize.calibration.scales import SOFTMAX, scales, tied
from edgekit.quantize.integers import int8
from edgekit.quantize.rounding.integer_weights import finished_scale

WIDE: Range = (-8.0, 8.0)


def joined(moves: int) -> Graph:
    """A softmax, moved so many times, beside an input."""
    net = Net()
    x, y = net.x(2, 6), net.one(Softmax(), net.x(2, 6, name="z"), name="p0")
    for i in range(moves):
        y = net(Reshape((2, 6)), y, name=f"p{i + 1}")
    return net.done(net(Concat(1), x, y, name="y"))


@pytest.mark.parametrize("moves", [0, 1, 2, 3])
def test_a_given_scale_stays_with_what_is_moved(moves: int) -> None:
    """The concatenation converts it: a result of -8 to 8 does not fit the scale of a softmax."""
    graph = joined(moves)
    probabilities = [f"p{i}" for i in range(moves + 1)]
    ranges: dict[str, Range] = {"x": WIDE, "z": WIDE, "y": WIDE} | dict.fromkeys(probabilities, (0.0, 1.0))
    found = scales(graph, ranges)
    assert [found[name] for name in probabilities] == [SOFTMAX] * (moves + 1)
    assert found["x"] == found["y"] == activation_quant(*WIDE)


def test_layers_that_begin_with_the_same_cells_have_scales_of_their_own() -> None:
    """What only is a constant is none of the tensors that share a scale."""
    net = Net()
    zeros, r = net.const(np.zeros((1, 3), np.float32)), net.const(net.random(12, 3))
    cells = [net.add(Lstm(), net.x(2, 1, 12, name=name), r, zeros, zeros) for name in ("a", "b")]
    graph = net.done(*(name for names in cells for name in names))
    group = tied(graph)
    for y, h, c in cells:
        assert group[y] == group[h] != group[c]
    assert len({group[name] for names in cells for name in names}) == 4


@pytest.mark.parametrize("seed", range(3))
def test_constants_that_are_moved_become_the_nearest_integers(seed: int) -> None:
    constant = np.random.default_rng(seed).uniform(-3, 3, (4, 50)).astype(np.float32)
    net = Net()
    graph = net.done(net(Concat(1), net.x(4, 2), constant, name="y"))
    quants = scales(graph, dict.fromkeys(("x", "y"), (-3.1, 2.9)))
    made = int8.quantize(graph, quants, {}, weights={}).graph
    (held,) = (v for v in made.values.values() if v.data is not None and v.type.dtype is DType.S8)
    assert held.data is not None
    assert held.type.quant == quants["y"]
    exact = constant.astype(np.float64) / quants["y"].scale[0] + quants["y"].zero[0]
    low, high = fixed.int_range(DType.S8)
    # Half a step, and what float32 rounds of the quotient.
    assert np.abs(held.data - exact.clip(low, high)).max() <= 0.5 + 1e-4


def test_scales_of_weights_are_not_next_to_nothing_beside_others() -> None:
    given = np.array([0.0, 1e-30, 0.5, 2.0])
    found = finished_scale(given)
    assert found[2:].tolist() == [0.5, 2.0]
    assert found[0] == found[1] > 1e-12
    assert finished_scale(np.zeros(2)).tolist() == [1.0, 1.0]
    assert finished_scale(given, np.array([0.25, 0.0, 1.0, 1.0]))[[0, 2, 3]].tolist() == [0.25, 1.0, 2.0]
