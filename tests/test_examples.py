"""The examples as their READMEs tell it: built, compiled with their program, run; and their accuracy."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.tools import ROOT, require

from edgekit.api import quantize_model
from edgekit.codegen.compilation.build import build, run
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate, target
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from examples.keywords import speech

EXAMPLES = ROOT / "examples"
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")


def model(name: str) -> Graph:
    return simplify(convert(EXAMPLES / name / f"{name}.onnx"))


def program_lines(name: str, folder: Path, flags: Sequence[str] = ()) -> list[str]:
    """What the example's main.c prints, linked with the library built for it."""
    gcc = require("gcc")
    build(model(name), target.load("host"), folder / "out")
    sources = sorted(str(p) for p in folder.glob("out/**/*.c"))
    example = EXAMPLES / name
    command = [gcc, *STRICT, *flags, f"-I{folder}/out", f"-I{example}", f"{example}/main.c", *sources]
    subprocess.run([*command, "-o", folder / "main"], check=True)
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout.splitlines()


def test_digits_reads_its_samples(tmp_path: Path) -> None:
    lines = program_lines("digits", tmp_path)
    assert [re.findall(r"\d+", line)[:2] for line in lines] == [[str(i), str(i)] for i in range(10)]


def test_keywords_hears_its_samples(tmp_path: Path) -> None:
    words = re.search(r"words\[\w*\] = \{(.*?)\}", (EXAMPLES / "keywords/samples.h").read_text(), re.DOTALL)
    assert words
    expected = re.findall(r'"(\w+)"', words[1])
    heard = [line.split(": ")[1].split(",")[0] for line in program_lines("keywords", tmp_path)]
    assert sum(a == b for a, b in zip(heard, expected, strict=True)) >= len(expected) - 1


def test_anomaly_tells_faulty_from_healthy(tmp_path: Path) -> None:
    verdicts = {line.split(": ")[1].split(",")[0] for line in program_lines("anomaly", tmp_path)}
    assert verdicts == {"faulty", "healthy"}


@pytest.mark.parametrize("name", ["digits", "keywords", "anomaly"])
def test_sanitizers_have_nothing_to_say(name: str, tmp_path: Path) -> None:
    program_lines(name, tmp_path, ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"])


def accuracy(name: str, samples: int) -> float:
    graph = model(name)
    data = np.load(EXAMPLES / name / "test.npz")
    type = graph.type(graph.inputs[0])
    right = 0
    for x, label in zip(data["x"][:samples], data["label"][:samples], strict=True):
        y: Array = simulate.run(graph, {"x": x.reshape(type.shape).astype(type.dtype.numpy)})["y"]
        right += int(y.argmax()) == int(label)
    return right / min(samples, len(data["label"]))


@pytest.mark.parametrize(("name", "least"), [("digits", 0.99), ("keywords", 0.96)])
def test_accuracy_is_what_the_readme_says(name: str, least: float) -> None:
    assert accuracy(name, 330) >= least


def outputs(graph: Graph, x: Array) -> Array:
    """What compiled code makes of every sample."""
    (name,), (result,) = graph.inputs, graph.outputs
    shape = graph.type(name).shape
    samples = [{name: np.ascontiguousarray(one.reshape(shape), np.float32)} for one in x]
    return np.stack([y[result].reshape(-1) for y in run(graph, target.load("host"), samples)])


def labelled(name: str) -> dict[str, Array]:
    """Of the keywords all that were held out: one of the 330 in the file alone is 0.3 points."""
    data = dict(np.load(EXAMPLES / name / "test.npz"))
    if name == "keywords":
        recorded, label = speech.recordings(*speech.HELD_OUT)
        x = speech.as_input(recorded)
        assert np.abs(x[: len(data["x"])] - data["x"]).max() <= 1 / speech.SCALE  # sines of other machines
        data = {"x": x, "label": label}
    return data


@pytest.fixture(scope="module", params=["digits", "keywords", "anomaly"])
def held_out(request: pytest.FixtureRequest) -> tuple[str, dict[str, Array], dict[str, Array]]:
    """An example, its test data, and what its float and its int8 code make of them."""
    require("cc")
    name = str(request.param)
    data = labelled(name)
    made, _ = quantize_model(model(name), EXAMPLES / name / "calib.npz")
    return name, data, {kind: outputs(g, data["x"]) for kind, g in (("float", model(name)), ("int8", made))}


def test_int8_is_as_good_as_float(held_out: tuple[str, dict[str, Array], dict[str, Array]]) -> None:
    """Within 0.3 points: of accuracy, or of the area under the curve where the error of an autoencoder tells
    faulty from healthy."""
    name, data, found = held_out
    label = data["label"]
    if name == "anomaly":
        errors = {kind: np.square(y - data["x"]).mean(axis=1) for kind, y in found.items()}
        score = {kind: area_under_curve(label, error) for kind, error in errors.items()}
    else:
        score = {kind: float((y.argmax(axis=1) == label).mean()) for kind, y in found.items()}
    assert score["float"] > 0.9
    assert score["int8"] >= score["float"] - 0.003


def area_under_curve(label: Array, score: Array) -> float:
    """How often a positive scores higher than a negative."""
    above = score[label == 1][:, None] - score[label == 0][None]
    return float((above > 0).mean() + (above == 0).mean() / 2)
