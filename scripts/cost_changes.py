"""Prints a Markdown table of what changed in tests/sizes.toml and tests/speed.toml since a commit."""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support import sizes, speed
from support.tools import ROOT

MARK = "<!-- edgekit cost changes -->"  # the model report's comment.py finds its comment by this
_NOTE = "From tests/sizes.toml and tests/speed.toml. Bytes, and instructions of one run."

Figures = Mapping[str, int]
Place = tuple[str, str, str]  # target, what is optimized for, network


def figures(sizes_text: str, speed_text: str) -> dict[Place, dict[str, int]]:
    """Of both files, by target and network; speed is counted of code for speed."""
    found: dict[Place, dict[str, int]] = {
        place: dict(row) for place, row in sizes.parsed(sizes_text)[1].items()
    }
    for (target, network), rows in speed.parsed(speed_text).rows.items():
        found.setdefault((target, "speed", network), {})["instructions"] = rows[speed.TOTAL].instructions
    return found


def report(old: Mapping[Place, Figures], new: Mapping[Place, Figures]) -> str:
    """Those networks of which something changed, and for each target the mean change in instructions."""
    lines = [MARK, "", "### Cost of the reference networks", ""]
    rows = [
        row for place in dict.fromkeys((*old, *new)) for row in _row(place, old.get(place), new.get(place))
    ]
    if not rows:
        return "\n".join([*lines, "No byte and no instruction changed.", ""])
    lines += [
        "| target | for | network | what | before | now | change |",
        "|---|---|---|---|---:|---:|---:|",
        *rows,
    ]
    means = [f"{target} {mean:+.2%}" for target, mean in _means(old, new)]
    if means:
        lines += ["", f"Instructions, geometric mean over the networks: {', '.join(means)}."]
    return "\n".join([*lines, "", _NOTE, ""])


def _row(place: Place, before: Figures | None, now: Figures | None) -> Iterator[str]:
    head = "| " + " | ".join((place[0], place[1], place[2]))
    for what in dict.fromkeys((*(before or {}), *(now or {}))):
        old, new = (before or {}).get(what), (now or {}).get(what)
        if old == new:
            continue
        cells = [f"{number:,}" if number is not None else "-" for number in (old, new)]
        change = f"{(new - old) / old:+.2%}" if old and new is not None else "new" if old is None else "gone"
        yield " | ".join([head, what, *cells, change]) + " |"


def _means(old: Mapping[Place, Figures], new: Mapping[Place, Figures]) -> Iterator[tuple[str, float]]:
    ratios: dict[str, list[float]] = {}
    for place in old.keys() & new.keys():
        pair = old[place].get("instructions"), new[place].get("instructions")
        if pair[0] and pair[1]:
            ratios.setdefault(place[0], []).append(pair[1] / pair[0])
    for target in sorted(ratios):
        mean = math.exp(math.fsum(map(math.log, ratios[target])) / len(ratios[target])) - 1
        if abs(mean) >= 0.00005:
            yield target, mean


def _at(commit: str, path: Path) -> str:
    """The file as it was in a commit; empty where it was not there."""
    name = f"{commit}:{path.relative_to(ROOT).as_posix()}"
    done = subprocess.run(["git", "show", name], cwd=ROOT, capture_output=True, text=True)
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="a commit to compare with, such as origin/main")
    base = parser.parse_args().base
    command = ["git", "merge-base", base, "HEAD"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        parser.error(f"git knows no common commit of {base} and HEAD: a shallow clone has none")
    commit, files = found.stdout.strip(), (sizes.FILE, speed.FILE)
    now = [path.read_text(encoding="utf-8") for path in files]
    print(report(figures(*(_at(commit, path) for path in files)), figures(*now)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
