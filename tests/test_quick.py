"""`--quick` tells something of everything first and ends in time, and runs say how much of them is left."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import quick, time_left, times
from support.tools import ROOT

KNOWN = {
    "a/test_one.py": {"test_cheap": 0.2, "test_dear": 9.0, "test_targets": 4.0, "test_marked": 5.0},
    "b/test_two.py": {"test_only": 1.5},
    times.LAST: {"test_all": 0.1},
}


@dataclass(frozen=True)
class Case:
    nodeid: str
    params: Mapping[str, Any] = field(default_factory=dict)
    is_marked: bool = False

    @property
    def callspec(self) -> SimpleNamespace:
        return SimpleNamespace(params=self.params)

    def get_closest_marker(self, _: str) -> bool:
        return self.is_marked


CASES: list[Any] = [
    Case("tests/a/test_one.py::test_cheap[0]"),
    Case("tests/a/test_one.py::test_cheap[1]"),
    Case("tests/a/test_one.py::test_dear"),
    Case("tests/a/test_one.py::test_targets[m4-0]", {"name": "m4", "i": 0}),
    Case("tests/a/test_one.py::test_targets[m4-1]", {"name": "m4", "i": 1}),
    Case("tests/a/test_one.py::test_targets[m7-0]", {"name": "m7", "i": 0}),
    Case("tests/a/test_one.py::test_targets[m7-1]", {"name": "m7", "i": 1}),
    Case("tests/a/test_one.py::test_marked", is_marked=True),
    Case("tests/b/test_two.py::test_only"),
    Case("tests/c/test_new.py::test_all"),
    Case(f"tests/{times.LAST}::test_all"),
]


def names(cases: list[Any]) -> list[str]:
    return [case.nodeid.partition("::test_")[2] for case in cases]


def test_something_of_every_folder_and_target_comes_first() -> None:
    found, others = quick.chosen(CASES, KNOWN, ("m4", "m7"), 1)
    assert names(found[:5]) == ["marked", "cheap[0]", "targets[m4-0]", "targets[m7-0]", "only"]
    assert names(found[5:]) == ["cheap[1]", "targets[m4-1]", "targets[m7-1]"]
    assert names(others) == ["dear", "all", "all"]


def test_what_there_is_no_time_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "SECONDS", 4.0)
    assert names(quick.chosen(CASES, KNOWN, (), 2)[0]) == [
        "marked",
        "cheap[0]",
        "only",
        "targets[m4-0]",
        "cheap[1]",
    ]


def test_a_slow_machine_begins_no_test_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.delenv(quick._START, raising=False)
    quick.begin()
    budget = quick.Budget({case.nodeid: 1.0 for case in CASES})
    for _ in range(8):  # each takes ten times as long
        assert budget.pytest_runtest_protocol(CASES[0]) is None
        now[0] += 10
        budget.pytest_runtest_logfinish(CASES[0].nodeid)
    now[0] = 1000 + quick.SECONDS - 11
    assert budget.pytest_runtest_protocol(CASES[0]) is None
    now[0] += 2
    assert budget.pytest_runtest_protocol(CASES[0])


def test_what_is_left_takes_as_long_as_what_was() -> None:
    assert time_left.in_words(0.2, 60) == "20% of the work after 60 s, about 4 min left"


CONFTEST = """\
from support import time_left

time_left._EVERY = 0.2
TIMES = {"test_made.py": {"test_wait": 4, "test_elsewhere": 96}}

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(time_left.TimeLeft(config, TIMES))
"""
TEST = """\
import time

import pytest

@pytest.mark.skip
def test_elsewhere():
    pass

@pytest.mark.parametrize("i", range(40))
def test_wait(i):
    time.sleep(0.1)
    assert i != 3
"""


@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_run_says_what_is_left_and_tells_what_it_found_when_it_is_stopped(
    processes: str, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_made.py").write_text(TEST)
    running = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-n", processes],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # what runs in the background ignores it
    )
    assert running.stdout
    said, shares = "", list[int]()
    for line in running.stdout:
        said += line
        shares += [int(share) for share in re.findall(r"(\d+)% of the work after", line)]
        if shares and shares[-1] >= 20:
            break
    os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C does
    rest, _ = running.communicate(timeout=60)
    assert "about" in said
    assert shares[0] < 20  # what is skipped is no work
    assert "assert 3 != 3" in rest
    assert "1 failed" in rest
    assert "of 41 cases ran in this time" in rest
    assert running.returncode == pytest.ExitCode.INTERRUPTED
