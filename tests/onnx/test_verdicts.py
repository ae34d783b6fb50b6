"""The runner of onnx's suites tells right, refused, wrong and crashed cases apart, and goes on after each."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from support import node_suite
from support.node_suite import Outcome, Verdict, run
from support.onnx_cases import Case
from support.onnx_models import INT64, model, node, tensor
from support.tools import require

from edgekit import onnx_backend

X = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
RELU = model([node("Relu", "x", "y")])
RESHAPE = model([node("Reshape", "x shape", "y")], inputs=(tensor("x", [2, 3]), tensor("shape", [1], INT64)))


def case(name: str, expected: Any, net: ModelProto = RELU, **inputs: Any) -> Case:
    return Case(name, "made", net, {"x": X, **inputs}, (expected,), rtol=1e-3, atol=1e-7)


def outcomes(monkeypatch: pytest.MonkeyPatch, *cases: Case) -> dict[str, Outcome]:
    require("cc")
    monkeypatch.setattr(node_suite, "cases", lambda: cases)
    return {o.name: o for o in run([c.name for c in cases])}


def test_each_case_gets_its_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.maximum(X, 0)
    found = outcomes(
        monkeypatch,
        case("right", y),
        case("bound", X.reshape(6), RESHAPE, shape=np.array([6])),
        case("off", y + 0.01),
        case("another type", y.astype(np.float64)),
        case("another shape", y.reshape(6)),
        case("unknown", y, model([node("ImageDecoder", "x", "y")])),
        case("malformed", y, model([node("Relu", "z", "y")])),
    )
    verdicts = {name: outcome.verdict for name, outcome in found.items()}
    assert verdicts == {
        "right": Verdict.RIGHT,
        "bound": Verdict.RIGHT,
        "off": Verdict.WRONG,
        "another type": Verdict.WRONG,
        "another shape": Verdict.WRONG,
        "unknown": Verdict.REFUSED,
        "malformed": Verdict.CRASH,
    }
    assert found["bound"].bound == ("shape",)
    assert "ImageDecoder" in found["unknown"].detail


def test_code_that_does_not_compile_is_the_fault_of_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    render = onnx_backend.render

    def broken(program: Any, optimize: Any) -> dict[str, bytes]:
        files = render(program, optimize)
        name = f"{program.name}.c"
        return files | ({name: files[name] + b"nonsense"} if "broken" in name else {})

    monkeypatch.setattr(onnx_backend, "render", broken)
    found = outcomes(monkeypatch, case("right", np.maximum(X, 0)), case("broken", X))
    assert [o.verdict for o in found.values()] == [Verdict.RIGHT, Verdict.CRASH]
    assert "nonsense" in found["broken"].detail


def test_code_that_ends_by_a_signal_is_the_fault_of_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    render = onnx_backend.render

    def trap(program: Any, optimize: Any) -> dict[str, bytes]:
        files = render(program, optimize)
        name = f"{program.name}.c"
        code = files[name].replace(b"arena)\n{", b"arena)\n{ __builtin_trap();")
        return files | ({name: code} if "trapped" in name else {})

    monkeypatch.setattr(onnx_backend, "render", trap)
    y = np.maximum(X, 0)
    found = outcomes(monkeypatch, case("before", y), case("trapped", y), case("behind", y))
    assert [o.verdict for o in found.values()] == [Verdict.RIGHT, Verdict.CRASH, Verdict.RIGHT]


def test_a_process_that_dies_is_the_fault_of_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = node_suite.convert_case
    monkeypatch.setattr(
        node_suite, "convert_case", lambda m, x, name: os._exit(1) if "fatal" in name else convert(m, x, name)
    )
    y = np.maximum(X, 0)
    found = outcomes(monkeypatch, case("before", y), case("fatal", y), case("behind", y))
    assert [o.verdict for o in found.values()] == [Verdict.RIGHT, Verdict.CRASH, Verdict.RIGHT]


def test_a_conversion_without_end_is_the_fault_of_its_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*arguments: Any) -> Any:
        while True:
            pass

    monkeypatch.setattr(node_suite, "convert_case", endless)
    monkeypatch.setattr(node_suite, "SECONDS", 0.2)
    (outcome,) = outcomes(monkeypatch, case("endless", X)).values()
    assert outcome.verdict is Verdict.CRASH
    assert "more than 0.2 s" in outcome.detail
