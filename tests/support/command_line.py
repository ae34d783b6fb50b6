"""Command lines in tests: in this process, which is fast, or as the installed program, which is the truth."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.tools import ROOT

from edgekit import cli

DIGITS = ROOT / "examples" / "digits"


@dataclass(frozen=True)
class Answer:
    """What a command line gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The result as JSON, which is all of stdout."""
        content = json.loads(self.out)
        assert content["version"] == 1
        return content


class CommandLine:
    """Runs command lines in this process; the working directory is that of the test."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self.capture = capture

    def __call__(self, *words: object) -> Answer:
        self.capture.readouterr()
        code = cli.execute([str(word) for word in words])
        said = self.capture.readouterr()
        return Answer(code, said.out, said.err)

    def ok(self, *words: object) -> Answer:
        """The answer to a line that must succeed."""
        answer = self(*words)
        assert answer.code == 0, answer.err
        return answer


def command(*words: str) -> Sequence[str]:
    """The command line as its own process runs it."""
    return [sys.executable, "-m", "edgekit", *words]


def program(*words: str, folder: Path, **environment: str) -> Answer:
    """The command line in a process of its own."""
    done = subprocess.run(
        command(*words), cwd=folder, capture_output=True, text=True, env=os.environ | environment, timeout=120
    )
    return Answer(done.returncode, done.stdout, done.stderr)
