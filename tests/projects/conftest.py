"""Command lines, in a folder with a model."""

import shutil
from pathlib import Path

import pytest
from support.command_line import DIGITS, CommandLine


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    shutil.copy(DIGITS / "digits.onnx", tmp_path)
    return CommandLine(capsys)
