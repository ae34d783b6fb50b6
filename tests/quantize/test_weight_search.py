"""int4 in groups: matrices that are too noisy become int8, those with most noise for their bytes first."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.language_models import folder
from support.nets import Net

from edgekit import Graph, convert, quantize_model, run, save
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType
from edgekit.quantize.calibration.search_budget import SearchBudget
from edgekit.quantize.gate import Gate
from edgekit.quantize.measure import Measure
from edgekit.quantize.mixed_precision import groupwise
from edgekit.quantize.outcome import Quantization, judged_samples
from edgekit.quantize.settings import LEAST_SQNR, Settings
from edgekit.reports import results

SIZE = 64
INT4: dict[str, Any] = {"dtype": "int4", "activations": "float32"}
DATA = np.random.default_rng(4).normal(size=(24, 1, SIZE)).astype(np.float32)


def network(**loudness: tuple[int, float]) -> Graph:
    """Layers side by side, of so many hidden units and with so much of the output, before a last layer."""
    net = Net()
    x = total = net.x(1, SIZE)
    for name, (hidden, factor) in loudness.items():
        inside = net.random(hidden, SIZE) * np.float32(factor / SIZE**0.5)
        y = net(Dense(), x, inside, np.zeros(hidden), name=name)
        spread = np.kron(np.eye(hidden), np.ones((SIZE // hidden, 1)))
        total = net(Add(), total, net(Dense(), y, spread, np.zeros(SIZE), name=f"{name}_spread"))
    return net.done(net(Dense(), total, net.random(4, SIZE), np.zeros(4), name="out"))


def in_int8(found: Quantization) -> set[str]:
    return {layer.name for layer in found.layers if layer.runs_in == "int8"} - {"out"}


def test_the_matrix_that_causes_the_noise_becomes_int8() -> None:
    graph = network(quiet=(32, 0.1), loud=(32, 3), low=(32, 0.2))
    _, strict = quantize_model(graph, DATA, **INT4, strict_int8=True)
    assert strict.mixed is None
    assert in_int8(strict) == set()
    _, found = quantize_model(graph, DATA, **INT4)
    assert strict.sqnr_db < LEAST_SQNR <= found.sqnr_db
    assert in_int8(found) == {"loud"}
    assert found.mixed is not None
    assert found.mixed.layers == {"loud": "int8"}
    assert found.mixed.sqnr_before_db == pytest.approx(strict.sqnr_db)
    assert found.mixed.weight_bytes == found.bytes_after - strict.bytes_after == 32 * SIZE // 2
    assert found.mixed.macs == {"int8": pytest.approx(32 / (6 * 32 + 4))}
    text = "\n".join(results.quantization("net.ek", found))
    assert f"{strict.sqnr_db:.1f} dB in int4 alone" in text


def test_small_matrices_are_preferred() -> None:
    graph = network(wide=(64, 1), small=(16, 1))
    _, strict = quantize_model(graph, DATA, **INT4, strict_int8=True)
    _, found = quantize_model(graph, DATA, **INT4, gate=Gate(min_sqnr=strict.sqnr_db + 1))
    assert found.verdict.passed
    assert in_int8(found) == {"small"}


@pytest.mark.parametrize(("least", "count"), [(5, 0), (40, 2), (90, 2)])
def test_a_gate_says_what_is_enough(least: float, count: int) -> None:
    """What int8 cannot reach either leaves no matrix in int4 that is worth its noise."""
    _, found = quantize_model(network(a=(64, 1), b=(64, 1)), DATA, **INT4, gate=Gate(min_sqnr=least))
    assert len(in_int8(found) & {"a", "b"}) == count
    assert found.verdict.passed is (least < found.sqnr_db)


def test_weights_of_int8_have_nothing_better() -> None:
    _, found = quantize_model(network(a=(64, 1)), DATA, dtype="int8", activations="float32")
    assert found.mixed is None


def test_random_data_change_no_formats() -> None:
    _, found = quantize_model(network(loud=(32, 3)), "random", **INT4)
    assert found.mixed is None
    assert in_int8(found) == set()


@pytest.mark.parametrize(("options", "count"), [({}, 1), ({"strict_int8": True}, 0), ({"dtype": "int8"}, 0)])
def test_without_data_it_is_said_that_nothing_is_known(options: dict[str, Any], count: int) -> None:
    _, found = quantize_model(network(loud=(32, 3)), None, **INT4 | options)
    assert [text for text in found.warnings if "without --data" in text][:2] == list(found.warnings)
    assert len(found.warnings) == count


def test_a_gate_without_data_has_nothing_to_judge() -> None:
    with pytest.raises(EdgeKitError, match="needs data") as caught:
        quantize_model(network(loud=(32, 3)), None, **INT4, gate=Gate(min_sqnr=25))
    assert caught.value.code == "E0101"


def test_more_is_wanted_where_other_samples_may_have_less(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = network(a=(32, 0.5), b=(32, 0.4), c=(32, 0.3), d=(32, 0.2))
    counts = []
    for doubt in (0, 90):
        monkeypatch.setattr(Measure, "surely", lambda self, t, less=doubt: (self.worst(t)[0] - less, ""))
        _, found = quantize_model(graph, DATA, **INT4)
        counts.append(len(in_int8(found)))
        assert found.sqnr_db >= LEAST_SQNR + min(doubt, 6)
    assert counts[0] < counts[1]


def steps(count: int) -> dict[str, Array]:
    tokens = np.random.default_rng(3).integers(0, 40, (count, 1)).astype(np.int32)
    return {"token": tokens, "position": (np.arange(count, dtype=np.int32) % 12)[:, None]}


def test_a_decoder_with_both_kinds_has_the_same_bits_in_c(tmp_path: Path) -> None:
    graph = convert(folder("llama")(tmp_path))
    made, found = quantize_model(graph, steps(24), dtype="int4", activations="dynamic", group=8)
    assert found.mixed is not None
    kinds = {
        made.type(node.inputs[2]).dtype for node in made.nodes if type(node.op).__name__ == "DynamicDense"
    }
    assert kinds == {DType.S4, DType.S8}
    np.testing.assert_array_equal(
        run(made, steps(24), target="host")["logits"], run(made, steps(24))["logits"]
    )


def test_more_steps_than_samples_are_judged_where_there_is_memory(tmp_path: Path) -> None:
    decoder = convert(folder("llama")(tmp_path))
    assert len(judged_samples(decoder, [{}] * 400)) == 256
    assert len(judged_samples(network(a=(8, 1)), [{}] * 400)) == 64


@pytest.mark.parametrize("options", [INT4, {"dtype": "int4", "activations": "dynamic"}, {"dtype": "bf16"}])
def test_effort_that_changes_nothing_is_told(options: dict[str, Any]) -> None:
    plain, silent = quantize_model(network(a=(32, 1)), DATA, **options)
    made, found = quantize_model(network(a=(32, 1)), DATA, **options, effort="high")
    assert made == plain
    (said,) = set(found.warnings) - set(silent.warnings)
    assert said.startswith("--effort high changes nothing with weights in ")
    assert not [text for text in silent.warnings if "effort" in text]


@pytest.mark.parametrize(
    ("format", "can_have_effort"),
    [("int8 --formats int8", True), ("int4 --activations float32", False), ("bf16", False)],
)
def test_a_gate_recommends_effort_where_it_changes_anything(
    format: str,
    can_have_effort: bool,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    save(network(a=(32, 1)), "net.ek")
    np.save("x.npy", DATA)
    words = ["quantize", "net.ek", "--data", "x.npy", "--min-sqnr", "300dB", "--dtype", *format.split()]
    answer = CommandLine(capsys)(*words)
    assert "is the best that was found" in answer.err
    assert ("--effort high may help" in answer.err) is can_have_effort


class Passes(list[dict[str, Array]]):
    """Samples that count how often they are gone through."""

    passes = 0

    def __iter__(self) -> Iterator[dict[str, Array]]:
        self.passes += 1
        return super().__iter__()


def test_the_report_measures_on_what_the_search_ran() -> None:
    samples = Passes({"x": x} for x in DATA)
    graph = network(loud=(32, 3), low=(32, 0.2))
    _, found = groupwise.quantize(graph, samples, Settings(**INT4))
    assert found.mixed is not None
    assert samples.passes == 1
    assert all(np.isfinite(layer.sqnr_db) for layer in found.layers if layer.runs_in != "float32")


def test_a_measure_of_outputs_knows_no_other_values() -> None:
    graph = network(loud=(32, 3))
    every = Measure(graph, [{"x": x} for x in DATA])
    made = groupwise.MatrixRounding(graph, DType.S4, 32).made()
    outputs = every.of_outputs(SearchBudget())
    assert outputs.worst(outputs.trial(made)) == every.worst(every.trial(made))
    assert [values.keys() for values in outputs.trial(made).values] == [{"out"}]
    assert [values.keys() for values in outputs.on(every.samples[:2]).trial(made).values] == [{"out"}]
