"""How long a command line takes to answer: `edgekit --help` against the bare interpreter, in turns."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.results import machine, table, write_section

_ROUNDS = 40
_LIMIT_MS = 150
_LINES = {"bare interpreter": ["-c", "pass"], "edgekit --help": ["-m", "edgekit", "--help"]}


@dataclass(frozen=True)
class Start:
    """One start, from nothing to the end of the process, in milliseconds. On a machine with other work to do
    the processor time is what counts: a quiet machine needs no more than that."""

    clock: float
    processor: float


def start(arguments: Sequence[str]) -> Start:
    """Run a command line; what it prints is dropped."""
    before = time.perf_counter()
    nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ, file_actions=nowhere)
    _, status, used = os.wait4(child, 0)
    assert status == 0, arguments
    return Start(1e3 * (time.perf_counter() - before), 1e3 * (used.ru_utime + used.ru_stime))


def main() -> None:
    """Measure, print, write docs/performance.md."""
    rounds = [{name: start(line) for name, line in _LINES.items()} for _ in range(_ROUNDS)]
    medians = {
        name: Start(
            statistics.median(r[name].clock for r in rounds),
            statistics.median(r[name].processor for r in rounds),
        )
        for name in _LINES
    }
    rows = [[name, f"{m.processor:.0f}", f"{m.clock:.0f}"] for name, m in medians.items()]
    bare, ours = _LINES
    more = medians[ours].processor - medians[bare].processor
    text = table(["command", "processor, ms", "clock, ms"], rows)
    text += f"\n\nThe help takes {more:.0f} ms more, {_LIMIT_MS} are allowed. "
    text += f"Medians of {_ROUNDS} rounds. {machine()}."
    write_section("start", "The time to answer", text)
    print(text)
    if more > _LIMIT_MS:
        raise SystemExit("edgekit --help is too slow")


if __name__ == "__main__":
    main()
