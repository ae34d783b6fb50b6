"""exp(x - max x) / sum is a softmax."""

import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.arithmetic import Div, Sub
from edgekit.core.ops.reduce import Reduce
from edgekit.core.passes.softmax_parts import softmax_parts


def network(most: int, total: int, *, of_powers: bool = True) -> Graph:
    net = Net()
    x = net.x(3, 4, 4)
    e = net(Exp(), net(Sub(), x, net(Reduce("max", (most,)), x)))
    return net.done(net(Div(), e, net(Reduce("sum", (total,)), e if of_powers else x), name="y"))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parts_become_a_softmax(axis: int) -> None:
    graph = network(axis, axis)
    after = softmax_parts(graph)
    assert kinds(after) == (["Softmax"] if axis == 2 else ["Transpose", "Softmax", "Transpose"])
    assert_same(graph, after)


@pytest.mark.parametrize("graph", [network(1, 2), network(2, 1), network(2, 2, of_powers=False)])
def test_other_quotients_stay(graph: Graph) -> None:
    assert softmax_parts(graph) is graph
