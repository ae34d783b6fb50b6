"""The digits model with few samples, and searches for it that are short."""

from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS, CommandLine

from edgekit import convert
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.samples import arrays
from edgekit.tuning.problem import TuningProblem
from edgekit.tuning.tune import problem

SAMPLES = 24


@pytest.fixture(scope="session")
def digits() -> Graph:
    return convert(DIGITS / "digits.onnx")


@pytest.fixture
def small(digits: Graph) -> TuningProblem:
    """Built for this machine, so that no emulator is needed."""
    with np.load(DIGITS / "test.npz") as file:
        samples = arrays.samples(digits, {"x": file["x"][:8]})
    return problem(digits, samples, None, target.load("host"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with x.npy and its labels y.npy."""
    monkeypatch.chdir(tmp_path)
    with np.load(DIGITS / "test.npz") as file:
        np.save("x.npy", file["x"][:SAMPLES])
        np.save("y.npy", file["label"][:SAMPLES])
    return tmp_path


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)
