"""Every page of documentation: links lead to files and headings that exist, and decisions have one form."""

import re
from datetime import date
from pathlib import Path

import pytest
from support.pages import PAGES, anchors, links
from support.tools import ROOT

ADRS = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
ROW = re.compile(r"^\| (\d{4}) \| (?:\[(.*)\]\((.*)\)|not used: .+) \|$", re.MULTILINE)
FORM = re.compile(
    r"# (?P<number>\d{4}): (?P<title>[^\n]+[^.\n])\n\n"
    r"Status: (?:accepted|proposed|superseded by \[).*\n\n"
    r"Date: (?P<date>\d{4}-\d\d-\d\d)\n\n"
    r"## Context\n.*\n## Decision\n.*\n## Consequences\n",
    re.DOTALL,
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` c, d\n[x](none.md#a) ![y](z.png)\n```\n[code](x)\n```\n## A b-c\n## A b-c\n[w](https://w)\n"
    )
    assert links(page) == ["none.md#a", "z.png"]
    assert anchors(page) == {"a-b-c-d", "a-b-c", "a-b-c-1"}


@pytest.mark.parametrize("path", ADRS, ids=lambda path: path.stem)
def test_a_decision_has_number_title_status_date_and_sections(path: Path) -> None:
    found = FORM.match(path.read_text(encoding="utf-8"))
    assert found
    assert found["number"] == path.name[:4]
    assert date.fromisoformat(found["date"]).year >= 2026


def test_the_list_of_decisions_has_every_number_and_title() -> None:
    """Above the last number that is known to be unused, one may be missing: its decision is on a branch."""
    rows = ROW.findall((ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8"))
    numbers = [int(number) for number, _, _ in rows]
    last_unused = max(int(number) for number, _, file in rows if not file)
    assert numbers == sorted(set(numbers))
    assert numbers[:last_unused] == list(range(1, last_unused + 1))
    listed = {file: f"# {number}: {title}" for number, title, file in rows if file}
    assert listed == {path.name: path.read_text(encoding="utf-8").splitlines()[0] for path in ADRS}
