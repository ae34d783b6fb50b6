"""int4 weights and --effort high: quality, accuracy, bytes, C, and the command line."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS, CommandLine
from support.tools import require

from edgekit import api
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.passes import verify
from edgekit.core.types import Array, DType
from edgekit.quantize.mixed_precision.formats import int4_layers


@cache
def digits(weights: str, effort: str) -> tuple[Graph, api.Quantization]:
    return api.quantize_model(
        DIGITS / "digits.onnx", str(DIGITS / "calib.npz"), weights=weights, effort=effort
    )


def accuracy(graph: Graph) -> float:
    with np.load(DIGITS / "test.npz") as test:
        (scores,) = api.run(graph, test["x"]).values()
        labels: Array = test["label"]
        return float((scores.reshape(len(labels), -1).argmax(axis=1) == labels).mean())


def test_high_effort_leaves_less_noise() -> None:
    for weights, gain in (("int8", 0.5), ("int4", 3.0)):
        assert digits(weights, "high")[1].sqnr_db > digits(weights, "normal")[1].sqnr_db + gain


def test_digits_with_int4_weights_are_read_as_well_as_with_floats() -> None:
    assert accuracy(digits("int4", "high")[0]) >= accuracy(api.convert(DIGITS / "digits.onnx")) - 0.01


def test_large_layers_have_int4_weights_and_small_ones_int8() -> None:
    graph, found = digits("int4", "high")
    verify(graph)
    dtypes = [graph.type(node.inputs[1]).dtype for node in graph.nodes if isinstance(node.op, Conv2d)]
    assert dtypes == [DType.S8, DType.S4, DType.S4]
    assert [x.runs_in for x in found.layers if x.op == "Dense"] == ["int8, int4 weights"]
    assert found.bytes_after < 0.55 * digits("int8", "high")[1].bytes_after


def test_the_layers_that_stay_int8_hold_at_most_a_tenth() -> None:
    graph = api.convert(DIGITS / "digits.onnx")
    sizes = {
        node.outputs[0]: graph.type(node.inputs[1]).size for node in graph.nodes if len(node.inputs) == 3
    }
    small = sizes.keys() - int4_layers(graph).keys()
    assert 0 < sum(sizes[name] for name in small) <= sum(sizes.values()) / 10


def test_c_computes_the_same_with_int4_weights(tmp_path: Path) -> None:
    require("gcc")
    graph, _ = digits("int4", "high")
    api.save(graph, tmp_path / "digits.ek")
    assert api.load(tmp_path / "digits.ek") == graph
    with np.load(DIGITS / "test.npz") as test:
        assert api.verify(graph, inputs=test["x"][:20]).max_error == 0


def test_progress_is_told_layer_by_layer() -> None:
    told: list[str] = []
    with np.load(DIGITS / "calib.npz") as data:
        api.quantize_model(
            DIGITS / "digits.onnx", data["x"][:12], calibrate="minmax", effort="high", progress=told.append
        )
    assert [step for step in told if step.startswith("rounding")] == [
        f"rounding weights, layer {number}" for number in (1, 2, 3, 4)
    ]


def test_a_gate_gives_int8_weights_to_the_layers_that_need_them() -> None:
    with np.load(DIGITS / "calib.npz") as data:
        wanted = digits("int4", "normal")[1].sqnr_db + 2
        _, found = api.quantize_model(
            DIGITS / "digits.onnx", data["x"], weights="int4", gate=api.Gate(min_sqnr=wanted)
        )
    assert found.verdict.passed
    runs_in = [x.runs_in for x in found.layers if x.op in ("Conv2d", "Dense")]
    assert set(runs_in) == {"int8", "int8, int4 weights"}
    assert runs_in.count("int8") == 2  # the small one, and the one that mattered


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "int2"}, "unknown format of weights with int8: int2"),
        ({"weights": "int4", "dtype": "bf16"}, "unknown format of weights with bf16: int4"),
        ({"effort": "heroic"}, "unknown effort: heroic"),
    ],
)
def test_what_does_not_exist_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(EdgeKitError, match=message):
        replace(api.Settings(), **options)  # type: ignore[arg-type]  # wrong on purpose


def test_the_command_writes_int4(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli = CommandLine(capsys)
    words = ["quantize", str(DIGITS / "digits.onnx"), "--data", str(DIGITS / "calib.npz")]
    answer = cli.ok(*words, "--weights", "int4", "--effort", "high")
    assert "int8, int4 weights" in answer.out
    assert api.load("digits_int4.ek") == digits("int4", "high")[0]
