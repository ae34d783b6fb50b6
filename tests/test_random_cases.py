"""Each commit tries a sample of random cases, and each night many more from other seeds, of every kind."""

import re

import pytest
from support import random_cases
from support.tools import ROOT


@pytest.fixture
def nightly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_cases, "_times", 3)
    monkeypatch.setattr(random_cases, "_seed", 7)


def test_a_commit_has_one_block_of_fresh_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_cases, "_times", 1)
    monkeypatch.setattr(random_cases, "_seed", None)
    (first,) = random_cases.fresh(100)
    assert first == random_cases.fresh(1000)[0]
    assert random_cases.same(20) == range(20)
    assert random_cases.sweep(12) == (0, 12)


@pytest.mark.usefixtures("nightly")
def test_a_night_has_several_blocks_of_other_seeds() -> None:
    assert random_cases.fresh(100) == [700_000, 700_100, 700_200]
    assert random_cases.same(20) == range(700_000, 700_060)
    assert random_cases.sweep(12) == (3, 4)
    assert random_cases.sweep(12, 6) == (1, 6)


def test_the_nightly_workflow_names_every_file_of_random_cases() -> None:
    workflow = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8").split()
    named = {path for word in workflow if word.startswith("tests/") for path in _files(word)}
    asks = re.compile(r"random_cases(\.| import )(fresh|same|sweep)\b")
    asking = {path for path in _files("tests") if asks.search((ROOT / path).read_text(encoding="utf-8"))}
    assert asking - {"tests/test_random_cases.py"} == named


def _files(place: str) -> set[str]:
    path = ROOT / place
    found = path.rglob("test_*.py") if path.is_dir() else [path]
    return {each.relative_to(ROOT).as_posix() for each in found}
