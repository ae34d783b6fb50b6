"""Adapters of LoRA merge with the layer that they adapt."""

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.low_rank import low_rank
from edgekit.core.passes.simplify import simplify

IN, RANK, OUT = 6, 2, 5
OPEN, CUT = Dense(), Dense(lo=0.0)  # with a ReLU


def adapter(net: Net, x: str, *, ends: Dense = OPEN, middle: Dense = OPEN) -> str:
    down = net(middle, x, net.random(RANK, IN), net.random(RANK))
    return net(ends, down, net.random(OUT, RANK), net.random(OUT))


def layer(net: Net, x: str, op: Dense = OPEN) -> str:
    return net(op, x, net.random(OUT, IN), net.random(OUT))


@pytest.mark.parametrize("is_first", [False, True])
def test_an_adapter_disappears(is_first: bool) -> None:
    net = Net()
    x = net.x(3, IN)
    operands = [layer(net, x), adapter(net, x)]
    graph = net.done(net(Add(), *operands[:: -1 if is_first else 1], name="y"))
    after = low_rank(graph)
    assert kinds(after) == ["Dense"]
    assert low_rank(after) is after
    assert_same(graph, after)


def test_two_adapters_with_factors_disappear() -> None:
    net = Net()
    x = net.x(3, IN)
    one, two = (net(Mul(), adapter(net, x), 0.5) for _ in range(2))
    graph = net.done(net(Add(), net(Add(), layer(net, x), one), two, name="y"))
    after = simplify(graph)
    assert kinds(after) == ["Dense"]
    assert_same(graph, after)


@pytest.mark.parametrize("which", ["layer", "middle", "ends", "input", "read twice"])
def test_what_is_no_adapter_stays(which: str) -> None:
    net = Net()
    x = net.x(3, IN)
    other = net(Mul(), x, x) if which == "input" else x
    y = layer(net, x, CUT if which == "layer" else OPEN)
    z = adapter(net, other, middle=CUT if which == "middle" else OPEN, ends=CUT if which == "ends" else OPEN)
    total = net(Add(), y, z)
    graph = net.done(net(Mul(), total, y if which == "read twice" else total, name="y"))
    assert low_rank(graph) is graph


def test_weights_that_overflow_stay_apart() -> None:
    net = Net()
    x = net.x(3, IN)
    down = net(Dense(), x, np.full((RANK, IN), 1e30, np.float32), net.random(RANK))
    z = net(Dense(), down, np.full((OUT, RANK), 1e30, np.float32), net.random(OUT))
    graph = net.done(net(Add(), layer(net, x), z, name="y"))
    assert low_rank(graph) is graph
