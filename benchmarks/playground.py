"""Seconds until the playground waits for a model: in Chromium, and in Node without a page.

    python -m benchmarks.playground [--rounds 5]

Needs node, npm and chromium, as the tests of the page do, and a machine without other work."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from importlib import import_module
from pathlib import Path

from benchmarks.results import machine, table, write_section
from edgekit.playground.assembly import CLANG, PYODIDE, assemble

_TESTS = Path(__file__).parent.parent / "tests"
_LIMIT = 10  # seconds
_READY = """\
export default async (page) => {
  page.setDefaultTimeout(120000);
  await page.waitForFunction(() => document.body.getAttribute("aria-busy") === "false");
  return page.evaluate(() => performance.now() / 1000);
};
"""


def in_chromium(folder: Path, rounds: int) -> float:
    """Seconds until the page waits for a model; each visit is the first of its browser."""
    browser, site = import_module("support.node_tools").browser, import_module("support.sites").site
    with tempfile.TemporaryDirectory() as scratch, site(folder) as url:
        ready = Path(scratch) / "ready.mjs"
        ready.write_text(_READY)
        found: list[float] = []
        for _ in range(rounds):
            with browser("chromium") as chromium:
                found.append(chromium.visit(f"{url}/", ready).result)
        return statistics.median(found)


def in_node(folder: Path, rounds: int) -> float:
    """Seconds of a process that starts a session and is given no model."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        command: list[str | Path] = ["node", _TESTS / "browser" / "session.mjs", folder, "cortex-m4"]
        subprocess.run(command, check=True, capture_output=True)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def main() -> None:
    """Measure, print, write docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = import_module("scripts.pyodide")  # which mypy knows as a script, by another name
        assemble(files.pyodide(), files.clang(), folder)
        seconds = {"Chromium": in_chromium(folder, rounds), "Node": in_node(folder, rounds)}
    text = table(["start in", "seconds"], [[where, f"{taken:.1f}"] for where, taken in seconds.items()])
    text += f"\n\nMedians of {rounds} starts with nothing in a cache; {_LIMIT} s are allowed. Files come from"
    text += f"\nthis machine. Pyodide {PYODIDE}; Clang ({CLANG}) comes when it is asked for. {machine()}."
    print(text)
    if max(seconds.values()) > _LIMIT:
        raise SystemExit("the playground starts too slowly")
    write_section("playground", "The start of the playground", text)


if __name__ == "__main__":
    main()
