"""Gates and mixed precision: what int8 alone does not reach is reached with the fewest better layers."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.tools import require

from edgekit import api
from edgekit.codegen.compilation.build import run
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType, Type
from edgekit.quantize.calibration.calibration_samples import held_out
from edgekit.quantize.gate import change
from edgekit.quantize.settings import LEAST_SQNR

SIZE, CLASSES = 24, 5
RANDOM = np.random.default_rng(7)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(capsys)


def network(fragile: bool = True) -> Graph:
    """Five dense layers. The inputs of the second differ in size by far: in int8 the small ones are lost, and
    only they matter."""
    b = Builder()
    random = np.random.default_rng(3)
    name = b.input("x", Type(DType.F32, (1, SIZE)))
    first = random.normal(size=(SIZE, SIZE)) / 5
    second = random.normal(size=(SIZE, SIZE)) / 5
    if fragile:
        first[0] *= 60
        second[:, 0] = 0
    others = [random.normal(size=(SIZE, SIZE)) / 5 for _ in range(2)]
    last = random.normal(size=(CLASSES, SIZE))
    for weights, low in zip((first, second, *others, last), (0.0,) * 4 + (-np.inf,), strict=True):
        w, bias = (b.const(a.astype(np.float32)) for a in (weights, random.normal(size=len(weights)) / 9))
        high = 1e6 if low == 0 else np.inf  # or channels would be equalized, which cures it
        name = b.one(Dense(low, high), name, w, bias, name=f"layer_{len(b.nodes)}")
    return b.graph("network", ["x"], [name])


def samples(count: int = 160) -> Array:
    return RANDOM.normal(size=(count, 1, SIZE)).astype(np.float32)


def classes(graph: Graph, x: Array) -> Array:
    """What the float network says of each sample: its accuracy is 1."""
    (output,) = graph.outputs
    return np.array([simulate.run(graph, {"x": one})[output].argmax() for one in x])


def formats(found: api.Quantization) -> list[str]:
    return [layer.runs_in for layer in found.layers]


def test_a_gate_that_int8_passes_leaves_all_in_int8() -> None:
    made, found = api.quantize_model(network(fragile=False), samples(), gate=api.Gate(min_sqnr=20))
    assert found.verdict.passed
    assert formats(found) == ["int8"] * 5
    assert all(layer.sensitivity_db is None for layer in found.layers)
    assert made.inputs == ("x",)


def test_the_fragile_layer_gets_the_better_format() -> None:
    """The result of the first layer holds what int8 loses."""
    x = samples()
    _, plain = api.quantize_model(network(), x, strict_int8=True)
    made, found = api.quantize_model(network(), x, gate=api.Gate(min_sqnr=plain.sqnr_db + 8))
    assert found.verdict.passed
    assert found.sqnr_db >= plain.sqnr_db + 8
    assert "int8" in formats(found)
    assert formats(found)[0] != "int8"
    gains = [layer.sensitivity_db or 0.0 for layer in found.layers]
    assert max(gains[:2]) > max(gains[2:]) + 3
    require("gcc")
    one = {"x": x[0]}
    (y,) = made.outputs
    assert np.allclose(run(made, targets.load("host"), [one])[0][y], simulate.run(made, one)[y], rtol=1e-5)


def test_accuracy_is_that_on_held_out_samples_and_a_drop_of_nothing_can_be_asked_for() -> None:
    graph, x = network(), samples()
    gate = api.Gate(max_drop=0.0, labels=classes(graph, x))
    _, found = api.quantize_model(graph, x, gate=gate)
    assert found.verdict.passed
    assert found.verdict.accuracy_before == 1.0
    assert found.verdict.accuracy == 1.0


def test_formats_limit_what_layers_may_become() -> None:
    x = samples(40)
    made, found = api.quantize_model(network(), x, gate=api.Gate(min_sqnr=150), formats=("int8", "int16"))
    assert not found.verdict.passed
    assert set(formats(found)) <= {"int8", "int16"}
    assert "150" in found.verdict.text
    assert made.nodes
    _, all_of_them = api.quantize_model(network(), x, gate=api.Gate(min_sqnr=150))
    assert all_of_them.verdict.passed  # in floats nothing differs
    assert set(formats(all_of_them)) == {"float32"}


def test_the_best_that_was_found_is_written_and_the_exit_code_is_1(cli: CommandLine, tmp_path: Path) -> None:
    api.save(network(), tmp_path / "net.ek")
    np.savez(tmp_path / "x.npz", x=samples(40))
    options = ["--data", "x.npz", "--min-sqnr", "150dB", "--formats", "int16", "-o", "out.ek", "--json"]
    done = cli("quantize", "net.ek", *options)
    assert done.code == Exit.GATE
    assert "E0603" in done.err
    assert "150 dB" in done.err
    assert (tmp_path / "out.ek").is_file()
    assert done.json["quantization"]["verdict"]["passed"] is False


def test_labels_from_a_file(cli: CommandLine, tmp_path: Path) -> None:
    graph, x = network(fragile=False), samples(60)
    api.save(graph, tmp_path / "net.ek")
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "y.npy", np.eye(CLASSES)[classes(graph, x)])  # rows with a one
    options = ["--data", "x.npz", "--labels", "y.npy", "--max-drop", "10%"]
    done = cli("quantize", "net.ek", *options)
    assert done.code == Exit.OK
    assert "accuracy" in done.out
    assert "10.00% is allowed" in done.out


def test_labels_without_a_gate_measure_accuracy_and_layers_get_better_formats_all_the_same() -> None:
    """The first layer loses what matters in int8, which labels do not change."""
    graph, x = network(), samples()
    _, plain = api.quantize_model(graph, x, strict_int8=True)
    assert plain.sqnr_db < LEAST_SQNR
    made, found = api.quantize_model(graph, x)
    labelled, report = api.quantize_model(graph, x, gate=api.Gate(labels=classes(graph, x)))
    assert set(formats(found)) != {"int8"}
    assert formats(report) == formats(found)
    assert [labelled.type(name) for name in labelled.outputs] == [made.type(name) for name in made.outputs]
    assert report.sqnr_db == found.sqnr_db
    assert report.verdict.accuracy_before == 1.0
    assert report.verdict.judged == len(list(filter(None, islice(held_out(), len(x)))))


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_labels_of_16_bit_floats_are_those_of_all_samples(dtype: str) -> None:
    graph, x = network(), samples(60)
    _, found = api.quantize_model(graph, x, dtype=dtype, gate=api.Gate(labels=classes(graph, x)))
    assert found.verdict.judged == 60
    assert found.verdict.accuracy_before == 1.0
    with pytest.raises(EdgeKitError, match="59 labels for 60"):
        api.quantize_model(graph, x, dtype=dtype, gate=api.Gate(labels=classes(graph, x)[:59]))
    with pytest.raises(EdgeKitError, match="60 labels for 0"):
        api.quantize_model(graph, None, dtype=dtype, gate=api.Gate(labels=classes(graph, x)))


def test_the_accuracy_of_the_float_model_comes_first(cli: CommandLine, tmp_path: Path) -> None:
    """Before anything is calibrated, and of all the data."""
    graph, x = network(fragile=False), samples(60)
    api.save(graph, tmp_path / "net.ek")
    labels = classes(graph, x)
    labels[:15] = (labels[:15] + 1) % CLASSES
    np.save(tmp_path / "y.npy", labels)
    np.savez(tmp_path / "x.npz", x=x)
    options = ["--data", "x.npz", "--labels", "y.npy"]
    done = cli("quantize", "net.ek", *options, "--calibrate", "minmax")
    assert done.err.splitlines()[0] == "the float model has 75.0% on all samples"
    (row,) = (line for line in done.out.splitlines() if line.startswith("accuracy"))
    held = labels[list(islice(held_out(), 60))] == classes(graph, x)[list(islice(held_out(), 60))]
    assert 0 < held.mean() != 0.75
    assert row.endswith(f"float {held.mean():.2%}, on {held.size} samples held out")
    x[0] = np.nan  # which calibration refuses
    np.savez(tmp_path / "x.npz", x=x)
    done = cli("quantize", "net.ek", *options)
    assert "E0408" in done.err
    assert done.err.splitlines()[0] == "the float model has 75.0% on all samples"
    with pytest.raises(EdgeKitError, match="59 labels for 60"):
        api.float_accuracy(graph, samples(60), labels[:59])


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros(59, np.int64), "59 labels for 60"),
        (np.full(60, 0.5), "no labels"),
        (np.zeros((60, 2, 3)), "no labels"),
        (np.full(60, np.nan), "no labels"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path: Path, labels: Array, words: str) -> None:
    np.save(tmp_path / "y.npy", labels)
    with pytest.raises(EdgeKitError, match=words):
        api.quantize_model(
            network(), samples(60), gate=api.Gate(max_drop=0.1, labels=api.read_labels(tmp_path / "y.npy"))
        )


def test_a_drop_without_labels_and_senseless_limits_are_refused(cli: CommandLine, tmp_path: Path) -> None:
    api.save(network(), tmp_path / "net.ek")
    np.savez(tmp_path / "x.npz", x=samples(8))
    for options, words in (
        (["--max-drop", "1%"], "needs labels"),
        (["--max-drop", "much"], "not a number"),
        (["--max-drop", "120%"], "not a share"),
        (["--min-sqnr", "nan"], "not a number"),
        (["--formats", "int9"], "unknown format of layers"),
        (["--activations", "bf16"], "unknown activations with int8"),
    ):
        done = cli("quantize", "net.ek", "--data", "x.npz", *options)
        assert done.code == Exit.USAGE, options
        assert words in done.err
        assert not (tmp_path / "net_int8.ek").exists()


def test_activations_of_16_bits_lose_less() -> None:
    x = samples()
    _, narrow = api.quantize_model(network(), x, strict_int8=True)
    _, wide = api.quantize_model(network(), x, activations="int16")
    assert formats(wide) == ["int16"] * 5
    assert wide.sqnr_db > narrow.sqnr_db + 3


def two_outputs() -> Graph:
    """What int8 loses, beside what it keeps at so many dB that their mean would pass any gate."""
    hard, b = network(), Builder()
    names = {"x": b.input("x", hard.type("x"))}
    for node in hard.nodes:
        operands = [names.get(n) or b.const(hard.data(n)) for n in node.inputs]  # type: ignore[arg-type]  # a constant
        names[node.outputs[0]] = b.one(node.op, *operands, name=f"hard_{node.outputs[0]}")
    easy = b.one(
        Dense(), names["x"], b.const(np.eye(SIZE, dtype=np.float32)), b.const(np.zeros(SIZE, np.float32))
    )
    return b.graph("two", ["x"], [easy, names[hard.outputs[0]]])


def test_the_worst_output_is_judged_and_named() -> None:
    """Their mean passes, and it alone does not."""
    graph, x = two_outputs(), samples()
    _, plain = api.quantize_model(graph, {"x": x}, strict_int8=True)
    easy, hard = plain.outputs.values()
    assert easy > hard + 10
    assert plain.sqnr_db == hard
    wanted = (easy + hard) / 2 - 1
    _, found = api.quantize_model(graph, {"x": x}, gate=api.Gate(min_sqnr=wanted))
    assert min(found.outputs.values()) >= wanted
    assert found.verdict.passed
    assert found.verdict.text.startswith("output ")
    int8 = api.Settings(formats=("int8",))
    _, missed = api.quantize_model(graph, {"x": x}, int8, gate=api.Gate(min_sqnr=wanted))
    assert not missed.verdict.passed
    assert f"output {graph.outputs[1]} has {hard:.1f} dB, at least" in missed.verdict.text


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [(0.98, 0.97, "1.00% worse"), (0.97, 0.9778, "0.78% better"), (0.97, 0.97, "no change")],
)
def test_a_gain_of_accuracy_is_no_negative_drop(before: float, after: float, words: str) -> None:
    assert change(before, after) == words
