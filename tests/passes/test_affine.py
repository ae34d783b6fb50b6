"""Scales and offsets merge, and fold into the weights of layers."""

from typing import Any

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Clip, Div, Mul, Neg, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.passes.affine import affine
from edgekit.core.types import DType

C = 6


def layer(net: Net, kind: str) -> str:
    match kind:
        case "dense":
            return net(Dense(), net.x(2, 5), net.random(C, 5), net.random(C))
        case "depthwise":
            return net(
                Conv2d(groups=C, pads=(1, 1, 1, 1)), net.x(1, 4, 4, C), net.random(C, 3, 3, 1), net.random(C)
            )
        case _:
            return net(Conv2d(pads=(1, 1, 1, 1)), net.x(1, 4, 4, 2), net.random(C, 3, 3, 2), net.random(C))


STEPS: list[tuple[Op, Any, bool]] = [  # operator, constant, constant first
    (Mul(), "row", False),
    (Mul(), 0.25, True),
    (Add(), "row", True),
    (Add(), 3.0, False),
    (Sub(), "row", False),
    (Sub(), "row", True),
    (Div(), "row", False),
    (Div(), 4.0, False),
    (Neg(), None, False),
]


@pytest.mark.parametrize("kind", ["conv", "depthwise", "dense"])
@pytest.mark.parametrize(("op", "constant", "first"), STEPS)
def test_a_step_folds_into_the_layer(kind: str, op: Op, constant: Any, first: bool) -> None:
    net = Net()
    y = layer(net, kind)
    c = net.random(C) + 2 if constant == "row" else constant
    operands = [y] if c is None else [c, y] if first else [y, c]
    graph = net.done(net(op, *operands, name="y"))
    after = affine(graph)
    assert kinds(after) == ["Dense" if kind == "dense" else "Conv2d"]
    assert affine(after) is after
    assert_same(graph, after)


@pytest.mark.parametrize("c", [[2.0, 0.0, 3.0, 1.0, 5.0, 7.0], [0.0] * 6])
def test_a_division_by_zeros_stays_beside_the_layer(c: list[float]) -> None:
    net = Net()
    graph = net.done(net(Div(), layer(net, "dense"), np.array(c, np.float32), name="y"))
    with np.errstate(all="raise"):  # nor is it tried
        assert affine(graph) is graph


@pytest.mark.parametrize(
    ("first", "second", "merges"),
    [
        (100.0, -60.0, False),  # less than half of the larger is left
        (-60.0, 100.0, False),
        (-100.0, 60.0, False),
        (60.0, -100.0, False),
        (100.0, -40.0, True),
        ([100.0, 1.0], [-60.0, 1.0], False),  # in one of them
        ([100.0, 1.0], [-40.0, 1.0], True),
    ],
)
def test_offsets_that_cancel_are_not_added_up(first: Any, second: Any, merges: bool) -> None:
    net = Net()
    y = net(Add(), net.x(3, 2), np.asarray(first, np.float32))
    graph = net.done(net(Add(), y, np.asarray(second, np.float32), name="y"))
    after = affine(graph)
    assert kinds(after) == ["Add"] * (1 if merges else 2)
    assert_same(graph, after)


@pytest.mark.parametrize(("dtype", "most"), [(DType.F32, 126), (DType.F16, 14), (DType.BF16, 14)])
def test_divisions_by_powers_of_two_are_products_as_far_as_these_are_normal(dtype: DType, most: int) -> None:
    for power, sign in ((most, 1), (-most, -1), (most + 1, 1), (-most - 1, 1)):
        net = Net(dtype)
        graph = net.done(net(Div(), net.x(4, 3), sign * 2.0**power, name="y"))
        after = affine(graph)
        assert kinds(after) == ["Mul" if abs(power) <= most else "Div"], power
        assert_same(graph, after, tolerance=0)


def test_batch_normalization_and_bias_disappear() -> None:
    net = Net()
    y = layer(net, "conv")
    for op, c in [
        (Sub(), net.random(C)),
        (Div(), net.random(C) ** 2 + 1),
        (Mul(), net.random(C)),
        (Add(), net.random(C)),
    ]:
        y = net(op, y, c.reshape(1, 1, 1, C))
    graph = net.done(y)
    after = affine(graph)
    assert kinds(after) == ["Conv2d"]
    assert_same(graph, after)


