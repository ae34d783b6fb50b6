"""Damaged exports of every format convert or are refused with exit code 2, 3 or 4, and soon."""

import resource
import shutil
import signal
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from types import FrameType

import pytest
from support.damage import damaged
from support.exports import Export, exports

from edgekit.converters import read
from edgekit.errors import EdgeKitError, Exit
from edgekit.passes.simplify import simplify

COUNT = 200
SECONDS = 5
MEMORY = 6 << 30
REFUSALS = (Exit.USAGE, Exit.UNSUPPORTED, Exit.MALFORMED)
TESTED_ELSEWHERE = {"ONNX", "TFLite"}  # with models of far more operators
FORMATS = sorted({e.format for e in exports()} - TESTED_ELSEWHERE)


@pytest.mark.parametrize("format", FORMATS)
def test_mutants_convert_or_are_refused(format: str) -> None:
    jobs = [(format, seed) for seed in range(COUNT)]
    with ProcessPoolExecutor(2, get_context("fork"), prepare) as pool:
        outcomes = list(pool.map(outcome, jobs, chunksize=10))
    faults = [text for _, text in outcomes if text]
    assert not faults, "\n\n".join(faults)
    refused = sum(code != Exit.OK for code, _ in outcomes)
    assert COUNT / 4 < refused < COUNT, "the damage is neither harmless nor total"


def prepare() -> None:
    """What a mutant may take: a limit turns into an error that the test sees."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, too_slow)


def too_slow(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def outcome(job: tuple[str, int]) -> tuple[Exit, str]:
    """The exit code that a mutant leads to, and what is wrong with that."""
    format, seed = job
    rng = Random(seed)
    export = rng.choice([e for e in exports() if e.format == format])
    with tempfile.TemporaryDirectory() as folder:
        shapes = export.shapes
        how = f"{seed}: {break_one(export, Path(folder), rng)} of {export.name}"
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            simplify(read.read(Path(folder, export.path.name), shapes=shapes))
        except EdgeKitError as error:
            ours = isinstance(error.__cause__, AssertionError | TimeoutError | MemoryError)
            good = error.exit_code in REFUSALS and not ours and error.message
            return error.exit_code, "" if good else f"{how}: {error}\n{traceback.format_exc()}"
        except Exception:
            return Exit.BUG, f"{how}\n{traceback.format_exc()}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return Exit.OK, ""


def break_one(export: Export, folder: Path, rng: Random) -> str:
    """Copy an export and damage one of its files, more often than not the one that is converted."""
    for path in export.files:
        shutil.copy(path, folder)
    chosen = rng.choice([export.path, export.path, *export.files])
    (folder / chosen.name).write_bytes(damaged(chosen.read_bytes(), rng))
    return chosen.name
