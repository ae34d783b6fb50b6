"""Time until the playground waits for a model: in Chromium, and in Node without a page.

    python -m benchmarks.playground [--rounds 7]

Needs node, npm and chromium, as the tests of the page do. Processor time is that of all processes of the
browser, so that other work on the machine counts little. By the clock it is what a user waits for, from the
request of the page on; the least of all rounds is that with the least other work."""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.results import load_before, machine, table, write_section
from edgekit.playground.assembly import CLANG, PYODIDE, assemble

_TESTS = Path(__file__).parent.parent / "tests"
_LIMIT = 10  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")
_READY = """\
export default async (page) => {
  page.setDefaultTimeout(120000);
  await page.waitForFunction(() => document.body.getAttribute("aria-busy") === "false");
  return page.evaluate(() => performance.now() / 1000);
};
"""


@dataclass(frozen=True)
class Start:
    """One start, in seconds."""

    processor: float
    clock: float


def in_chromium(folder: Path, rounds: int) -> tuple[Sequence[Start], Sequence[int]]:
    """Until the page waits for a model, and the bytes of the files that it asks for; each visit is the first
    of its browser."""
    browser, site = import_module("support.node_tools").browser, import_module("support.sites").site
    with tempfile.TemporaryDirectory() as scratch, site(folder) as url:
        ready = Path(scratch) / "ready.mjs"
        ready.write_text(_READY)
        nothing = Path(scratch) / "nothing.mjs"
        nothing.write_text("export default async () => true;\n")
        found: list[Start] = []
        requests: list[str] = []
        for _ in range(rounds):
            with browser("chromium") as chromium:
                chromium.visit("about:blank", nothing)  # it has started
                before = _processor_time(chromium.process.pid)
                visit = chromium.visit(f"{url}/", ready)
                found.append(Start(_processor_time(chromium.process.pid) - before, visit.result))
                requests = visit.requests
        files = [folder / (request.removeprefix(f"{url}/") or "index.html") for request in requests]
        return found, [file.stat().st_size for file in files if file.is_file()]


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


def in_node(folder: Path, rounds: int) -> Sequence[Start]:
    """Of a process that starts a session and is given no model."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command: list[str | Path] = ["node", _TESTS / "browser" / "session.mjs", folder, "cortex-m4"]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append(Start(taken, time.perf_counter() - start))
    return found


def main() -> None:
    """Measure, print, write docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    load = load_before()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        files = import_module("scripts.pyodide")  # which mypy knows as a script, by another name
        assemble(files.pyodide(), files.clang(), folder)
        chromium, sizes = in_chromium(folder, rounds)
        starts = {"Chromium, all of its processes": chromium, "Node": in_node(folder, rounds)}
    medians = {name: statistics.median(start.processor for start in found) for name, found in starts.items()}
    rows = [
        [name, f"{medians[name]:.1f}", f"{min(start.clock for start in found):.1f}"]
        for name, found in starts.items()
    ]
    text = table(["start in", "seconds of a processor", "seconds by the clock"], rows)
    text += f"\n\n{rounds} starts with nothing in a cache: the median of processor time, of which {_LIMIT} s"
    text += f"\nare allowed, and the least by the clock. The page asks for {len(sizes)} files,"
    text += f"\n{sum(sizes) / 1e6:.1f} MB together. Pyodide {PYODIDE}; Clang ({CLANG}) comes when it"
    text += f"\nis asked for. {machine()}.\n{load}"
    print(text)
    if max(medians.values()) > _LIMIT:
        raise SystemExit("the playground starts too slowly")
    write_section("playground", "The start of the playground", text)


if __name__ == "__main__":
    main()