REFUSED: dict[str, Any] = {
    "limits": lambda net: net(
        Mul(), net(Conv2d(hi=1.0), net.x(1, 4, 4, 2), net.random(C, 1, 1, 2), net.random(C)), 2.0
    ),
    "by pixel": lambda net: net(Mul(), layer(net, "conv"), net.random(4, C)),
    "broadcast": lambda net: net(Add(), layer(net, "conv"), net.random(3, 1, 1, C)),
    "by zero": lambda net: net(Div(), layer(net, "conv"), 0.0),
    "constant over": lambda net: net(Div(), 3.0, layer(net, "conv")),
    "overflow": lambda net: net(Mul(), layer(net, "conv"), 3e38),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fold_stays(case: str) -> None:
    net = Net()
    graph = net.done(REFUSED[case](net))
    assert affine(graph) is graph


@pytest.mark.parametrize("kind", ["conv", "depthwise", "dense", "groups"])
def test_a_scale_before_a_layer_goes_into_its_columns(kind: str) -> None:
    net = Net()
    shape, groups = (
        ((2, 6), 1) if kind == "dense" else ((1, 4, 4, 6), {"depthwise": 6, "groups": 2}.get(kind, 1))
    )
    x = net(Mul(), net.x(*shape), net.random(6))
    if kind == "dense":
        y = net(Dense(lo=0.0), x, net.random(4, 6), net.random(4))
    else:
        op = Conv2d(pads=(1, 1, 1, 1), groups=groups, hi=5.0)
        y = net(op, x, net.random(12, 3, 3, 6 // groups), net.random(12))
    graph = net.done(y)
    after = affine(graph)
    assert len(after.nodes) == 1
    assert_same(graph, after)


@pytest.mark.parametrize(
    ("pads", "kinds_left"), [((0, 0, 0, 0), ["Conv2d"]), ((1, 0, 0, 0), ["Add", "Conv2d"])]
)
def test_an_offset_before_a_layer_goes_into_its_bias_unless_it_sees_a_border(
    pads: tuple[int, int, int, int], kinds_left: list[str]
) -> None:
    net = Net()
    x = net(Add(), net.x(1, 4, 4, 6), net.random(6))
    graph = net.done(net(Conv2d(pads=pads, groups=2), x, net.random(4, 3, 3, 3), net.random(4)))
    after = affine(graph)
    assert kinds(after) == kinds_left
    assert_same(graph, after)


def test_images_are_normalized_by_the_first_layer() -> None:
    net = Net()
    x = net(Div(), net(Sub(), net.x(1, 4, 4, 3), np.array([120, 110, 100])), 64.0)
    graph = net.done(net(Conv2d(strides=(2, 2)), x, net.random(4, 2, 2, 3), net.random(4)))
    after = affine(graph)
    assert kinds(after) == ["Conv2d"]
    assert_same(graph, after)


def test_a_layer_that_others_read_is_not_scaled() -> None:
    net = Net()
    y = layer(net, "conv")
    graph = net.done(y, net(Mul(), y, 2.0, name="z"))
    assert affine(graph) is graph


def test_scales_merge_and_so_do_offsets() -> None:
    net = Net()
    y = net(Clip(), net.x(3, C), 0.0, 6.0)
    for op, c in [(Mul(), 3.0), (Mul(), net.random(C)), (Add(), net.random(C) ** 2), (Add(), 5.0)]:
        y = net(op, y, c)
    graph = net.done(y)
    after = affine(graph)
    assert kinds(after) == ["Clip", "Mul", "Add"]
    assert_same(graph, after)


def test_an_offset_before_a_scale_joins_the_one_behind() -> None:
    net = Net()
    y = net(Add(), net(Mul(), net(Add(), net.x(3, C), net.random(C)), net.random(C)), net.random(C), name="y")
    graph = net.done(y)
    after = affine(graph)
    assert kinds(after) == ["Mul", "Add"]
    assert_same(graph, after)


def test_offsets_that_round_on_purpose_stay() -> None:
    net = Net()
    graph = net.done(net(Sub(), net(Add(), net.x(4), 2.0**23), 2.0**23, name="y"))
    after = affine(graph)
    assert kinds(after) == ["Add", "Add"]
    assert_same(graph, after, 0)


def test_a_row_and_a_column_stay_apart() -> None:
    net = Net()
    graph = net.done(net(Mul(), net(Mul(), net.x(50, 40), net.random(40)), net.random(50, 1), name="y"))
    assert affine(graph) is graph


@pytest.mark.parametrize(
    ("divisor", "kind"), [(8.0, "Mul"), (2.0**-100, "Mul"), (3.0, "Div"), (2.0**-140, "Div")]
)
def test_only_powers_of_two_become_factors(divisor: float, kind: str) -> None:
    net = Net()
    graph = net.done(net(Div(), net.x(4), divisor, name="y"))
    after = affine(graph)
    assert kinds(after) == [kind]
    assert_same(graph, after, 0)


def test_integers_subtract_exactly() -> None:
    net = Net(DType.U8)
    graph = net.done(net(Sub(), net.x(4), 200, name="y"))
    after = affine(graph)
    assert kinds(after) == ["Add"]
    assert_same(graph, after, 0)


def test_a_product_with_a_constant_matrix_is_a_layer() -> None:
    net = Net()
    graph = net.done(net(Add(), net(MatMul(), net.x(2, 3, 5), net.random(5, C)), net.random(C), name="y"))
    after = affine(graph)
    assert kinds(after) == ["Dense"]
    assert_same(graph, after)
    net = Net()
    graph = net.done(net(MatMul(perm_b=(0, 2, 1)), net.x(2, 3, 5), net.random(1, C, 5), name="y"))
    after = affine(graph)
    assert kinds(after) == ["Dense"]
    assert_same(graph, after)


def test_a_product_with_a_batch_of_matrices_stays() -> None:
    net = Net()
    graph = net.done(net(MatMul(), net.x(2, 3, 5), net.random(2, 5, C), name="y"))
    assert affine(graph) is graph
