"""What passes ask of constants."""

import numpy as np
import pytest

from edgekit.core.passes.match import per_channel, squeezed
from edgekit.core.types import Array

LINE = np.arange(4.0)


@pytest.mark.parametrize("constant", [LINE, LINE.reshape(1, 4), LINE.reshape(1, 1, 4)])
def test_a_constant_that_differs_along_channels_is_a_vector(constant: Array) -> None:
    found = per_channel(constant, (4, 4, 4))
    assert found is not None
    assert np.array_equal(found, LINE)


def test_one_number_is_that_of_each_channel() -> None:
    found = per_channel(np.float64(3), (2, 5))
    assert found is not None
    assert np.array_equal(found, [3.0] * 5)


@pytest.mark.parametrize(
    ("constant", "shape"),
    [
        (LINE.reshape(4, 1), (4, 4)),  # differs along rows, of which there are as many
        (LINE.reshape(1, 4, 1), (1, 4, 4)),
        (LINE.reshape(1, 1, 4), (4, 4)),  # has more dimensions
        (LINE, (4, 3)),
        (np.float64(3), ()),
    ],
)
def test_other_constants_are_not_of_channels(constant: Array, shape: tuple[int, ...]) -> None:
    assert per_channel(constant, shape) is None


def test_dimensions_along_which_nothing_changes_go() -> None:
    assert np.array_equal(squeezed(np.broadcast_to(LINE, (3, 1, 4))), LINE)
    column = np.broadcast_to(LINE[:, None], (2, 4, 5))
    assert np.array_equal(squeezed(column), LINE[:, None])
    assert squeezed(np.full((2, 3), 7.0)).shape == ()
