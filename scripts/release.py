"""Checks that a tag may be released: it is the version of pyproject.toml, and CHANGELOG.md has its date."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


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


def main(tag: str) -> int:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    found = faults(tag, version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    for fault in found:
        print(f"error: {fault}", file=sys.stderr)
    return len(found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
