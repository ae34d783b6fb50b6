"""Says how much of a run is left, by tests/times.toml and what this machine took so far."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from support import times

_EVERY = 30.0  # seconds


def in_words(share: float, seconds: float) -> str:
    """What is done of all, after so many seconds, and what is left at the same speed."""
    left = seconds * (1 - share) / share
    return f"{share:.0%} of the work after {_span(seconds)}, about {_span(left)} left"


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class TimeLeft:
    """The plugin that does so twice a minute, in the process that shows results."""

    def __init__(self, config: pytest.Config, known: times.Times) -> None:
        self._config, self._known = config, known
        self._costs: times.Costs = {}
        self._done, self._count = 0.0, 0
        self._left_out: set[str] = set()
        self._start = self._said = time.monotonic()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._begin([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which may be absent
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._begin(ids)

    def _begin(self, ids: Sequence[str]) -> None:
        if not self._costs:  # all processes find the same tests
            self._costs = times.costs(ids, self._known)
            self._start = self._said = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:  # in no time, and is no part of the work
            self._left_out.add(report.nodeid)
        if report.when != "teardown":
            return
        self._count += 1
        if report.nodeid not in self._left_out:
            self._done += self._costs.get(report.nodeid, 0.0)
        now = time.monotonic()
        if now - self._said < _EVERY or not self._done:
            return
        self._said = now
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        reporter.ensure_newline()
        work = sum(cost for test, cost in self._costs.items() if test not in self._left_out)
        reporter.write_line(in_words(self._done / work, now - self._start))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._count < len(self._costs):
            terminalreporter.write_line(f"{self._count} of {len(self._costs)} cases ran in this time")
