"""Units that go one after the other: the others make up for all of them, as they would at once."""

from itertools import permutations
from typing import Any

import numpy as np

from edgekit.quantize.pruning.criteria import _Reader

COLUMNS = np.arange(10).reshape(5, 2)  # two cells of each of five units


def reader() -> _Reader:
    random = np.random.default_rng(1)
    samples = random.standard_normal((2, 40, 10)) @ random.standard_normal((2, 10, 10))  # of two groups
    squares = samples.transpose(0, 2, 1) @ samples
    weights = random.standard_normal((2, 10, 3))
    layer: Any = None
    return _Reader(layer, COLUMNS, weights, squares, float((weights * (squares @ weights)).sum()))


def least_error(made: _Reader, units: tuple[int, ...]) -> float:
    """What is left of the signal of a reader without these units, by least squares of the others."""
    stay = np.delete(COLUMNS, units, axis=0).reshape(-1)
    total = 0.0
    for squares, weights in zip(made.squares, made.weights, strict=True):
        best = np.zeros_like(weights)
        best[stay] = np.linalg.solve(squares[np.ix_(stay, stay)], squares[stay] @ weights)
        off = weights - best
        total += float((off * (squares @ off)).sum())
    return total / made.signal


def test_costs_of_units_in_turn_add_up_to_the_damage_of_all() -> None:
    for units in permutations((0, 2, 3)):
        made = reader()
        exact = least_error(made, units)
        np.testing.assert_allclose(made.damage(np.array(units)), exact, rtol=1e-8)
        total = 0.0
        for unit in units:
            total += float(made.costs(np.array([unit]))[0])
            made.remove(np.array([unit]))
        np.testing.assert_allclose(total, exact, rtol=1e-8)
        np.testing.assert_allclose(made.weights[:, COLUMNS[list(units)].reshape(-1)], 0, atol=1e-10)
