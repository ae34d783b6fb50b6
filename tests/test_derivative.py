"""Derivatives of elementwise operators are what small changes of their operands do."""

import numpy as np
import pytest

from edgekit.core.derivative import derivative
from edgekit.core.formula import parse
from edgekit.core.ops import registry
from edgekit.core.ops._formula import evaluate
from edgekit.core.ops._map import Map
from edgekit.core.ops.cast import Cast
from edgekit.core.types import DType
from edgekit.quantize.gradients import gradients, has_derivative

FUNCTIONS = sorted(
    name
    for name, kind in registry().items()
    if issubclass(kind, Map) and kind is not Cast and not name.startswith("_") and has_derivative(kind())
)
_STEP = 1e-6
_WITHIN = {"Acosh": (1.5, 4.0), "Log": (0.5, 4.0), "Sqrt": (0.5, 4.0), "Pow": (0.5, 2.5)}
_INSIDE = ("Asin", "Acos", "Atanh")


def test_functions_of_real_numbers_have_derivatives() -> None:
    assert {"Add", "Clip", "Div", "Elu", "Gelu", "HardSwish", "Mish", "Mod", "Pow", "Sigmoid", "Where"} <= {
        *FUNCTIONS
    }
    assert len(FUNCTIONS) > 45


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_what_small_changes_do(name: str) -> None:
    op = registry()[name]()
    assert isinstance(op, Map)
    formula = parse(op.formula(*(DType.F64,) * op.arity))
    low, high = (-0.9, 0.9) if name in _INSIDE else _WITHIN.get(name, (-3.0, 3.0))
    rng = np.random.default_rng(7)
    operands = {letter: rng.uniform(low, high, 400) for letter in "abc"[: op.arity]}
    for letter in operands:
        ends = [
            np.asarray(evaluate(formula, {**operands, letter: operands[letter] + step}, np.dtype(np.float64)))
            for step in (_STEP, -_STEP)
        ]
        numeric = (ends[0].astype(np.float64) - ends[1].astype(np.float64)) / (2 * _STEP)
        found = np.broadcast_to(
            evaluate(derivative(formula, letter), operands, np.dtype(np.float64)), numeric.shape
        )
        near = np.abs(found - numeric) <= 1e-4 * np.maximum(1, np.abs(numeric))
        assert near.mean() > 0.98, letter  # all, but where a condition turns within the step


def test_where_a_function_is_vertical_nothing_is_wanted() -> None:
    (found,) = gradients(registry()["Sqrt"](), [np.array([0.0, 4.0])], np.array([0.0, 2.0]), np.ones(2))
    assert found.tolist() == [0.0, 0.25]
