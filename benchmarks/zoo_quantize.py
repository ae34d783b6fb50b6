"""`edgekit quantize` by default for every float file of zoo_models: passes, memory, quality, speed.

Each file runs in a process of its own, small files first; what was measured is kept in
build/zoo_quantize.json and stands in docs/zoo.md at once. A run measures what is missing there; --again
measures files whose titles have this text, too.

    python -m benchmarks.zoo_quantize --only BlazeFace
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.results import keep_row, kept_rows, machine, table, write_section
from benchmarks.x86 import compare, library
from benchmarks.zoo_files import AbsentError, ModelFile, listed
from benchmarks.zoo_int8 import (
    CALIBRATION,
    FAILED,
    SLOW,
    decibels,
    drawn_samples,
    end_of_limit,
    judged_values,
    within,
)
from benchmarks.zoo_measure import converted, fastest, is_quantized
from edgekit import __version__, api
from edgekit.codegen.verification import output_coverage
from edgekit.core import format_costs, simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.format_notes import formats_note

_KEPT = Path(__file__).parent.parent / "build" / "zoo_quantize.json"
_PAGE = Path(__file__).parent.parent / "docs" / "zoo.md"
_TEST = 20  # fresh samples
_TIMED = 0.5  # s, of runs that say what a pass takes
_PASSES, _MEMORY_MB = 20.0, 1500.0  # goals
_SINGLE = 1.0  # s: a shorter pass says little of what a search costs
_NONE = "-"
_QUANTIZED, _LARGE = "quantized", "large"  # in the place of figures
_HEAD = ("file", "M MACs", "passes", "MB", "dB", "estimated", "measured", "on")
_NOTE = """\
`edgekit quantize` as it is by default, with {calibration} drawn samples, of the files of floats above that
were measured so far.

- **passes**: processor time as a multiple of a pass, which is all samples once through the float graph in the
  same process. Where a pass takes less than {single:g} s, work that does not depend on the samples takes
  most of the time, and the seconds follow.
- **MB**: the most memory that the process had meanwhile, with the network and the samples.
- **dB**: signal to noise at the worst output on {test} fresh samples, before a softmax that ends the network.
- **estimated**, **measured**: how many times as fast as floats the library for {target} is, by the
  table of costs that chooses formats, and by {rounds} rounds in which both take turns on one thread.
- **on**: when this row was measured. The machine also did other work.
- **large**: has not been measured yet, for the time that it takes; `--macs` is the limit.

{summary}

