"""How long tests take: measured on request, so that long files go first, and --quick has the cheap ones.

`scripts/test --write-times` writes tests/times.toml: the seconds of processor time, children included, that
all cases of a test function take together.
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILE = TESTS / "times.toml"
LAST = "kernels/test_every_file.py"
_LEAST = 0.05  # seconds of a function that is written
_UNKNOWN = 1.0  # seconds of a case whose file was never measured
_HEAD = """\
# Seconds of processor time that all cases of a test function take together, children included; functions of
# less than {least:g} are left out. `scripts/test --write-times` writes it. Files that take longest go first,
# and `--quick` runs cases that tell much and take little.

"""
Times = Mapping[str, Mapping[str, float]]  # by file, below tests, and function
Costs = Mapping[str, float]  # seconds, by case


def times() -> Times:
    """What was measured last."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def place(nodeid: str) -> tuple[str, str]:
    """File, below tests, and function of a test."""
    file, _, function = nodeid.partition("[")[0].partition("::")
    return file.removeprefix("tests/"), function


def order(items: list[pytest.Item], known: Times) -> None:
    """Sort tests by file, those that take longest first, so that processes end at about the same time. A file
    that was never measured may be the longest; one that looks at what others recorded comes last."""

    def rank(item: pytest.Item) -> tuple[bool, bool, float]:
        file, _ = place(item.nodeid)
        return file == LAST, file in known, -sum(known.get(file, {}).values())

    items.sort(key=rank)


def costs(ids: Sequence[str], known: Times) -> Costs:
    """Seconds of each of these cases: those of a function share what was measured of it."""
    cases = Counter(map(place, ids))
    found = {}
    for nodeid in ids:
        file, function = place(nodeid)
        measured = known[file].get(function, _LEAST / 2) if file in known else _UNKNOWN
        found[nodeid] = measured / (cases[file, function] if file in known else 1)
    return found


def check_whole_files(config: pytest.Config) -> None:
    """What is written of a file is what ran of it: the rest would be lost."""
    option = config.option
    if option.keyword or option.markexpr or option.quick or any("::" in word for word in config.args):
        raise pytest.UsageError("--write-times measures whole files: leave out -k, -m, --quick and ::")


class Clock:
    """A plugin that measures every test; where processes share the work, each sends what it measured with
    the reports."""

    _NAME = "processor_seconds"

    def __init__(self) -> None:
        self.spent: Counter[tuple[str, str]] = Counter()
        self._start = 0.0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        self._start = _processor_seconds()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.when == "teardown":
            item.user_properties.append((self._NAME, _processor_seconds() - self._start))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.spent[place(report.nodeid)] += dict(report.user_properties).get(self._NAME, 0.0)  # type: ignore[arg-type]  # ours is a number

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            FILE.write_text(text(merged(times() if FILE.exists() else {}, self.spent)), encoding="utf-8")


def _processor_seconds() -> float:
    return sum(os.times()[:4])


def merged(before: Times, spent: Mapping[tuple[str, str], float]) -> Times:
    """Times of the functions that ran, and of those files that did not and are still there."""
    files = {file for file, _ in spent}
    kept = {file: known for file, known in before.items() if file not in files and (TESTS / file).exists()}
    new: dict[str, dict[str, float]] = {}
    for (file, function), seconds in spent.items():
        functions = new.setdefault(file, {})
        if seconds >= _LEAST:
            functions[function] = seconds
    return {**kept, **new}


def text(known: Times) -> str:
    """The file, in an order that does not depend on what was measured."""
    lines = [_HEAD.format(least=_LEAST)]
    for file, functions in sorted(known.items()):
        lines.append(f'["{file}"]\n')
        lines += [f'"{name}" = {seconds:.2g}\n' for name, seconds in sorted(functions.items())]
        lines.append("\n")
    return "".join(lines).rstrip("\n") + "\n"
