"""Made-up inputs are such as a model may meet: the graph says what its integers are for."""

import numpy as np
import pytest
from support.encoders import LENGTH, WORDS, encoder
from support.nets import Net

from edgekit.core.builder import Builder
from edgekit.core.input_ranges import CHOICES, MASK, InputRange, input_ranges
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.gather import Gather, GatherND
from edgekit.core.ops.logic import Equal, Less, LessOrEqual, Not, Where
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.simulate import random_inputs, run
from edgekit.core.types import DType, Quant, Type

TABLE = np.zeros((7, 3), np.float32)


def of(*steps: object, dtype: DType = DType.S32, shape: tuple[int, ...] = (4,)) -> Graph:
    """A graph that applies steps, (operator, operands before x, operands behind x), to its input."""
    b = Builder()
    name = x = b.input("x", Type(dtype, shape))
    for op, before, behind in steps:  # type: ignore[misc]  # they are triples
        operands = [*(b.const(c) for c in before), name, *(b.const(c) for c in behind)]
        name = b.one(op, *operands)
    return b.graph("net", [x], [name])


def step(op: Op, *behind: object, before: tuple[object, ...] = ()) -> object:
    return op, before, behind


FLOAT = step(Cast(DType.F32))
COLUMN = step(Reshape((4, 1)))
LOOKED_UP = step(Gather(0), before=(TABLE,))
PLACES = np.arange(9, dtype=np.int32).reshape(9, 1)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([COLUMN, LOOKED_UP], InputRange(0, 6)),
        ([step(Add(), np.int32(2)), COLUMN, LOOKED_UP], InputRange(-2, 4)),
        ([step(Sub(), np.int32(2)), COLUMN, LOOKED_UP], InputRange(2, 8)),
        ([step(Sub(), before=(np.int32(6),)), COLUMN, LOOKED_UP], InputRange(0, 6)),
        ([step(Mul(), np.int32(2)), COLUMN, LOOKED_UP], InputRange(0, 3)),
        ([COLUMN, step(GatherND(), before=(TABLE,))], InputRange(0, 6)),
        ([step(Equal(), PLACES)], InputRange(0, 8)),
        ([step(Less(), before=(PLACES,))], InputRange(1, 9)),
        ([step(Equal(), np.int32(0))], MASK),
        ([step(Equal(), np.int32(1))], MASK),
        ([step(Cast(DType.BOOL))], MASK),
        ([FLOAT, step(Less(), before=(np.float32(0.5),))], MASK),
        ([FLOAT, step(LessOrEqual(), np.float32(0.5))], MASK),
        ([FLOAT, step(Sub(), before=(np.float32(1),)), step(Mul(), np.float32(-1e9))], MASK),
        ([FLOAT, step(Mul(), np.float32(0.1))], InputRange(-128, 127)),
        ([step(Equal(), np.int32(5))], InputRange(-128, 127)),
    ],
)
def test_integers_are_followed_to_what_they_are_for(steps: list[object], expected: InputRange) -> None:
    graph = of(*steps)
    assert input_ranges(graph)["x"] == expected
    drawn = random_inputs(graph, 1)["x"]
    assert drawn.min() >= expected.low
    assert drawn.max() <= expected.high


def test_indices_that_count_from_the_back_are_indices() -> None:
    """As one-hot codes are imported: the count is added to what is negative, then it is compared."""
    b = Builder()
    x = b.input("x", Type(DType.S32, (1,)))
    back = b.one(Add(), x, b.const(np.int32(9)))
    place = b.one(Where(), b.one(Less(), x, b.const(np.int32(0))), back, x)
    graph = b.graph("net", [x], [b.one(Equal(), place, b.const(PLACES))])
    assert input_ranges(graph)["x"] == InputRange(0, 8)


def test_places_to_write_to_are_within_the_tensor() -> None:
    b = Builder()
    x = b.input("x", Type(DType.S64, (2, 3)))
    written = b.one(Scatter(0), b.const(TABLE), x, b.const(np.ones((2, 3), np.float32)))
    assert input_ranges(b.graph("net", [x], [written]))["x"] == InputRange(0, 6)


def test_a_mask_multiplied_with_what_is_computed_is_a_mask() -> None:
    b = Builder()
    x, kept = b.input("x", Type(DType.F32, (4,))), b.input("kept", Type(DType.S32, (4,)))
    graph = b.graph("net", [x, kept], [b.one(Mul(), x, b.one(Cast(DType.F32), kept))])
    assert input_ranges(graph)["kept"] == MASK


def test_no_row_of_a_mask_is_empty() -> None:
    graph = of(step(Cast(DType.BOOL)), dtype=DType.S32, shape=(200, 3))
    drawn = random_inputs(graph, 0)["x"]
    assert set(np.unique(drawn)) == {0, 1}
    assert drawn.any(axis=1).all()


@pytest.mark.parametrize(("dtype", "low", "high"), [(DType.S8, -128, 127), (DType.S16, -(2**15), 2**15 - 1)])
def test_quantized_tensors_keep_their_range(dtype: DType, low: int, high: int) -> None:
    b = Builder()
    x = b.input("x", Type(dtype, (4000,), Quant((0.5,), (0,))))
    graph = b.graph("net", [x], [b.one(Reshape((2, 2000)), x)])
    assert input_ranges(graph)["x"] == InputRange(low, high)
    for choice in range(CHOICES):
        drawn = random_inputs(graph, 0, choice)["x"].astype(np.int64)
        assert low <= drawn.min() < 0 < drawn.max() <= high


def test_images_of_bytes_keep_their_range() -> None:
    graph = of(FLOAT, dtype=DType.U8, shape=(4000,))
    drawn = random_inputs(graph, 0)["x"]
    assert (drawn.min(), drawn.max()) == (0, 255)


def test_floats_are_what_they_were() -> None:
    net = Net()
    graph = net.done(net(Add(), net.x(2, 3), 1.0))
    right = np.random.default_rng(5).standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(random_inputs(graph, 5)["x"], right)


def test_a_transformer_gets_words_and_masks_and_no_output_is_nan() -> None:
    graph = encoder()
    assert input_ranges(graph) == {"ids": InputRange(0, WORDS - 1), "mask": MASK, "kinds": InputRange(0, 1)}
    for seed in range(8):
        inputs = random_inputs(graph, seed)
        assert all(np.isfinite(y).all() for y in run(graph, inputs).values())
    inputs["mask"] = np.full((1, LENGTH), 100)
    assert all(np.isnan(y).all() for y in run(graph, inputs).values())


def test_a_choice_by_products_with_a_condition_is_followed() -> None:
    """As tf2onnx writes it: places that count from the back are moved by products with 0 and 1."""
    b = Builder()
    x = b.input("x", Type(DType.S32, (4,)))
    negative = b.one(Less(), x, b.const(np.zeros(4, np.int32)))
    moved = b.one(Add(), x, b.const(np.full(4, 7, np.int32)))
    chosen = b.one(Mul(), b.one(Cast(DType.S32), negative), moved)
    other = b.one(Mul(), x, b.one(Cast(DType.S32), b.one(Not(), negative)))
    place = b.one(Reshape((4, 1)), b.one(Add(), chosen, other))
    graph = b.graph("net", [x], [b.one(Gather(0), b.const(TABLE), place)])
    found = input_ranges(graph)["x"]
    assert -7 <= found.low < found.high <= 6
