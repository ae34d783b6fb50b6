"""What changes nothing goes, what undoes itself cancels."""

from typing import Any

import numpy as np
import pytest
from support.nets import Net, assert_same, kinds

from edgekit.core import simulate
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Clip, Div, Mul, Pow, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.logic import Equal, Not, Where
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.algebra import algebra
from edgekit.core.types import DType, Quant

NOTHING: list[tuple[Op, tuple[Any, ...]]] = [
    (Add(), (0.0,)),
    (Add(), (np.zeros((3, 1)),)),
    (Sub(), (0.0,)),
    (Mul(), (1.0,)),
    (Div(), (1.0,)),
    (Pow(), (1.0,)),
    (Clip(), (-np.inf, np.inf)),
    (Reshape((2, 3, 4)), ()),
    (Transpose((0, 1, 2)), ()),
    (Concat(1), ()),
    (Expand((2, 3, 4)), ()),
    (Pad((0, 0, 0), (0, 0, 0)), (5.0,)),
    (Slice((0, 0, 0), (1, 1, 1), (2, 3, 4)), ()),
    (Reduce("sum", ()), ()),
    (Cast(DType.F32), ()),
]


@pytest.mark.parametrize(("op", "operands"), NOTHING, ids=lambda v: type(v).__name__)
def test_what_changes_nothing_goes(op: Op, operands: tuple[Any, ...]) -> None:
    net = Net()
    x = net(Mul(), net.x(2, 3, 4), 3.0)
    graph = net.done(net(Add(), net(op, x, *operands), 2.0, name="y"))
    after = algebra(graph)
    assert kinds(after) == ["Mul", "Add"]
    assert algebra(after) is after
    assert_same(graph, after, 0)


SOMETHING: list[tuple[Op, tuple[Any, ...]]] = [
    (Mul(), (0.0,)),  # NaN times 0 is NaN
    (Add(), (np.zeros((5, 1, 1, 1)),)),  # broadcasts x
    (Clip(), (-np.inf, 3.0)),
    (Pow(), (3.0,)),
    (Pad((0, 0, 1), (0, 0, 0)), (0.0,)),
    (Slice((0, 0, 3), (1, 1, -1), (2, 3, 4)), ()),  # backwards
    (Cast(DType.F16), ()),
    (Expand((5, 2, 3, 4)), ()),
    (Reduce("sum", (1,)), ()),
]


@pytest.mark.parametrize(("op", "operands"), SOMETHING, ids=lambda v: type(v).__name__)
def test_what_changes_something_stays(op: Op, operands: tuple[Any, ...]) -> None:
    net = Net()
    graph = net.done(net(op, net.x(2, 3, 4), *operands, name="y"))
    assert algebra(graph) is graph


@pytest.mark.parametrize(("dtype", "limits"), [(DType.S8, (-128, 127)), (DType.U8, (0, 255))])
def test_a_clip_of_integers_to_all_they_can_be_goes(dtype: DType, limits: tuple[int, int]) -> None:
    net = Net(dtype)
    graph = net.done(net(Clip(), net.x(4), *limits, name="y"))
    assert kinds(algebra(graph)) == ["Reshape"]  # an output that is an input is its copy


LIMITS = [(0.0, np.inf, True), (0.0, 3.19, True), (0.0, 3.0, False), (0.1, np.inf, False)]


@pytest.mark.parametrize(("lo", "hi", "goes"), [*LIMITS, (-np.inf, np.inf, True)])
def test_a_clip_goes_where_integers_end_at_its_limits(lo: float, hi: float, goes: bool) -> None:
    """They stand for 0 to 3.1875 in steps of 1/80."""
    net = Net()
    quant = Quant((1 / 80,), (-128,))
    (x,) = net.add(Quantize(DType.S8), net.x(64), quant=quant)
    limits = (net.const(np.array(limit, np.float32)) for limit in (lo, hi))
    (y,) = net.add(Clip(), x, *limits, quant=quant)
    graph = net.done(net(Dequantize(), y, name="y"))
    after = algebra(graph)
    assert kinds(after) == (["Quantize", "Dequantize"] if goes else ["Quantize", "Clip", "Dequantize"])
    sample = {"x": np.linspace(-1, 5, 64, dtype=np.float32)}
    assert np.array_equal(simulate.run(graph, sample)["y"], simulate.run(after, sample)["y"])


