"""Compositions become the operators they spell."""

from collections.abc import Callable

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Erf, HardSigmoid, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Clip, Div, Mul, Pow, Sqrt, Sub
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes.idioms import idioms
from edgekit.core.passes.simplify import simplify

Make = Callable[[Net, str], str]


def network(make: Make) -> Graph:
    net = Net()
    return net.done(make(net, net(Clip(), net.x(3, 8), -5.0, 5.0)))


def erf_gate(net: Net, x: str, scaled: str) -> str:
    return net(Add(), net(Erf(), scaled), 1.0)


def tanh_gate(net: Net, x: str, cube: str) -> str:
    inner = net(Mul(), net(Add(), x, net(Mul(), cube, 0.044715)), np.sqrt(2 / np.pi))
    return net(Add(), net(Tanh(), inner), 1.0)


ACTIVATIONS: dict[str, tuple[str, Make]] = {
    "torch": (
        "Gelu",
        lambda net, x: net(Mul(), net(Mul(), x, erf_gate(net, x, net(Div(), x, 2**0.5))), 0.5),
    ),
    "half first": (
        "Gelu",
        lambda net, x: net(Mul(), net(Mul(), x, 0.5), erf_gate(net, x, net(Mul(), x, 0.5**0.5))),
    ),
    "half gate": (
        "Gelu",
        lambda net, x: net(Mul(), x, net(Mul(), erf_gate(net, x, net(Div(), x, 2**0.5)), 0.5)),
    ),
    "tanh": (
        "GeluTanh",
        lambda net, x: net(Mul(), net(Mul(), x, 0.5), tanh_gate(net, x, net(Pow(), x, 3.0))),
    ),
    "tanh of products": (
        "GeluTanh",
        lambda net, x: net(Mul(), net(Mul(), x, tanh_gate(net, x, net(Mul(), net(Mul(), x, x), x))), 0.5),
    ),
    "swish": ("Swish", lambda net, x: net(Mul(), x, net(Sigmoid(), x))),
    "quick gelu": ("Swish", lambda net, x: net(Mul(), net(Sigmoid(), net(Mul(), x, 1.702)), x)),
    "hard swish": (
        "HardSwish",
        lambda net, x: net(Div(), net(Mul(), x, net(Clip(), net(Add(), x, 3.0), 0.0, 6.0)), 6.0),
    ),
    "hard swish of a sixth": (
        "HardSwish",
        lambda net, x: net(Mul(), x, net(Mul(), net(Clip(), net(Add(), x, 3.0), 0.0, 6.0), 1 / 6)),
    ),
    "hard sigmoid": ("HardSwish", lambda net, x: net(Mul(), x, net(HardSigmoid(), x, 1 / 6, 0.5))),
    "clipped line": (
        "HardSwish",
        lambda net, x: net(Mul(), x, net(Clip(), net(Add(), net(Div(), x, 6.0), 0.5), 0.0, 1.0)),
    ),
}


@pytest.mark.parametrize("case", ACTIVATIONS)
def test_activations_are_recognized(case: str) -> None:
    kind, make = ACTIVATIONS[case]
    graph = network(make)
    after = idioms(graph)
    assert kinds(after) == ["Clip", kind]
    assert idioms(after) is after
    assert_same(graph, after)


ALMOST: dict[str, Make] = {
    "another factor": lambda net, x: net(Mul(), net(Mul(), x, erf_gate(net, x, net(Div(), x, 1.5))), 0.5),
    "another half": lambda net, x: net(Mul(), net(Mul(), x, erf_gate(net, x, net(Div(), x, 2**0.5))), 0.6),
    "another variable": lambda net, x: net(Mul(), net(Add(), x, 1.0), net(Sigmoid(), x)),
    "other limits": lambda net, x: net(Div(), net(Mul(), x, net(Clip(), net(Add(), x, 3.0), 0.0, 5.0)), 6.0),
    "another offset": lambda net, x: net(
        Mul(), net(Mul(), x, net(Add(), net(Erf(), net(Div(), x, 2**0.5)), 2.0)), 0.5
    ),
    "another slope": lambda net, x: net(Mul(), x, net(HardSigmoid(), x, 0.2, 0.5)),
    "another cube": lambda net, x: net(Mul(), net(Mul(), x, 0.5), tanh_gate(net, x, net(Pow(), x, 2.0))),
}


