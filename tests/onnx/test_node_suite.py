"""Every case of onnx's own suites, through compiled C, is right or is refused with a reason."""

from __future__ import annotations

import unittest
from collections import Counter
from random import Random

import onnx
import pytest
from onnx.backend.test import BackendTest, runner
from onnx.backend.test.case.test_case import TestCase
from support import operator_matrix
from support.node_suite import FLOOR, Outcome, Verdict, run
from support.onnx_cases import cases
from support.tools import require

from edgekit.onnx_backend import EdgeKitBackend

# A few of each kind for the backend's own interface, which compiles one model at a time.
BACKEND_CASES = (
    "test_add",
    "test_conv_with_autopad_same",
    "test_reshape_reduced_dims",
    "test_softmax_axis_1",
)
SANITIZED = 150


def describe(outcomes: list[Outcome]) -> str:
    return "\n".join(f"{o.verdict.value} {o.name}: {o.detail}" for o in outcomes)


def faults(outcomes: list[Outcome]) -> list[Outcome]:
    return [o for o in outcomes if o.verdict in (Verdict.WRONG, Verdict.CRASH)]


@pytest.mark.slow
def test_every_case_is_right_or_refused_and_the_matrix_says_so() -> None:
    require("cc")
    outcomes = run([case.name for case in cases()])
    assert not faults(outcomes), describe(faults(outcomes))
    committed = operator_matrix.PAGE.read_text(encoding="utf-8")
    if operator_matrix.release(committed) == onnx.__version__:  # other releases have other cases
        kinds = {case.name: case.kind for case in cases()}
        right = Counter(kinds[o.name] for o in outcomes if o.verdict is Verdict.RIGHT)
        assert all(right[kind] >= floor for kind, floor in FLOOR.items()), right
        hint = "run scripts/conformance.py --write-docs, and read the diff"
        assert committed == operator_matrix.page(outcomes), hint


@pytest.mark.slow
def test_sanitizers_find_nothing() -> None:
    require("cc")
    names = Random(1).sample([case.name for case in cases()], SANITIZED)
    outcomes = run(names, sanitize=True)
    assert not faults(outcomes), describe(faults(outcomes))


def loaded(kind: str) -> list[TestCase]:
    """These cases of the node suite as onnx's runner takes them: it would compute all of them anew."""
    return [
        TestCase(
            *(case.name, case.name, None, None, case.model),
            *([(list(case.inputs.values()), case.expected)], kind, case.rtol, case.atol),
        )
        for case in cases()
        if kind == case.kind and case.name in BACKEND_CASES
    ]


def test_the_backend_interface_runs_models(monkeypatch: pytest.MonkeyPatch) -> None:
    require("cc")
    monkeypatch.setattr(runner, "load_model_tests", loaded)
    suite = BackendTest(EdgeKitBackend, __name__)
    for case in BACKEND_CASES:
        suite.include(f"^{case}_cpu$")
    result = unittest.TestResult()
    suite.test_suite.run(result)
    assert not result.failures + result.errors
    assert result.testsRun - len(result.skipped) == len(BACKEND_CASES)
