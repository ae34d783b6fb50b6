"""Mutated ONNX files convert or are refused with exit code 2, 3 or 4, soon, and leave nothing behind."""

import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import FrameType

import pytest
from support.mutants import models, mutant

from edgekit import api, file
from edgekit.errors import EdgeKitError, Exit

COUNT = 200
SECONDS = 5
MEMORY = 6 << 30
PROCESSES = 2
REFUSALS = (Exit.USAGE, Exit.UNSUPPORTED, Exit.MALFORMED)
# Through the command line, which takes a second to start.
COMMANDS = 6


@pytest.mark.parametrize("name", models())
def test_models_convert_before_they_are_damaged(name: str, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(models()[name])
    assert api.convert(tmp_path / "net.onnx").nodes


def test_mutants_convert_or_are_refused() -> None:
    with ProcessPoolExecutor(PROCESSES, get_context("fork"), prepare) as pool:
        outcomes = list(pool.map(outcome, range(COUNT), chunksize=10))
    faults = [text for _, text in outcomes if text]
    assert not faults, "\n\n".join(faults)
    refused = sum(code != Exit.OK for code, _ in outcomes)
    assert COUNT / 2 < refused < COUNT, "the damage is neither harmless nor total"


def prepare() -> None:
    """What a mutant may take: a limit turns into an error that the test sees."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, too_slow)


def too_slow(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def outcome(seed: int) -> tuple[Exit, str]:
    """The exit code that a mutant leads to, and what is wrong with that."""
    how, raw = mutant(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, result = Path(folder, "net.onnx"), Path(folder, "net.ek")
        path.write_bytes(raw)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            graph = api.convert(path)
            file.save(graph, result)
            same = file.load(result) == graph
        except EdgeKitError as error:
            ours = isinstance(error.__cause__, AssertionError | TimeoutError | MemoryError)
            left = [p.name for p in Path(folder).iterdir() if p != path]
            good = error.exit_code in REFUSALS and not ours and not left
            return error.exit_code, "" if good else f"{how}: {error} {left}\n{traceback.format_exc()}"
        except Exception:
            return Exit.BUG, f"{how}\n{traceback.format_exc()}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return Exit.OK, "" if same else f"{how}: the file holds another graph"


@pytest.mark.parametrize("seed", range(COMMANDS))
def test_the_command_line_refuses_as_well(seed: int, tmp_path: Path) -> None:
    _, raw = mutant(seed)
    (tmp_path / "net.onnx").write_bytes(raw)
    expected, _ = outcome(seed)
    command = [sys.executable, "-m", "edgekit", "convert", "net.onnx", "-o", "net.ek"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == expected, done.stderr
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.ek", "net.onnx"][expected != Exit.OK :]
