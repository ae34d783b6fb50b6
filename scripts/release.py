"""Prepares a release (--prepare VERSION), or checks that its version and changelog are those of a tag."""

from __future__ import annotations

import argparse
import datetime
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Where the version and the date of a release stand, as patterns with the value between two groups.
_PLACES = {
    "pyproject.toml": r'(?m)(^version = ")[^"]*(")',
    "CITATION.cff": r"(?m)(^version: ).*($)",
}
_DATE = r'(?m)(^date-released: ")[^"]*(")'


def faults(tag: str, version: str, changes: str) -> list[str]:
    """What has to be done before the release."""
    found = []
    if tag != f"v{version}":
        found.append(
            f"the tag is {tag}, but pyproject.toml has version {version}: tag v{version}, or change it"
        )
    if not re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no heading '## {version} - <date>': put one below '## Unreleased'")
    return found


def prepared(folder: Path, version: str, date: str) -> dict[str, str]:
    """The files of a release with its version and date."""
    files = {name: (folder / name).read_text(encoding="utf-8") for name in (*_PLACES, "CHANGELOG.md")}
    for name, place in _PLACES.items():
        files[name] = _set(files[name], place, version, name)
    files["CITATION.cff"] = _set(files["CITATION.cff"], _DATE, date, "CITATION.cff")
    changes = files["CHANGELOG.md"]
    if f"\n## {version} - " in changes:
        raise ValueError(f"CHANGELOG.md has {version} already")
    news = changes.partition("\n## Unreleased\n")[2].partition("\n## ")[0]
    if "\n### Highlights\n\n- " not in news:
        raise ValueError("CHANGELOG.md has no '### Highlights' below '## Unreleased': write ten at most")
    files["CHANGELOG.md"] = _set(
        changes, r"(?m)(^## Unreleased\n)()", f"\n## {version} - {date}\n", "CHANGELOG.md"
    )
    return files


def _set(text: str, place: str, value: str, name: str) -> str:
    changed, count = re.subn(place, lambda found: f"{found[1]}{value}{found[2]}", text)
    if count != 1:
        raise ValueError(f"{name}: {count} places for {value.strip()}, one was expected")
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tag", nargs="?", help="such as v1.2.3")
    parser.add_argument("--prepare", metavar="VERSION", help="set the version, and date the changelog")
    given = parser.parse_args()
    if given.prepare:
        if not re.fullmatch(r"\d+\.\d+\.\d+", given.prepare):
            parser.error(f"{given.prepare} is no version such as 1.2.3")
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        try:
            files = prepared(ROOT, given.prepare, today)
        except ValueError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        for name, text in files.items():
            (ROOT / name).write_text(text, encoding="utf-8")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    tag = given.tag or f"v{version}"
    found = faults(tag, version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)
    return len(found)


if __name__ == "__main__":
    sys.exit(main())
