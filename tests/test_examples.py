"""The examples as their READMEs tell it: built, compiled with their program, run; and their accuracy."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.tools import ROOT, require

from edgekit import simulate, target
from edgekit.codegen.build import build
from edgekit.converters.from_onnx import convert
from edgekit.ir import Array, Graph
from edgekit.passes.simplify import simplify

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
