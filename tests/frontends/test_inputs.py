"""Inputs that are bound or fixed: numbers have to fit their type, and names and shapes the model."""

import numpy as np
import pytest
from support.nets import Net

from edgekit.converters.inputs import fix_inputs, fixed_input
from edgekit.converters.mxnet.reader import _dims
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ops.arithmetic import Add
from edgekit.core.types import DType, Type


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(DType.F32, 0.1), (DType.F32, 3.0), (DType.S32, -3.0), (DType.U8, 255.0), (DType.BOOL, 1.0)],
)
def test_a_number_fills_an_input(dtype: DType, value: float) -> None:
    made = fixed_input("x", value, Type(dtype, (2, 3)))
    assert (made.dtype, made.shape) == (dtype.numpy, (2, 3))
    assert (made == dtype.numpy.type(value)).all()


@pytest.mark.parametrize(("dtype", "value"), [(DType.S32, 0.5), (DType.S8, 1.25), (DType.S64, -0.5)])
def test_integers_take_no_fractions(dtype: DType, value: float) -> None:
    with pytest.raises(EdgeKitError, match="does not fit input x") as caught:
        fixed_input("x", value, Type(dtype, (2,)))
    assert caught.value.exit_code is Exit.USAGE
    assert fixed_input("x", value, Type(dtype, (0,))).size == 0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("z", 1.0, "no input named z"),
        ("a", np.zeros((2, 3), np.float64), "float64"),
        ("a", np.zeros((3, 2), np.float32), "3, 2"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(name: str, value: object, words: str) -> None:
    net = Net()
    a, b = net.x(2, 3), net.x(2, 3)
    graph = net.done(net(Add(), a, b, name="y"))
    given = {a if name == "a" else name: value}
    with pytest.raises(EdgeKitError, match=words):
        fix_inputs(graph, given)  # type: ignore[arg-type]  # of several types


def test_sizes_of_mxnet_that_are_not_known() -> None:
    assert _dims((1, 0, -1, 3)) == [1, None, None, 3]
    assert _dims(()) is None
