"""What was measured of tests decides their order, and is written as it was read; so is a whole run."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support import times, whole_runs
from support.tools import ROOT

KNOWN = {"a/test_long.py": {"test_one": 9.0, "test_two": 0.2}, "test_short.py": {"test_all": 1.0}}
CONFTEST = """\
from pathlib import Path

from support import times, whole_runs

times.TESTS = Path(__file__).parent
times.FILE = times.TESTS / "times.toml"

def pytest_configure(config):
    config.pluginmanager.register(times.Clock())
"""
TEST = """\
import subprocess
import sys

import pytest

BUSY = "import time\\nwhile time.process_time() < 0.25: pass  # ticks of 10 ms count less"

@pytest.mark.parametrize("way", range(2))
def test_in_a_child(way):
    subprocess.run([sys.executable, "-c", BUSY])

def test_nothing():
    pass
"""


def test_a_test_is_known_by_its_file_and_function() -> None:
    assert times.place("tests/a/test_long.py::test_one[tests/b::c]") == ("a/test_long.py", "test_one")


def test_cases_share_what_was_measured_of_their_function() -> None:
    ids = [f"tests/a/test_long.py::test_one[{i}]" for i in range(3)]
    ids += [
        "tests/test_short.py::test_new",
        "tests/test_new.py::test_all[0]",
        "tests/test_new.py::test_all[1]",
    ]
    assert [*times.costs(ids, KNOWN).values()] == [3.0, 3.0, 3.0, 0.025, 1.0, 1.0]


@dataclass(frozen=True)
class Named:
    nodeid: str


def test_long_files_go_first_and_new_ones_may_be_long() -> None:
    last = f"{times.LAST}::test_all"
    names = [last, "test_short.py::test_all", "a/test_long.py::test_one", "test_new.py::test_all"]
    items: list[Any] = [Named(f"tests/{name}") for name in names]
    times.order(items, KNOWN)
    assert [item.nodeid.removeprefix("tests/") for item in items] == names[::-1]


def test_only_files_that_ran_are_measured_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(times, "TESTS", tmp_path)
    for file in ("test_short.py", "b/test_new.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    spent = {("b/test_new.py", "test_one"): 3.0, ("b/test_new.py", "test_two"): 0.01}
    kept = times.merged(KNOWN, spent)
    assert kept == {"test_short.py": {"test_all": 1.0}, "b/test_new.py": {"test_one": 3.0}}
    again = times.merged(kept, {("test_short.py", "test_all"): 0.0})
    assert again == {"test_short.py": {}, "b/test_new.py": {"test_one": 3.0}}


def test_what_is_written_is_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(times, "FILE", tmp_path / "times.toml")
    times.FILE.write_text(times.text(KNOWN))
    assert times.times() == KNOWN
    assert times.text(times.times()) == times.FILE.read_text()


@pytest.mark.parametrize("processes", ["0", "2"])
def test_processor_time_is_measured_with_that_of_children(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, processes: str
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_made.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-n", processes]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    monkeypatch.setattr(times, "FILE", tmp_path / "times.toml")
    measured = times.times()["test_made.py"]
    assert list(measured) == ["test_in_a_child"]
    assert measured["test_in_a_child"] >= 0.4


@pytest.mark.parametrize("words", [["-k", "one"], ["-m", "slow"], ["tests/test_times.py::test_one"]])
def test_parts_of_files_are_not_measured(words: list[str]) -> None:
    """Their other functions would be lost."""
    config = pytest.Config.fromdictargs({"quick": False}, words)
    with pytest.raises(pytest.UsageError, match="whole files"):
        times.check_whole_files(config)
    times.check_whole_files(pytest.Config.fromdictargs({"quick": False}, ["tests/test_times.py"]))


WHOLE = {
    "cold": whole_runs.WholeRun(38, 1234, 2, "Some Processor", "x86-64-avx2"),
    "warm": whole_runs.WholeRun(19, 1240, 2, "Some Processor", "x86-64-avx2"),
}
STOPWATCH = """\
import time
from pathlib import Path

from support import whole_runs

whole_runs.FILE = Path(__file__).parent / "whole_runs.toml"

def pytest_configure(config):
    if whole_runs.is_whole(config) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(whole_runs.Stopwatch("cold", time.monotonic() - 1800))
"""
TWO_TESTS = """\
def test_one():
    pass

def test_two():
    {}
"""


def test_whole_runs_are_read_as_they_were_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(whole_runs, "FILE", tmp_path / "whole_runs.toml")
    whole_runs.FILE.write_text(whole_runs.text(WHOLE))
    assert whole_runs.runs() == WHOLE
    said = whole_runs.sentences(WHOLE)
    assert "all 1,234 tests takes 38 minutes on 2 cores of Some Processor (x86-64-avx2)," in said
    assert "one takes 19 minutes:" in said
    elsewhere = WHOLE | {"warm": whole_runs.WholeRun(9, 1240, 8, "Another", "aarch64")}
    assert "one takes 9 minutes on 8 cores of Another (aarch64):" in whole_runs.sentences(elsewhere)


@pytest.mark.parametrize(
    ("last", "arguments", "is_written"),
    [
        ("pass", [], True),
        ("pass", ["-n", "2"], True),
        ("assert False", [], True),  # it took as long
        ("raise KeyboardInterrupt", [], False),
        ("pass", ["test_made.py"], False),
    ],
)
def test_runs_of_all_tests_are_timed(
    last: str, arguments: list[str], is_written: bool, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(STOPWATCH)
    (tmp_path / "test_made.py").write_text(TWO_TESTS.format(last))
    before = whole_runs.text({"warm": WHOLE["warm"]})
    (tmp_path / "whole_runs.toml").write_text(before)
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT / "tests")})
    written = (tmp_path / "whole_runs.toml").read_text()
    if is_written:
        assert "[cold]\nminutes = 30\ntests = 2\n" in written
        assert "[warm]\nminutes = 19\n" in written
    else:
        assert written == before
