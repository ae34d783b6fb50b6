"""Command lines in a folder of their own."""

from pathlib import Path

import pytest
from support.command_line import CommandLine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(capsys)
