"""Mistakes in calibration data that shapes do not show: another scale, equal samples, wrong labels."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS, CommandLine
from support.nets import Net
from support.tools import ROOT

from edgekit import api
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array
from edgekit.quantize.calibration.calibration_samples import held_out
from edgekit.quantize.calibration.calibration_warnings import label_warning
from edgekit.quantize.calibration.data_scale import bias_ratio, scale_warnings
from edgekit.quantize.calibration.observe import Observer
from edgekit.quantize.measure import sqnr
from edgekit.quantize.preparation.prepare import prepare

QUICK = api.Settings(calibrate="minmax", strict_int8=True)


def example(name: str) -> tuple[Graph, Array]:
    folder = ROOT / "examples" / name
    with np.load(folder / "calib.npz") as data:
        return prepare(api.convert(folder / f"{name}.onnx")), data["x"][:8]


def told(graph: Graph, x: Array) -> list[str]:
    observer = Observer(graph)
    for row in x:
        observer.add({graph.inputs[0]: row.reshape(graph.type(graph.inputs[0]).shape)})
    return list(scale_warnings(graph, observer.statistics))


@pytest.mark.parametrize("name", ["digits", "keywords", "anomaly"])
def test_data_as_in_training_raise_no_doubt(name: str) -> None:
    assert not told(*example(name))


@pytest.mark.parametrize(
    ("name", "factor", "words"),
    [
        ("digits", 255, "seems too large"),
        ("keywords", 255, "seems too large"),
        ("digits", 1 / 255, "seems too small"),
        ("anomaly", 1 / 255, "seems too small"),
    ],
)
def test_another_scale_than_in_training_is_told(name: str, factor: float, words: str) -> None:
    graph, x = example(name)
    (warning,) = told(graph, (x * factor).astype(np.float32))
    assert words in warning
    assert "as in training" in warning


def test_without_a_layer_or_biases_nothing_is_said() -> None:
    net = Net()
    plain = net.done(net(Dense(), net.x(1, 6), net.random(4, 6), np.zeros(4)))
    net = Net()
    table = net.done(net(Dense(), net(Sigmoid(), net.x(1, 6)), net.random(4, 6), net.random(4)))
    for graph in (plain, table):
        observer = Observer(graph)
        observer.add({"x": np.linspace(0, 1e6, 6, dtype=np.float32)[None]})
        assert bias_ratio(graph, "x", observer.statistics) is None


def small_network(random: np.random.Generator) -> Graph:
    net = Net()
    x = net.x(1, 16)
    for name, outputs, least in (("hidden", 16, 0.0), ("more", 16, 0.0), ("out", 4, -np.inf)):
        weights, bias = random.normal(size=(outputs, 16)) / 4, random.normal(size=outputs) / 4
        x = net(Dense(lo=least), x, weights.astype(np.float32), bias.astype(np.float32), name=name)
    return net.done(x)


def doubts(found: api.Quantization) -> list[str]:
    """That other samples may have less than the report says."""
    return [text for text in found.warnings if "less than 20 dB" in text or "dB where the other half" in text]


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 6, 7, 21, 25, 13, 20])
def test_no_output_has_less_than_20_db_on_fresh_samples_without_a_word(seed: int) -> None:
    """Few samples show the largest values, or none does: the data are distributed after Student's t with 2
    degrees of freedom. In the last two, held-out samples do not leave the range of the others."""
    random = np.random.default_rng(seed)
    graph, data = small_network(random), random.standard_t(2, size=(332, 1, 16)).astype(np.float32)
    made, found = api.quantize_model(graph, data[:32])
    fresh = [{"x": x} for x in data[32:]]
    exact, ours = ([simulate.run(g, sample)["out"] for sample in fresh] for g in (graph, made))
    assert sqnr(exact, ours) < 20
    assert doubts(found)


@pytest.mark.parametrize("seed", range(8))
def test_light_tails_are_not_doubted(seed: int) -> None:
    random = np.random.default_rng(seed)
    graph, data = small_network(random), random.uniform(-2, 2, size=(32, 1, 16)).astype(np.float32)
    _, found = api.quantize_model(graph, data)
    assert not [text for text in found.warnings if "heavy tail" in text]


def test_equal_samples_count_as_one() -> None:
    graph, x = example("digits")
    _, found = api.quantize_model(graph, np.repeat(x[:1], 9, axis=0), QUICK)
    assert "all 9 calibration samples are equal: they count as one" in found.warnings
    _, found = api.quantize_model(graph, x, QUICK)
    assert not [warning for warning in found.warnings if "equal" in warning]


def test_the_report_shows_what_arrived(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, x = example("digits")
    np.savez("x.npz", x=x * np.float32(255))
    options = ["--data", "x.npz", "--calibrate", "minmax", "--strict-int8"]
    done = CommandLine(capsys)("quantize", str(DIGITS / "digits.onnx"), *options, "-o", "out.ek")
    low, high, mean = (float(f(x) * 255) for f in (np.min, np.max, np.mean))
    assert f"x  {low:.4g} to {high:.4g}, mean {mean:.4g}" in done.out
    assert "warning: input x is" in done.err


def test_a_float_model_that_is_not_right_itself_is_told() -> None:
    graph, _ = example("digits")
    with np.load(DIGITS / "test.npz") as test:
        x, labels = test["x"][:60], test["label"][:60]
    for wrong, count in ((0, 0), (1, 1)):
        gate = api.Gate(max_drop=1.0, labels=(labels + wrong) % 10)
        _, found = api.quantize_model(graph, x, QUICK, gate=gate)
        doubts = [warning for warning in found.warnings if warning.startswith("the float model has ")]
        assert len(doubts) == count
        judged = np.array(gate.labels)[list(islice(held_out(), 60))]
        most = np.bincount(judged)
        words = f"on {judged.size} of the samples, no better than always answering {most.argmax()} "
        assert not count or f"{words}({most.max() / judged.size:.1%})" in doubts[0]


@pytest.mark.parametrize(
    ("accuracy", "labels", "is_told"),
    [
        (0.5, [0, 1], True),
        (0.51, [0, 1], False),
        (0.0, [3, 3], False),
        (None, [0, 1], False),
        (0.5, None, False),
    ],
)
def test_a_constant_answer_is_the_least(
    accuracy: float | None, labels: list[int] | None, is_told: bool
) -> None:
    found = label_warning(accuracy, None if labels is None else np.array(labels))
    assert bool(list(found)) == is_told
