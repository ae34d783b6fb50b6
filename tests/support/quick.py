"""What `--quick` runs in two minutes: a case of every file, and target in a folder, then of every function.

Cheap cases come first, and as many as the cores have time for by tests/times.toml. Each process compares
what its tests took with that table, and begins none that would end too late.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import pytest
from support import times

SECONDS = 95  # after which no test should run; some take longer than they should
_LEAST = 30  # of tests, however long it took to find them
_MOST = 2.0  # of a case, unless it is marked
_MARKED, _NEW, _FUNCTION, _OTHER = range(4)  # ranks
_START = "EDGEKIT_TESTS_START"  # of the first process, for those that it starts; their clock is the same


def begin() -> None:
    os.environ.setdefault(_START, str(time.monotonic()))


def start() -> float:
    return float(os.environ[_START])


def chosen(
    items: Sequence[pytest.Item], known: times.Times, targets: Iterable[str], processors: int
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The cases that tell most, in the order in which they run, and those for which there is no time."""
    costs = times.costs([item.nodeid for item in items], known)
    ranks = _ranks(sorted(items, key=lambda item: costs[item.nodeid]), frozenset(targets))
    groups: defaultdict[tuple[int, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        rank, (file, _) = ranks[item.nodeid], times.place(item.nodeid)
        # A file that was never measured may take minutes, and one that looks at what others recorded does.
        is_short = costs[item.nodeid] <= _MOST and file in known and file != times.LAST
        if rank == _MARKED or is_short:
            groups[rank, file].append(item)

    def order(key: tuple[int, str]) -> tuple[int, float, str]:
        """Tests of a file share fixtures, so they stay together."""
        rank, file = key
        return rank, sum(costs[item.nodeid] for item in groups[key]) / len(groups[key]), file

    left, found = float(SECONDS * processors), []
    for item in (item for key in sorted(groups, key=order) for item in groups[key]):
        left -= costs[item.nodeid]
        if left > 0:
            found.append(item)
    wanted = {item.nodeid for item in found}
    return found, [item for item in items if item.nodeid not in wanted]


def _ranks(items: Iterable[pytest.Item], targets: frozenset[str]) -> dict[str, int]:
    """Of cases, the cheapest first: does one tell of something that none before it told of?"""
    seen: set[object] = set()
    ranks = {}
    for item in items:
        file, function = times.place(item.nodeid)
        folder = PurePosixPath(file).parent
        new = {folder, file, *((folder, target) for target in _targets(item, targets))} - seen
        seen |= new
        rank = _NEW if new else _FUNCTION if (file, function) not in seen else _OTHER
        seen.add((file, function))
        ranks[item.nodeid] = _MARKED if item.get_closest_marker("quick") else rank
    return ranks


def _targets(item: pytest.Item, targets: frozenset[str]) -> set[str]:
    given = getattr(item, "callspec", None)
    return targets & {value for value in given.params.values() if isinstance(value, str)} if given else set()


class Budget:
    """A plugin that ends a process before the test that would end too late, as those before it took."""

    def __init__(self, costs: times.Costs) -> None:
        self._costs = costs
        self._end = self._expected = self._taken = self._begun = 0.0
        self._is_over = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """True: nothing more is to be done for it."""
        now, cost = time.monotonic(), self._costs[item.nodeid]
        self._end = self._end or max(start() + SECONDS, now + _LEAST)
        times_slower = max(1.0, self._taken / self._expected) if self._expected else 1.0
        self._is_over = self._is_over or now + times_slower * cost > self._end
        if self._is_over:  # and for those behind it, which would find its fixtures not torn down
            return True
        self._begun = now
        return None

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._taken += time.monotonic() - self._begun
        self._expected += self._costs[nodeid]
