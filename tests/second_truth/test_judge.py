"""The judge of random networks finds what is wrong, and makes it small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.nets import Net
from support.random_networks.families import FAMILIES, make, whole
from support.random_networks.judge import differences, judged, shrunk
from support.random_networks.trial import Recipe, Trial, Truth
from support.tools import require_module

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.types import Array

RIGHT = np.array([1.0, -2.0, 100.0], np.float32)


def trial(outputs: Sequence[Array], exact: bool = False, spread: float = 0.0) -> Trial:
    truth = Truth(outputs, [spread] * len(outputs), [exact] * len(outputs))
    return Trial(Recipe("none", 0, (0,)), frozenset(), {}, truth, lambda: Net().done())


def moved(by: float) -> Array:
    return RIGHT + np.array([by, 0, 0], np.float32)


@pytest.mark.parametrize(
    ("judged_trial", "found", "wrong"),
    [
        (trial([RIGHT]), RIGHT, ""),
        (trial([RIGHT]), moved(5e-4), ""),
        (trial([RIGHT]), moved(2e-3), "output 0, float32[3], is 0.002 off, 0.001 allowed"),
        (trial([RIGHT], spread=1e-3), moved(2e-3), ""),
        (trial([RIGHT], exact=True), moved(1e-6), "off, 0 allowed"),
        (trial([RIGHT]), RIGHT.astype(np.float64), "is float64[3] instead of float32[3]"),
        (trial([RIGHT]), RIGHT[:2], "is float32[2] instead of float32[3]"),
        (trial([RIGHT]), moved(np.nan), "is inf off"),
        (trial([np.array([1, 2])]), np.array([1, 3]), "is 1 off, 0 allowed"),
    ],
)
def test_results_are_as_near_as_the_rule_says(judged_trial: Trial, found: Array, wrong: str) -> None:
    words = differences(judged_trial, [found])
    assert (wrong in words) if wrong else not words


def negated() -> Graph:
    net = Net()
    return net.done(net(Neg(), net.x(3)))


def refusing() -> Graph:
    raise EdgeKitError("E0201", "unsupported op Foo", "node foo")


@pytest.mark.parametrize(
    ("read", "wrong", "refused"),
    [
        (negated, "is 200 off", ""),
        (refusing, "", "E0201 unsupported op Foo"),
        (lambda: {}["missing"], "KeyError at import", ""),
    ],
)
def test_a_wrong_reader_is_found(read: Callable[[], Graph], wrong: str, refused: str) -> None:
    verdict = judged(replace(trial([RIGHT]), inputs={"x": RIGHT}, read=read))
    assert wrong in verdict.wrong
    assert refused in verdict.refused
    assert bool(verdict.wrong) == bool(wrong)


def test_a_network_shrinks_to_the_steps_that_matter() -> None:
    def of(recipe: Recipe) -> Trial:
        return replace(trial([RIGHT]), recipe=recipe)

    def is_bad(made: Trial) -> bool:
        return {3, 7} <= set(made.recipe.steps)

    assert shrunk(Recipe("none", 1, tuple(range(10))), of, is_bad).steps == (3, 7)


def test_recipes_are_what_they_say() -> None:
    recipe = Recipe("onnx", 12, (0, 3))
    assert Recipe.parse(str(recipe)) == recipe


@pytest.mark.parametrize("family", ["onnx", "int8", "real"])
def test_the_same_recipe_is_the_same_network(family: str) -> None:
    require_module("onnxruntime")
    require_module("ai_edge_litert")
    first, second = (make(whole(family, 5)) for _ in range(2))
    assert first.operators == second.operators
    for a, b in zip(first.truth.outputs, second.truth.outputs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_shares_are_of_all_networks() -> None:
    assert sum(family.share for family in FAMILIES.values()) == 1000
