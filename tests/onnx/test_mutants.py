"""The command line refuses damaged ONNX files with the exit code of the library, and leaves nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.mutants import models, mutant

from edgekit import api
from edgekit.core.errors import EdgeKitError, Exit

# Through the command line, which takes a second to start; many more are read in tests/frontends.
COMMANDS = 6


@pytest.mark.parametrize("name", models())
def test_models_convert_before_they_are_damaged(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(models()[name])
    assert api.convert(tmp_path / "net.onnx").nodes


@pytest.mark.parametrize("seed", range(COMMANDS))
def test_the_command_line_refuses_as_well(seed: int, tmp_path: Path) -> None:
    _, raw = mutant(seed)
    (tmp_path / "net.onnx").write_bytes(raw)
    expected = exit_code(tmp_path / "net.onnx")
    command = [sys.executable, "-m", "edgekit", "convert", "net.onnx", "-o", "net.ek"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == expected, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.ek", "net.onnx"][expected != Exit.OK :]


def exit_code(path: Path) -> Exit:
    """What the library makes of the file."""
    try:
        api.convert(path)
    except EdgeKitError as error:
        return error.exit_code
    return Exit.OK