@pytest.mark.parametrize("case", ALMOST)
def test_what_only_looks_alike_stays(case: str) -> None:
    graph = network(ALMOST[case])
    assert idioms(graph) is graph


def test_a_gate_that_others_read_stays() -> None:
    net = Net()
    x = net.x(4)
    gate = net(Sigmoid(), x)
    graph = net.done(gate, net(Mul(), x, gate))
    assert idioms(graph) is graph


def centred(net: Net, x: str) -> str:
    return net(Sub(), x, net(Reduce("mean", (1,)), x))


def divided(net: Net, x: str, d: str) -> str:
    return net(Div(), d, net(Sqrt(), net(Add(), net(Reduce("mean", (1,)), net(Pow(), d, 2.0)), 1e-3)))


def test_a_layer_norm_takes_scale_and_bias() -> None:
    net = Net()
    x = net.x(3, 8)
    y = net(Mul(), divided(net, x, centred(net, x)), net.random(8))
    graph = net.done(net(Add(), y, net.random(8), name="y"))
    after = simplify(graph)
    assert [type(n.op) for n in after.nodes] == [LayerNorm]
    assert_same(graph, after)


def test_a_root_mean_square_norm_takes_its_scale() -> None:
    net = Net()
    x = net.x(3, 8)
    graph = net.done(net(Mul(), divided(net, x, x), net.random(8), name="y"))
    after = simplify(graph)
    assert [type(n.op) for n in after.nodes] == [RmsNorm]
    assert_same(graph, after)


@pytest.mark.parametrize("reshaped", [False, True])
def test_a_reciprocal_square_root_normalizes_too(reshaped: bool) -> None:
    """As torch.rsqrt is read; the square may be of x before it got its shape."""
    net = Net()
    x = net.x(3, 8)
    d = net(Reshape((3, 1, 8)), x) if reshaped else x
    square = net(Reshape((3, 1, 8)), net(Mul(), x, x)) if reshaped else net(Mul(), x, x)
    root = net(Sqrt(), net(Add(), net(Reduce("mean", (net.type(d).rank - 1,)), square), 1e-3))
    graph = net.done(net(Mul(), net(Mul(), net(Div(), 1.0, root), d), net.random(8), name="y"))
    after = simplify(graph)
    assert [type(n.op) for n in after.nodes if not isinstance(n.op, Reshape)] == [RmsNorm]
    assert_same(graph, after)


def test_the_root_mean_square_of_another_tensor_is_no_norm() -> None:
    net = Net()
    x, z = net.x(3, 8), net.x(3, 8, name="z")
    root = net(Sqrt(), net(Add(), net(Reduce("mean", (1,)), net(Mul(), z, z)), 1e-3))
    graph = net.done(net(Mul(), x, net(Div(), 1.0, root), name="y"))
    assert idioms(graph) is graph


def test_a_root_mean_square_norm_takes_no_bias() -> None:
    net = Net()
    x = net.x(3, 8)
    y = net(Mul(), divided(net, x, x), net.random(8))
    graph = net.done(net(Add(), y, net.random(8), name="y"))
    after = simplify(graph)
    assert [type(n.op) for n in after.nodes] == [RmsNorm, Add]
    assert_same(graph, after)


def test_a_factor_for_each_row_stays_behind_a_norm() -> None:
    """Only what is the same for all rows is a scale of the norm."""
    net = Net()
    x = net.x(3, 8)
    graph = net.done(net(Mul(), divided(net, x, centred(net, x)), net.random(3, 1), name="y"))
    after = simplify(graph)
    assert [type(n.op) for n in after.nodes] == [LayerNorm, Mul]
    assert_same(graph, after)


def test_norms_over_other_dimensions_stay() -> None:
    net = Net()
    x = net.x(3, 8)
    mean = net(Reduce("mean", (0,)), net(Mul(), x, x))
    graph = net.done(net(Div(), x, net(Sqrt(), net(Add(), mean, 1e-3)), name="y"))
    assert idioms(graph) is graph
