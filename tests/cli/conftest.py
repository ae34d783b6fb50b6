"""Every test of the command line works in a folder of its own, where the digits model lies."""

import math
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.command_line import DIGITS, CommandLine

from edgekit import Graph, console, convert, save


@pytest.fixture(scope="session")
def digits_graph() -> Graph:
    return convert(DIGITS / "digits.onnx")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, digits_graph: Graph) -> Path:
    """The working directory: digits.onnx, digits.ek, calib.npz, and x.npz with three images."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(console, "LINES_EVERY", math.inf)  # on a slow machine, too
    shutil.copy(DIGITS / "digits.onnx", tmp_path)
    shutil.copy(DIGITS / "calib.npz", tmp_path)
    save(digits_graph, tmp_path / "digits.ek")
    np.savez(tmp_path / "x.npz", x=images(3))
    return tmp_path


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)


@pytest.fixture
def dynamic(folder: Path) -> Path:
    """A model whose input x has no fixed size: y = x + x."""
    from support.onnx_models import model, node, tensor

    path = folder / "dynamic.onnx"
    onnx.save(model([node("Add", "x x", "y")], inputs=[tensor("x", ["batch", "n"])]), path)
    return path


def images(count: int) -> np.ndarray:
    with np.load(DIGITS / "test.npz") as held_out:
        return held_out["x"][:count]