@pytest.mark.parametrize(("lo", "hi", "goes"), [(-128, 127, True), (-128, 100, False), (-100, 127, False)])
def test_limits_may_be_integers_of_the_scale(lo: int, hi: int, goes: bool) -> None:
    """As activations of TFLite are: they are compared with integers."""
    net = Net()
    quant = Quant((1 / 80,), (-7,))
    (x,) = net.add(Quantize(DType.S8), net.x(64), quant=quant)
    (y,) = net.add(Clip(), x, *(net.const(np.array(n, np.int8)) for n in (lo, hi)), quant=quant)
    after = algebra(net.done(net(Dequantize(), y, name="y")))
    assert ("Clip" not in kinds(after)) is goes


def test_constants_go_to_the_right() -> None:
    net = Net()
    graph = net.done(net(Mul(), 3.0, net.x(4), name="y"))
    after = algebra(graph)
    assert [n.inputs[0] for n in after.nodes] == ["x"]
    assert_same(graph, after, 0)


def test_a_square_is_a_product() -> None:
    net = Net()
    graph = net.done(net(Pow(), net.x(4), 2.0, name="y"))
    after = algebra(graph)
    assert [(type(n.op), n.inputs) for n in after.nodes] == [(Mul, ("x", "x"))]
    assert_same(graph, after)


def test_reshapes_and_transposes_merge() -> None:
    net = Net()
    y = net(Transpose((1, 2, 0)), net(Transpose((2, 0, 1)), net.x(2, 3, 4)))  # there and back
    y = net(Reshape((4, 6)), net(Reshape((24,)), net(Reshape((6, 4)), y)))
    graph = net.done(net(Mul(), y, 2.0, name="y"))
    after = algebra(graph)
    assert [n.op for n in after.nodes] == [Reshape((4, 6)), Mul()]
    assert_same(graph, after, 0)


RESHAPES: list[tuple[Op, tuple[int, ...]]] = [
    (Transpose((0, 2, 3, 1)), (1, 8, 8, 1)),
    (Reduce("mean", (0, 1), keepdims=False), (8, 8)),
    (Expand((1, 1, 1, 8, 8)), (1, 1, 1, 8, 8)),
]


@pytest.mark.parametrize(("op", "shape"), RESHAPES, ids=lambda v: type(v).__name__)
def test_what_moves_nothing_is_a_reshape(op: Op, shape: tuple[int, ...]) -> None:
    net = Net()
    graph = net.done(net(op, net.x(1, 1, 8, 8), name="y"))
    after = algebra(graph)
    assert [n.op for n in after.nodes] == [Reshape(shape)]
    assert_same(graph, after, 0)


def test_concatenations_are_flat_and_take_nothing_empty() -> None:
    net = Net()
    x, z = net.x(2, 3), net.x(2, 0, name="z")
    inner = net(Concat(1), x, x)
    graph = net.done(net(Concat(1), inner, net(Concat(1), z, x), name="y"))
    after = algebra(graph)
    assert [n.inputs for n in after.nodes] == [("x", "x", "x")]
    assert_same(graph, after, 0)


def test_a_concatenation_read_twice_stays() -> None:
    net = Net()
    x = net.x(2, 3)
    inner = net(Concat(1), x, x, name="z")
    graph = net.done(inner, net(Concat(1), inner, x, name="y"))
    assert algebra(graph) is graph


BORDERS: list[tuple[Op, Op]] = [
    (Conv2d(), Conv2d(pads=(1, 0, 0, 2))),
    (Conv2d(pads=(1, 1, 1, 1), strides=(2, 2)), Conv2d(pads=(2, 1, 1, 3), strides=(2, 2))),
    (Pool2d("sum", (3, 3)), Pool2d("sum", (3, 3), pads=(1, 0, 0, 2))),
    (Pool2d("mean", (3, 3)), Pool2d("mean", (3, 3), pads=(1, 0, 0, 2), counted=(1, 0, 0, 2))),
]