{slower}{machine}."""


@dataclass(frozen=True)
class Row:
    """What came of one file; `fault` says why there are no figures."""

    title: str
    on: str = ""
    macs: int = 0
    fault: str = ""
    pass_seconds: float = math.nan
    seconds: float = math.nan
    megabytes: float = math.nan
    sqnr_db: float = math.nan
    estimated: float = math.nan
    measured: float = math.nan
    note: str = ""  # what `edgekit build` says of the time
    machine: str = ""

    @property
    def passes(self) -> float:
        return self.seconds / self.pass_seconds


def measured(model: ModelFile, limit: float, rounds: int) -> str:
    """A row as JSON, in this process."""
    with tempfile.TemporaryDirectory() as folder:
        row = Row(model.title, date.today().isoformat(), machine=machine())
        try:
            graph = converted(model, Path(folder))
            if is_quantized(graph):
                return json.dumps(asdict(replace(row, fault=_QUANTIZED)))
            row = replace(row, macs=sum(n.op.macs(*map(graph.type, n.inputs)) for n in graph.nodes))
            if row.macs > limit:
                return json.dumps(asdict(replace(row, fault=_LARGE)))
            row = _quantized(row, graph, rounds, Path(folder))
        except EdgeKitError as error:
            row = replace(row, fault=f"{error.code} {error.message}".splitlines()[0])
        return json.dumps(asdict(row))


def _quantized(row: Row, graph: Graph, rounds: int, folder: Path) -> Row:
    choice = output_coverage.drawn(graph, 1).choice
    samples = drawn_samples(graph, choice, 100, CALIBRATION)
    stacked = {name: np.stack([sample[name] for sample in samples]) for name in graph.inputs}
    one_pass = _pass_seconds(graph, samples)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts here
    start = time.process_time()
    made, _ = api.quantize_model(graph, stacked, progress=lambda step: None)
    seconds, megabytes = time.process_time() - start, _peak_megabytes()
    end_of_limit()
    fresh = drawn_samples(graph, choice, 1000, _TEST)
    exact, found = ([judged_values(side, sample) for sample in fresh] for side in (graph, made))
    worst = min(decibels(exact, found, i) for i in range(len(graph.outputs)))
    home = target.load(fastest())
    return replace(
        row,
        pass_seconds=one_pass,
        seconds=seconds,
        megabytes=megabytes,
        sqnr_db=worst,
        estimated=format_costs.of(home).speedup(made),
        measured=_times_as_fast(graph, made, samples[0], rounds, folder),
        note=formats_note(made, home),
    )


def _pass_seconds(graph: Graph, samples: Sequence[Mapping[str, Array]]) -> float:
    """Of all samples, by as many as take long enough to be measured."""
    start, runs, taken = time.process_time(), 0, 0.0
    while taken < _TIMED:
        simulate.run_all(graph, samples[runs % len(samples)])
        runs, taken = runs + 1, time.process_time() - start
    return taken / runs * len(samples)


def _peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kilobytes) / 1000


def _times_as_fast(
    graph: Graph, made: Graph, sample: Mapping[str, Array], rounds: int, folder: Path
) -> float:
    _, floats, _ = library(graph, fastest(), folder / "floats", sample)
    _, integers, _ = library(made, fastest(), folder / "integers", sample)
    return compare({"floats": floats, "integers": integers}, rounds).ratio("floats", "integers")


def cells(row: Row) -> list[str]:
    """One line of the table."""
    if row.fault:
        return [row.title, _number(row.macs / 1e6, 2), row.fault, *[_NONE] * 4, row.on]
    passes = f"{row.passes:.1f}"
    if row.pass_seconds < _SINGLE:
        passes += f" ({row.seconds:.1f} s)"
    sizes = (_number(row.macs / 1e6, 2), passes, _number(row.megabytes), _number(row.sqnr_db, 1))
    return [row.title, *sizes, _number(row.estimated, 2), _number(row.measured, 2), row.on]


def _number(value: float, digits: int = 0) -> str:
    return _NONE if math.isnan(value) else f"{value:,.{digits}f}"


def section(rows: Sequence[Row], rounds: int) -> str:
    """The table, and what it says of the goals."""
    whole = [row for row in rows if not row.fault]
    ratios = [row.measured for row in whole]
    long = [row for row in whole if row.pass_seconds >= _SINGLE]
    summary = (
        f"Of {len(rows)} files {len(rows) - len(whole)} have no figures. Of {len(whole)} quantized ones "
        f"{sum(ratio >= 1 for ratio in ratios)} are at least as fast as in floats,\n"
        f"{math.exp(np.mean(np.log(ratios))) if ratios else math.nan:.2f} times in the geometric mean; "
        f"{sum(row.megabytes <= _MEMORY_MB for row in whole)} took at most {_MEMORY_MB / 1000:g} GB.\n"
        f"Of {len(long)} whose pass takes {_SINGLE:g} s and more, "
        f"{sum(row.passes <= _PASSES for row in long)} took at most {_PASSES:g} passes."
    )
    slower = [f"- {row.title}: {row.note or 'nothing'}" for row in whole if row.measured < 1]
    said = "Of those that are slower than in floats, `edgekit build` says:\n\n" + "\n".join(slower) + "\n\n"
    note = _NOTE.format(
        calibration=CALIBRATION,
        single=_SINGLE,
        test=_TEST,
        target=fastest(),
        rounds=rounds,
        summary=summary,
        slower=said * bool(slower),
        machine="; ".join(dict.fromkeys(row.machine for row in rows)),
    )
    return table(_HEAD, [cells(row) for row in rows]) + "\n\n" + note


def main() -> None:
    """Measure, print, write docs/zoo.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="part of a group or a title")
    parser.add_argument("--again", metavar="TEXT", help="measure what is kept, too; part of a title")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1500, help="that quantize may take")
    parser.add_argument(
        "--macs", type=float, default=4000, metavar="MILLIONS", help="larger ones are left out"
    )
    parser.add_argument("--page", action="store_true", help="write what is kept, measure nothing")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    limit = arguments.macs * 1e6
    files = _here()
    for key, model in sorted(files.items(), key=lambda pair: pair[1].bytes) * (not arguments.page):
        row = kept_rows(_KEPT, Row).get(key)
        if arguments.only not in f"{model.group} {model.title}":
            continue
        is_again = arguments.again is not None and arguments.again in model.title
        if row and not is_again and not (row.fault == _LARGE and row.macs <= limit):
            continue
        row = _measured(model, arguments.seconds, limit, arguments.rounds)
        keep_row(_KEPT, key, row)
        print(*cells(row), f"{row.seconds:.0f} s", sep="  ", flush=True)
        if not arguments.dry:
            _write(files, arguments.rounds)
    if not arguments.dry:
        _write(files, arguments.rounds)


def _here() -> dict[str, ModelFile]:
    """The files of the lists that are on this machine, by what their rows are kept as."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in listed():
            try:
                model.ready(Path(folder))
            except AbsentError as error:
                print(f"{model.title}: {error}", flush=True)
                continue
            found[f"{model.sha256}, {fastest()}, EdgeKit {__version__}"] = model
    return found


def _measured(model: ModelFile, seconds: float, limit: float, rounds: int) -> Row:
    found = within(seconds, measured, (model, limit, rounds))
    if found.startswith((SLOW, FAILED)):
        return Row(model.title, date.today().isoformat(), fault=found, machine=machine())
    return Row(**json.loads(found))


def _write(files: Iterable[str], rounds: int) -> None:
    """The table of what is kept, in the order of the lists."""
    known = kept_rows(_KEPT, Row)
    rows = [known[key] for key in files if key in known]
    rows = [row for row in rows if row.fault != _QUANTIZED]
    write_section("zoo_quantize", "int8 by default", section(rows, rounds), on=_PAGE)


if __name__ == "__main__":
    main()
