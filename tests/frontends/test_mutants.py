"""Damaged model files of every format are read or refused with exit code 2, 3 or 4, and soon."""

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from support import random_cases
from support.file_mutants import Verdict, formats, judge, limit_memory, prepare
from support.tools import ROOT
from support.wire_damage import parsed, written

COUNT = 100  # of each format; benchmarks/reliability/file_mutants.py takes a million
PROCESSES = 2


@pytest.mark.parametrize("first", random_cases.fresh(COUNT))
@pytest.mark.parametrize("format", formats())
def test_mutants_are_read_or_refused(format: str, first: int) -> None:
    prepare(format)
    jobs = [(format, first + i) for i in range(COUNT)]
    with ProcessPoolExecutor(PROCESSES, get_context("fork"), limit_memory) as pool:
        verdicts = list(pool.map(verdict, jobs, chunksize=20))
    faults = [one.fault for one in verdicts if one.fault]
    assert not faults, "\n\n".join(faults)
    refused = sum(bool(one.code) for one in verdicts)
    # Of folders of transformers nine of ten are refused, of others 55 to 90 %: seeds come from commits.
    assert COUNT / 4 < refused < COUNT, "the damage is neither harmless nor total"


def verdict(job: tuple[str, int]) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        return judge(*job, Path(folder))


def test_messages_are_taken_apart_and_put_together() -> None:
    content = (ROOT / "examples/digits/digits.onnx").read_bytes()
    fields = parsed(content)
    assert fields is not None
    assert len(fields) > 3
    assert written(fields) == content
    assert parsed(content[:-1]) is None


def test_memory_and_time_are_limited(tmp_path: Path) -> None:
    """Of a process of its own: a limit of memory cannot be taken back."""
    script = tmp_path / "greedy.py"
    script.write_text(GREEDY)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["MemoryError", "TimeoutError"], done.stderr


GREEDY = """
from support import file_mutants

file_mutants.limit_memory()
file_mutants.SECONDS = 0.2
for greed in ("bytes(file_mutants.MEMORY + (64 << 20))", "while True: pass"):
    try:
        with file_mutants.limited():
            exec(greed)
    except (MemoryError, TimeoutError) as error:
        print(type(error).__name__)
"""
