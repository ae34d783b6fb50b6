"""Processor time until the playground waits for a model: in Chromium, and in Node without a page.

    python -m benchmarks.playground [--rounds 5]

Needs node, npm and chromium, as the tests of the page do. Processor time is that of all processes of the
browser, so that other work on the machine counts little."""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks.results import machine, table, write_section
from edgekit.playground.assembly import CLANG, PYODIDE, assemble

_TESTS = Path(__file__).parent.parent / "tests"
_LIMIT = 10  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")
_READY = """\
export default async (page) => {
  page.setDefaultTimeout(120000);
  await page.waitForFunction(() => document.body.getAttribute("aria-busy") === "false");
  return true;
};
"""
Load = tuple[float, int, int]  # seconds of processors, requests, bytes


def in_chromium(folder: Path, rounds: int) -> Load:
    """Until the page waits for a model; each visit is the first of its browser."""
    browser, site = import_module("support.node_tools").browser, import_module("support.sites").site
    with tempfile.TemporaryDirectory() as scratch, site(folder) as url:
        ready = Path(scratch) / "ready.mjs"
        ready.write_text(_READY)
        nothing = Path(scratch) / "nothing.mjs"
        nothing.write_text("export default async () => true;\n")
        found: list[float] = []
        requests: list[str] = []
        for _ in range(rounds):
            with browser("chromium") as chromium:
                chromium.visit("about:blank", nothing)  # it has started
                before = _processor_time(chromium.process.pid)
                requests = chromium.visit(f"{url}/", ready).requests
                found.append(_processor_time(chromium.process.pid) - before)
        files = [folder / (request.removeprefix(f"{url}/") or "index.html") for request in requests]
        sizes = [file.stat().st_size for file in files if file.is_file()]
        return statistics.median(found), len(sizes), sum(sizes)


def _processor_time(root: int) -> float:
    """Seconds that a process and all below it took, those that ended included."""
    times, parents = dict[int, int](), dict[int, int]()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(stat.parent.name)] = int(fields[1])
        times[int(stat.parent.name)] = sum(int(field) for field in fields[11:15])
    tree = {root}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(times[pid] for pid in tree) / _TICKS


def in_node(folder: Path, rounds: int) -> float:
    """Of a process that starts a session and is given no model."""
    found = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command: list[str | Path] = ["node", _TESTS / "browser" / "session.mjs", folder, "cortex-m4"]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
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
        seconds, requests, size = in_chromium(folder, rounds)
        alone = in_node(folder, rounds)
    rows = [["Chromium, all of its processes", f"{seconds:.1f}"], ["Node", f"{alone:.1f}"]]
    text = table(["start in", "seconds of a processor"], rows)
    text += (
        f"\n\nMedians of {rounds} starts with nothing in a cache; {_LIMIT} s are allowed. The page asks for"
    )
    text += (
        f"\n{requests} files, {size / 1e6:.1f} MB together. Pyodide {PYODIDE}; Clang ({CLANG}) comes when it"
    )
    text += f"\nis asked for. {machine()}."
    print(text)
    if max(seconds, alone) > _LIMIT:
        raise SystemExit("the playground starts too slowly")
    write_section("playground", "The start of the playground", text)


if __name__ == "__main__":
    main()
