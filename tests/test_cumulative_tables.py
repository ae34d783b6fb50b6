"""Tables of docs/reliability.md that add up runs: by commit and seed, each counted once."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.results import cumulated

HEADER = ["commit", "seed", "judged", "wrong"]


def page(folder: Path, table: str) -> Path:
    made = folder / "page.md"
    section = f"<!-- script -->\ntext\n\n{table}\n\nmore\n<!-- end of script -->\n"
    made.write_text(f"| commit | seed | judged | wrong |\n\n{section}")
    return made


def test_the_first_run_is_alone(tmp_path: Path) -> None:
    text = cumulated("script", HEADER, [["a", "1", "1,000", "2"]], tmp_path / "none.md")
    assert text.splitlines()[2:] == ["| a | 1 | 1,000 | 2 |", "| all |  | 1,000 | 2 |"]


def test_runs_are_added_to_those_of_the_page(tmp_path: Path) -> None:
    first = cumulated(
        "script", HEADER, [["a", "1", "1,000", "2"], ["b", "1", "5", "0"]], tmp_path / "none.md"
    )
    found = cumulated("script", HEADER, [["b", "1", "6", "1"], ["b", "2", "7", "0"]], page(tmp_path, first))
    rows = ["| a | 1 | 1,000 | 2 |", "| b | 1 | 6 | 1 |", "| b | 2 | 7 | 0 |", "| all |  | 1,013 | 3 |"]
    assert found.splitlines()[2:] == rows
    assert cumulated("script", HEADER, [], page(tmp_path, found)) == found


def test_a_page_that_is_written_leaves_the_commit_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that were interrupted go on with what they have of this commit."""
    code, written = tmp_path / "code.py", tmp_path / "docs" / "page.md"
    written.parent.mkdir()
    for path in (code, written):
        path.write_text("before\n")
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-q", "-m", "first")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(results, "PAGE", written)
    first = results.commit()
    assert len(first) == 8
    written.write_text("after\n")
    assert results.commit() == first
    code.write_text("after\n")
    assert results.commit() == f"{first}+"
