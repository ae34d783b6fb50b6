"""Processor time that the selection of kernels adds to a build, for each kernel call of int8 networks.

Needs the networks as TFLite files (--models). Each is planned in a process of its own, which reads the kernel
files and the calibrated costs first, as a build does.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.cortex_m import MODELS
from benchmarks.memory import NETWORKS
from benchmarks.results import machine, table, write_section
from edgekit import api
from edgekit.codegen.kernels import sources, variants
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets

TARGETS = (
    *("cortex-m0plus", "cortex-m4", "cortex-m55"),
    *("aarch64-dotprod", "riscv64-rvv", "x86-64-avx2", "wasm32-simd"),
)
# What selections consist of: reading kernel files, which of the kernels fit, and one of these.
_PARTS = ((variants, "variants_of"), (sources, "fitting"), (sources, "cheapest"))
_LIMIT_MS = 10
_NOTE = """\
Milliseconds of processor time for each kernel call; {limit} are allowed. Kernel files and calibrated costs
are read in this time: each network is planned in a process of its own. `selections` is how many there are
for each call, as rules of lowering also ask which kernel a call would take. `of planning` is the share of
all that is done before code is printed. Medians of {rounds} rounds. {machine}."""


@dataclass(frozen=True)
class Selected:
    """What the selection took, in seconds of processor time."""

    calls: int  # of kernels
    selections: int
    selection: float
    planning: float  # with the selection


class Clock:
    """Processor time in the parts of selections; of those within another one, the outer one counts."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.depth = 0.0, Counter[str](), 0

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, on this clock."""

        def run(*arguments: Any) -> Any:
            self.calls[name] += 1
            self.depth += 1
            start = time.process_time()
            found = function(*arguments)
            self.depth -= 1
            self.seconds += 0 if self.depth else time.process_time() - start
            return found

        return run


@contextmanager
def clocked() -> Iterator[Clock]:
    """A clock that runs while kernels are selected."""
    clock, plain = Clock(), [(module, name, getattr(module, name)) for module, name in _PARTS]
    for module, name, function in plain:
        setattr(module, name, clock.around(name, function))
    try:
        yield clock
    finally:
        for module, name, function in plain:
            setattr(module, name, function)


def selected(model: Path, name: str) -> Selected:
    """Of one network on a target."""
    graph, target = api.convert(model), targets.load(name)
    with clocked() as clock:
        start = time.process_time()
        program = compile_graph(graph, target)
        planning = time.process_time() - start
    return Selected(len(program.lines), clock.calls["fitting"], clock.seconds, planning)


def row(name: str, rounds: Sequence[Sequence[Selected]]) -> list[str]:
    """Of the table: a target, with all rounds of each network."""
    best = [sorted(each, key=lambda s: s.selection)[len(each) // 2] for each in rounds]
    number = sum(s.selections for s in best) / sum(s.calls for s in best)
    share = sum(s.selection for s in best) / sum(s.planning for s in best)
    return [name, *(f"{1e3 * s.selection / s.calls:.2f}" for s in best), f"{number:.1f}", f"{share:.0%}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=MODELS, help="the folder of the networks")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    models = [arguments.models / f"{file}.tflite" for file, _ in NETWORKS.values()]
    rows = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        for name in TARGETS:
            once = [[fresh.submit(selected, m, name) for m in models] for _ in range(arguments.rounds)]
            rounds = [[run.result() for run in runs] for runs in zip(*once, strict=True)]
            rows.append(row(name, rounds))
            print(*rows[-1], flush=True)
    head = ["target", *NETWORKS, "selections", "of planning"]
    note = _NOTE.format(limit=_LIMIT_MS, rounds=arguments.rounds, machine=machine())
    write_section("selection", "Time to select kernels", f"{table(head, rows)}\n\n{note}")
    slowest = max(float(ms) for found in rows for ms in found[1 : 1 + len(models)])
    if slowest > _LIMIT_MS:
        raise SystemExit(f"a selection takes {slowest} ms")


if __name__ == "__main__":
    main()
