"""Fixed-point functions of TFLite: as near to the real ones as their fraction bits allow, at all ends."""

import numpy as np
import pytest

from edgekit.core import fixed_tfl
from edgekit.core.fixed_tfl16 import table_scale
from edgekit.core.types import Array

ONE = 2.0**31
EDGES = [
    0,
    -1,
    -2,
    -(2**24) + 1,
    -(2**24),
    -(2**24) - 1,
    -(2**26),
    -(2**27),
    -(2**30),
    -(2**31) + 1,
    -(2**31),
]


def negatives(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    sizes = 2.0 ** rng.uniform(0, 31, 4000)
    return np.concatenate([EDGES, -sizes.astype(np.int64)])


@pytest.mark.parametrize("bits", [26, 27, 28])
def test_exponentials_of_negative_numbers(bits: int) -> None:
    a = negatives(bits)
    found = fixed_tfl.exp_of_negative(a, bits) / ONE
    np.testing.assert_allclose(found, np.exp(a / 2.0**bits), rtol=0, atol=3e-7)


def test_reciprocals_of_numbers_from_one_to_two() -> None:
    a = -negatives(1).clip(-(2**31) + 1)
    np.testing.assert_allclose(
        fixed_tfl.reciprocal_of_one_plus(a) / ONE, 1 / (1 + a / ONE), rtol=0, atol=3e-8
    )


def test_shifts_saturate_at_both_ends() -> None:
    ends = np.array([-(2**31), -(2**30), -(2**30) - 1, 2**30 - 1, 2**30, 2**31 - 1, 3], np.int64)
    expected = [-(2**31), -(2**31), -(2**31), 2**31 - 2, 2**31 - 1, 2**31 - 1, 6]
    np.testing.assert_array_equal(fixed_tfl._saturating_left(ends, 1), expected)


@pytest.mark.parametrize("function", ["logistic", "tanh"])
def test_sigmoids_of_both_signs(function: str) -> None:
    x = np.concatenate([negatives(2), -negatives(3)]).clip(-(2**31) + 1, 2**31 - 1)
    real = x / 2.0**27
    expected = 1 / (1 + np.exp(-real)) if function == "logistic" else np.tanh(real)
    found = getattr(fixed_tfl, function)(x) / ONE
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-7)


@pytest.mark.parametrize(
    ("scale", "most_left", "expected"),
    [
        (2**-12, 0, (3, 0)),
        (2**-12, 1, (3, 0)),
        (2**-11, 1, (6, 0)),
        (2**-11, 0, (24576, 12)),
        (2**-10, 1, (24576, 11)),
        (2**-13, 1, (24576, 14)),
        (0.75 * 2**-11, 1, (18432, 12)),
        (0.75 * 2**-10, 1, (18432, 11)),
    ],
)
def test_inputs_of_a_table_are_thirds_of_its_steps(
    scale: float, most_left: int, expected: tuple[int, int]
) -> None:
    """Powers of two have a shift to the left where there is one; all others 15 bits, and a shift back."""
    multiplier, right = table_scale(scale, most_left)
    assert (multiplier, right) == expected
    assert multiplier / 2**right == pytest.approx(3 * 4096 * scale)
