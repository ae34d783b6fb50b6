"""How long all tests took, with and without what compilers made in a run before.

`scripts/test --write-times` writes it to tests/whole_runs.toml, and scripts/readme.py to README.md.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

import pytest

from edgekit.codegen.execution import processor

FILE = Path(__file__).parents[1] / "whole_runs.toml"
Kind = Literal["cold", "warm"]
_HEAD = """\
# How long `scripts/test` took, without downloads: cold, with nothing that compilers made before, and warm.
# `scripts/test --write-times` writes it, and scripts/readme.py what README.md and CONTRIBUTING.md say of it.
"""


@dataclass(frozen=True)
class WholeRun:
    minutes: int
    tests: int
    cores: int
    processor: str
    target: str  # the best one whose programs run natively

    def __str__(self) -> str:
        return f"{self.cores} cores of {self.processor} ({self.target})"


def runs() -> Mapping[Kind, WholeRun]:
    """What was measured last."""
    written = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {kind: WholeRun(**written[kind]) for kind in get_args(Kind) if kind in written}


def sentences(known: Mapping[Kind, WholeRun]) -> str:
    """What a newcomer should know of it."""
    cold, warm = known["cold"], known["warm"]
    elsewhere = f" on {warm}" if str(warm) != str(cold) else ""
    return (
        f"The first run of all {cold.tests:,} tests takes {cold.minutes} minutes on {cold},\n"
        f"downloads not counted. A later one takes {warm.minutes} minutes{elsewhere}:\n"
        "what compilers made is kept.\n"
    )


def text(known: Mapping[Kind, WholeRun]) -> str:
    lines = [_HEAD]
    for kind, run in known.items():
        lines.append(f"\n[{kind}]\n")
        lines += [f"{key} = {json.dumps(value)}\n" for key, value in asdict(run).items()]
    return "".join(lines)


def processor_name() -> str:
    """As Linux says it, or the architecture."""
    try:
        found = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return re.sub(r"\((R|TM)\)|\s+(?=\s)", "", found[1]).strip() if found else platform.machine()


class Stopwatch:
    """The plugin that measures a whole run, in the process that shows results."""

    def __init__(self, kind: Kind, start: float) -> None:
        self._kind: Kind = kind
        self._start = start
        self._tests: set[str] = set()
        self._ran: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._tests |= {item.nodeid for item in session.items}

    @pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which may be absent
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._tests |= set(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self._ran.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        if self._tests and self._tests <= self._ran:  # Ctrl-C leaves some
            minutes = max(1, round((time.monotonic() - self._start) / 60))
            cores = os.cpu_count() or 1
            run = WholeRun(minutes, len(self._tests), cores, processor_name(), processor.native().name)
            FILE.write_text(text({**(runs() if FILE.exists() else {}), self._kind: run}), encoding="utf-8")


def is_whole(config: pytest.Config) -> bool:
    """Is every test to run, and none named?"""
    return config.args_source is not pytest.Config.ArgsSource.ARGS
