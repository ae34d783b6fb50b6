"""Writes a table of the flash, RAM and time of model files, beside those of another commit."""

from __future__ import annotations

import argparse
import glob
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MARK = "<!-- edgekit model report -->"  # comment.py finds its comment by this
COLUMNS = {
    "flash, bytes": "flash_bytes",
    "RAM, bytes": "ram_bytes",
    "stack, bytes": "stack_bytes",
    "MACs": "macs",
    "instructions": "instructions",
    "ms": "milliseconds",
}


def estimate(path: Path, target: str, optimize: str) -> dict[str, Any] | str:
    """What `edgekit estimate` says of a model, or why it does not."""
    # -P: no Python file of the folder, which is somebody's pull request, takes the place of one of ours.
    command = [sys.executable, "-P", "-m", "edgekit", "estimate", "--target", target, "--optimize", optimize]
    done = subprocess.run([*command, "--json", "--", str(path)], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().partition("\n")[0] or f"exit code {done.returncode}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def at(commit: str, path: str, folder: Path) -> Path | None:
    """A file as it was in a commit, or None where it was not there."""
    done = subprocess.run(["git", "show", f"{commit}:./{path}"], capture_output=True)
    if done.returncode:
        return None
    copy = folder / Path(path).name
    copy.write_bytes(done.stdout)
    return copy


def cell(now: float | None, before: float | None) -> str:
    """A number, and by how much it differs from what it was."""
    if now is None:
        return "-"
    text = f"{now:,}" if isinstance(now, int) else f"{now:,.2f}"
    if not before or before == now:
        return text
    return f"{text} ({(now - before) / before:+.1%})"


def row(path: str, now: dict[str, Any] | str, before: dict[str, Any] | str | None) -> str:
    if isinstance(now, str):
        return f"| {escaped(path)} | {escaped(now)} |" + " |" * (len(COLUMNS) - 1)
    old = before if isinstance(before, dict) else {}
    name = escaped(path) + ("" if old else " (new)")
    cells = (cell(now[key], old.get(key)) for key in COLUMNS.values())
    return " | ".join([f"| {name}", *cells]) + " |"


def escaped(text: str) -> str:
    """Text of a file's name or an error, as Markdown shows it."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|" else c for c in text.replace("\n", " "))


def report(paths: list[str], target: str, optimize: str, base: str) -> str:
    head = f"| {target}, for {optimize} | " + " | ".join(COLUMNS) + " |"
    lines = [MARK, "", "### Models", "", head, "|---|" + "---:|" * len(COLUMNS)]
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            old = at(base, path, Path(folder)) if base else None
            before = estimate(old, target, optimize) if old else None
        lines.append(row(path, estimate(Path(path), target, optimize), before))
    return "\n".join([*lines, "", f"By `edgekit estimate --target {target} --optimize {optimize}`."]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("patterns", nargs="+", help="model files")
    parser.add_argument("--target", default="cortex-m4")
    parser.add_argument("--optimize", default="speed", choices=["size", "speed"])
    parser.add_argument("--base", default="", help="a commit to compare with")
    given = parser.parse_args()
    paths = sorted({path for pattern in given.patterns for path in glob.glob(pattern, recursive=True)})
    if not paths:
        parser.error(f"no file matches {' '.join(given.patterns)}")
    print(report(paths, given.target, given.optimize, given.base), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
