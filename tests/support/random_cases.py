"""How many random cases a run tries: few for a commit, and every night many more, from new seeds.

    pytest tests/frontends/test_mutants.py --random-times 10 --random-seed 7

`.github/workflows/nightly.yml` does so. Bugs that were found by random cases have tests of their own, which
every run runs.
"""

from __future__ import annotations

import subprocess
from functools import cache

import pytest
from support.tools import ROOT

_SPACE = 10_000_000  # of commits and of --random-seed: each has seeds of its own
_MAX_SEEDS = 100_000  # seeds of a run
_WITHOUT_GIT = 17
_times, _seed = 1, None


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--random-times", type=int, default=1, help="so many times as many random cases")
    parser.addoption(
        "--random-seed", type=int, help="which random cases are drawn; without it, the commit decides"
    )


def configure(config: pytest.Config) -> None:
    global _times, _seed  # modules of tests ask while they are imported
    _times, _seed = config.getoption("--random-times"), config.getoption("--random-seed")


def fresh(cases: int) -> list[int]:
    """The first seeds of blocks of so many cases. A run for a commit has one block, with seeds of its own."""
    first = (_of_commit() if _seed is None else _seed) % _SPACE * _MAX_SEEDS
    return [first + i * cases for i in range(_times)]


def same(cases: int) -> range:
    """Seeds that are the same for each commit; a run with --random-seed has others."""
    first = 0 if _seed is None else _seed % _SPACE * _MAX_SEEDS
    return range(first, first + cases * _times)


def sweep(step: int, least: int = 1) -> tuple[int, int]:
    """Where a sweep over all floats, for example, starts, and its step: smaller by so many times as there are
    more cases, and at least `least`. Each commit has the same start, a run with --random-seed another one."""
    step = max(least, step // _times)
    return (0 if _seed is None else _seed % step), step


@cache
def _of_commit() -> int:
    command = ["git", "-c", f"safe.directory={ROOT}", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return _WITHOUT_GIT
    return int(done.stdout[:12], 16) if done.returncode == 0 else _WITHOUT_GIT