@pytest.mark.parametrize(("op", "wider"), BORDERS, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("transposed", [False, True])
def test_a_border_of_zeros_moves_into_the_layer(op: Op, wider: Op, transposed: bool) -> None:
    net = Net()
    if transposed:
        y = net(Transpose((0, 2, 3, 1)), net(Pad((0, 0, 1, 0), (0, 0, 0, 2)), net.x(1, 2, 6, 6), 0.0))
    else:
        y = net(Pad((0, 1, 0, 0), (0, 0, 2, 0)), net.x(1, 6, 6, 2), 0.0)
    weights = (net.random(3, 3, 3, 2), net.random(3)) if isinstance(op, Conv2d) else ()
    graph = net.done(net(op, y, *weights, name="y"))
    after = algebra(graph)
    assert [n.op for n in after.nodes] == [Transpose((0, 2, 3, 1))] * transposed + [wider]
    assert_same(graph, after, 0)


def test_a_border_passes_a_reshape_that_moves_dimensions_of_size_1() -> None:
    net = Net()
    padded = net(Pad((0, 0, 1, 0), (0, 0, 0, 2)), net.x(1, 1, 5, 6), 0.0)
    y = net(Conv2d(), net(Reshape((1, 6, 8, 1)), padded), net.random(3, 3, 3, 1), net.random(3), name="y")
    graph = net.done(y)
    after = algebra(graph)
    assert [n.op for n in after.nodes] == [Reshape((1, 5, 6, 1)), Conv2d(pads=(1, 0, 0, 2))]
    assert_same(graph, after, 0)


def test_a_border_stays_before_a_reshape_that_mixes_dimensions() -> None:
    net = Net()
    y = net(Reshape((8, 6)), net(Pad((1, 0), (0, 2)), net.x(5, 6), 0.0), name="y")
    graph = net.done(y)
    assert algebra(graph) is graph


@pytest.mark.parametrize(("border", "value"), [((0, 1, 1, 0), 1.0), ((0, 1, 1, 1), 0.0), ((1, 0, 0, 0), 0.0)])
def test_other_borders_stay(border: tuple[int, ...], value: float) -> None:
    net = Net()
    y = net(Pad(border, border), net.x(1, 4, 4, 2), value)
    channels = net.type(y).shape[3]
    graph = net.done(net(Conv2d(), y, net.random(3, 3, 3, channels), net.random(3), name="y"))
    assert algebra(graph) is graph


def test_a_maximum_sees_the_border() -> None:
    net = Net()
    y = net(Pad((0, 1, 1, 0), (0, 0, 0, 0)), net.x(1, 4, 4, 2), 0.0)
    graph = net.done(net(Pool2d("max", (2, 2)), y, name="y"))
    assert algebra(graph) is graph


def test_cuts_merge() -> None:
    net = Net()
    y = net(Slice((1, 5), (1, -2), (3, 3)), net.x(6, 7))
    graph = net.done(net(Slice((2, 0), (-1, 2), (2, 2)), y, name="y"))
    after = algebra(graph)
    assert [n.op for n in after.nodes] == [Slice((3, 5), (-1, -4), (2, 2))]
    assert_same(graph, after, 0)


def _cut(rng: np.random.Generator, sizes: tuple[int, ...]) -> Slice:
    """Steps over elements of each dimension, in either direction, with some left over on both sides."""
    cuts = []
    for n in sizes:
        step, start = int(rng.integers(2, 4)), int(rng.integers(1, 3))
        count = (n - 2 - start) // step + 1
        backwards = rng.integers(2) == 1
        cuts.append((start + (count - 1) * step if backwards else start, -step if backwards else step, count))
    starts, steps, counts = zip(*cuts, strict=True)
    return Slice(starts, steps, counts)


@pytest.mark.parametrize("seed", range(20))
def test_cuts_of_any_steps_merge(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = Net()
    first = _cut(rng, (31, 43))
    graph = net.done(net(_cut(rng, first.shape), net(first, net.x(31, 43)), name="y"))
    after = algebra(graph)
    assert kinds(after) == ["Slice"]
    assert_same(graph, after, 0)


@pytest.mark.parametrize("condition", [True, False])
def test_a_selection_that_is_decided_goes(condition: bool) -> None:
    net = Net()
    always = net.const(np.full((4, 1), condition))
    y = net.one(Where(), always, net.x(4, 5), net.x(5, name="z"))
    graph = net.done(net(Mul(), y, 2.0, name="y"))
    after = algebra(graph)
    assert kinds(after) == (["Mul"] if condition else ["Expand", "Mul"])
    assert_same(graph, after, 0)


def test_a_selection_that_is_open_stays() -> None:
    net = Net()
    condition = net.const(np.array([[True], [False], [True], [False]]))
    graph = net.done(net.one(Where(), condition, net.x(4, 5), net.x(5, name="z"), name="y"))
    assert algebra(graph) is graph


def test_what_broadcasts_is_not_expanded() -> None:
    net = Net()
    x = net.x(4, 5)
    graph = net.done(net(Add(), x, net(Expand((4, 5)), net.x(4, 1, name="z")), name="y"))
    after = algebra(graph)
    assert kinds(after) == ["Add"]
    assert_same(graph, after, 0)


def test_each_number_is_computed_before_copies_are_made() -> None:
    net = Net()
    wide = net(Cast(DType.S32), net(Expand((4, 3, 5)), net.x(4, 1, 5)))
    graph = net.done(net(Cast(DType.S16), wide, name="y"))
    after = algebra(graph)
    assert kinds(after) == ["Cast", "Cast", "Expand"]
    assert_same(graph, after, 0)


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize(
    ("axes", "left"), [((2,), ["Reduce", "Expand"]), ((1,), ["Reshape"]), ((1, 2), ["Reduce"])]
)
def test_copies_change_no_extremum(kind: str, axes: tuple[int, ...], left: list[str]) -> None:
    net = Net()
    graph = net.done(net(Reduce(kind, axes), net(Expand((4, 3, 5)), net.x(4, 1, 5)), name="y"))
    after = algebra(graph)
    assert kinds(after) == left
    assert_same(graph, after, 0)


@pytest.mark.parametrize("op", [Reduce("sum", (1,)), Reduce("max", (1,), keepdims=False)])
def test_sums_are_of_copies(op: Reduce) -> None:
    """As are results with fewer dimensions."""
    net = Net()
    graph = net.done(net(op, net(Expand((4, 3, 5)), net.x(4, 1, 5)), name="y"))
    assert algebra(graph) is graph


def test_copies_that_others_read_are_read() -> None:
    net = Net()
    wide = net(Expand((4, 3, 5)), net.x(4, 1, 5))
    graph = net.done(net(Cast(DType.S32), wide, name="y"), wide)
    assert algebra(graph) is graph


def test_two_negations_cancel() -> None:
    net = Net()
    test = net(Equal(), net.x(4, 5), 0.0)
    graph = net.done(net(Cast(DType.F32), net(Not(), net(Not(), test)), name="y"))
    after = algebra(graph)
    assert kinds(after) == ["Equal", "Cast"]
    assert_same(graph, after, 0)


def test_one_position_of_many_rows_is_not_expanded() -> None:
    net = Net()
    index = net(Expand((1, 3, 1, 2)), net.const(np.array([[[[4]]]], np.int32)))
    graph = net.done(net(Scatter(2), net.x(1, 3, 5, 2), index, net.x(1, 3, 1, 2, name="z"), name="y"))
    after = algebra(graph)
    assert kinds(after) == ["Scatter"]
    assert_same(graph, after, 0)


def test_an_expansion_that_makes_the_shape_stays() -> None:
    net = Net()
    graph = net.done(net(Add(), net(Expand((4, 5)), net.x(4, 1)), net.x(5, name="z"), name="y"))
    assert kinds(algebra(graph)) == ["Add"]  # both together make it
    net = Net()
    graph = net.done(net(Add(), net(Expand((4, 5)), net.x(4, 1)), 1.0, name="y"))
    assert algebra(graph) is graph
