"""The distance of two graphs is what its definition says."""

import math

import numpy as np
import pytest
from support.nets import Net

from edgekit import Difference, EdgeKitError, Graph, diff
from edgekit.ir import DType, Quant, Type
from edgekit.ops.arithmetic import Add, Max, Mul
from edgekit.ops.reshape import Reshape


def chain(factor: float, *, names: tuple[str, str] = ("x", "y"), middle: str = "middle") -> Graph:
    """y = relu(x * factor) + 1"""
    net = Net()
    x = net.x(2, 2, name=names[0])
    product = net(Mul(), x, np.float32(factor), name=middle)
    return net.done(net(Add(), net(Max(), product, np.float32(0), name="relu"), np.float32(1), name=names[1]))


def measured(found: Difference) -> dict[str, tuple[float, float]]:
    return {d.name: (d.max_error, d.sqnr_db) for d in (*found.layers, *found.outputs)}


X = np.float32([[1, 2], [3, -4]])


def test_a_graph_equals_itself() -> None:
    found = diff(chain(2), chain(2), X)
    assert found.exact
    assert measured(found) == dict.fromkeys(("middle", "relu", "y"), (0, math.inf))


def test_errors_are_those_of_the_layer() -> None:
    found = diff(chain(2), chain(2.5), X)
    assert not found.exact
    signal, noise = 4 + 16 + 36 + 64, 0.25 + 1 + 2.25 + 4
    assert measured(found)["middle"] == (2, pytest.approx(10 * math.log10(signal / noise)))
    assert measured(found)["y"] == (
        1.5,
        pytest.approx(10 * math.log10((9 + 25 + 49 + 1) / (0.25 + 1 + 2.25))),
    )


def test_errors_add_up_over_samples() -> None:
    one = measured(diff(chain(2), chain(2.5), X))
    three = diff(chain(2), chain(2.5), np.stack([X, 2 * X, X]))
    assert three.samples == 3
    assert measured(three)["middle"] == (4, pytest.approx(one["middle"][1]))


def test_layers_are_matched_by_name_and_outputs_by_position() -> None:
    found = diff(chain(2), chain(2, names=("in", "out"), middle="other"), X)
    assert [d.name for d in found.layers] == ["relu", "y"]
    assert [(d.name, d.other, d.exact) for d in found.outputs] == [("y", "out", True)]


def test_infinite_and_undefined_values_are_compared() -> None:
    nothing, infinite = np.float32([[np.nan, 0], [0, 0]]), np.float32([[np.inf, 0], [0, 0]])
    assert diff(chain(2), chain(2), nothing).exact
    assert diff(chain(2), chain(2), infinite).exact
    assert measured(diff(chain(2), chain(-2), infinite))["middle"] == (math.inf, -math.inf)


def copy(type: Type) -> Graph:
    """y is x, in another shape."""
    net = Net()
    net.inputs.append(net.input("x", type))
    return net.done(net(Reshape((2, 2)), "x", name="y"))


def test_quantized_values_count_as_what_they_stand_for() -> None:
    real = copy(Type(DType.F32, (4,)))
    quantized = copy(Type(DType.S8, (4,), Quant((0.5,), (3,))))
    x = np.float32([1, 1.5, 1.7, 1000])  # as integers 2, 3, 3 and, clamped, 124
    assert measured(diff(real, quantized, x[:3].repeat([1, 1, 2])))["y"][0] == pytest.approx(0.2)
    assert measured(diff(real, quantized, x))["y"][0] == 1000 - 0.5 * (127 - 3)
    assert diff(quantized, real, np.int8([5, -128, 127, 0])).exact


def test_other_types_are_not_converted() -> None:
    with pytest.raises(EdgeKitError, match=r"input x is f32\[4\] in net, s8\[4\] in net"):
        diff(copy(Type(DType.F32, (4,))), copy(Type(DType.S8, (4,))), np.float32([1, 2, 3, 4]))


def test_random_inputs_are_seeded() -> None:
    assert diff(chain(2), chain(3)) == diff(chain(2), chain(3))


def test_graphs_with_other_inputs_cannot_be_compared() -> None:
    net = Net()
    other = net.done(net(Add(), net.x(3), np.float32(1)))
    with pytest.raises(
        EdgeKitError, match=r"the inputs differ: x is f32\[2,2\] in net, x is f32\[3\] in net"
    ):
        diff(chain(2), other)
