"""Reads what a device printed by the layer hook: a line for each layer, with a number, run after run."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from edgekit.core import files
from edgekit.core.errors import EdgeKitError
from edgekit.profiling import Unit

_MAX_BYTES = 64 << 20
_MAX_LINE = 1000  # characters: longer ones name no layer, and would be searched for long
_MAX_NAMED = 3  # layers or lines in a message
# What terminals and loggers put around a line: colours, a time stamp, the name of a task.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_VALUE = rf"(\d{{1,18}}(?:\.\d+)?)\s*({'|'.join(Unit)})?\s*"
_NUMBER = re.compile(_VALUE)
# A line of nothing else, or behind what loggers put in front, which ends with a colon or bracket.
_ALONE = re.compile(rf"(?:.*[\]:>])?\s*([A-Za-z_]\w*)\s*[:=,;\t ]\s*{_VALUE}")


@dataclass(frozen=True)
class LayerLog:
    """Complete runs: what each layer took in each of them."""

    names: tuple[str, ...]
    runs: tuple[Mapping[str, float], ...]
    unit: str  # empty where the log says nothing of it
    dropped: int = 0  # runs that lack layers: at the start or the end of a log

    def median(self, name: str) -> float:
        """Of a layer; 0 for one that the runs left out."""
        return statistics.median(run.get(name, 0.0) for run in self.runs)

    @property
    def totals(self) -> tuple[float, ...]:
        return tuple(sum(run.values()) for run in self.runs)


@dataclass(frozen=True)
class _Reading:
    """A line of a log that is about a layer."""

    name: str
    value: float
    unit: str


def read(path: Path) -> str:
    """The text of a log, whatever bytes are in between."""
    data = files.read(path, _MAX_BYTES)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as PowerShell writes what is piped into a file
        return data.decode("utf-16", errors="replace")
    return data.decode(errors="replace")


def parse(
    text: str, file: str, names: Sequence[str] = (), optional: Sequence[str] = (), library: str = ""
) -> LayerLog:
    """The runs in a log. `names` are the layers of the library in order, and `optional` those that a run may
    leave out; without them every line that consists of a name and a number counts."""
    readings = list(_of_layers(text, file, names) if names else _alone(text))
    if not readings:
        raise _nothing(text, file, names, library)
    units = {reading.unit for reading in readings if reading.unit}
    if len(units) > 1:
        raise EdgeKitError("E0401", f"{file} mixes units: {', '.join(sorted(units))}")
    known = tuple(names) or tuple(dict.fromkeys(reading.name for reading in readings))
    needed = set(known) - set(optional)
    runs = list(_runs(readings, known, needed))
    complete = [run for run in runs if needed <= run.keys()]
    if not complete:
        if others := [name for name in _named(text) if name not in known]:
            raise _foreign(file, library, others, names)
        fullest = max(runs, key=len)
        missing = [name for name in known if name in needed and name not in fullest]
        raise EdgeKitError(
            "E0401",
            f"{file} has no complete run: the fullest one lacks {_some(missing)}",
            hint="print every layer of at least one run; a log may begin and end within runs",
        )
    return LayerLog(known, tuple(complete), units.pop() if units else "", len(runs) - len(complete))


def _runs(readings: Sequence[_Reading], known: Sequence[str], needed: Set[str]) -> Iterator[dict[str, float]]:
    """Layers that every run takes come once in each, in order: one that does not go on begins the next run.
    Those of branches and loops come between them, as often as they like."""
    place = {name: i for i, name in enumerate(known)}
    first = min((place[name] for name in needed), default=0)
    run: dict[str, float] = {}
    last = -1  # of those that every run takes
    for reading in readings:
        at = place[reading.name]
        if last >= 0 and at <= (last if reading.name in needed else first):
            yield run
            run, last = {}, -1
        run[reading.name] = run.get(reading.name, 0.0) + reading.value
        if reading.name in needed:
            last = at
    if run:
        yield run


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without the escapes of terminals."""
    for count, line in enumerate(text.splitlines(), 1):
        if len(line) <= _MAX_LINE:
            yield count, _ESCAPES.sub("", line)


def _of_layers(text: str, file: str, names: Sequence[str]) -> Iterator[_Reading]:
    """Lines that name a layer of the library. What follows must be a number, or else the line is damaged."""
    known = set(names)
    for count, plain in _lines(text):
        for word in re.finditer(r"[A-Za-z_]\w*", plain):
            if word[0] not in known:
                continue
            rest = plain[word.end() :].lstrip(" \t:=,;")
            if found := _NUMBER.fullmatch(rest):
                yield _Reading(word[0], float(found[1]), found[2] or "")
            elif rest[:1].isdigit() or rest[:1] == "-":
                raise EdgeKitError(
                    "E0401",
                    f"line {count} of {file} is damaged: {plain.strip():.80}",
                    hint="a line has the name of a layer and a number, and may have a unit: "
                    + ", ".join(Unit),
                )
            break


def _alone(text: str) -> Iterator[_Reading]:
    for _, plain in _lines(text):
        if found := _ALONE.fullmatch(plain):
            yield _Reading(found[1], float(found[2]), found[3] or "")


def _nothing(text: str, file: str, names: Sequence[str], library: str) -> EdgeKitError:
    """Why there is no layer in a log: it is of another library, or no log of layers."""
    if names and (others := _named(text)):
        return _foreign(file, library, others, names)
    return EdgeKitError(
        "E0401",
        f"{file} has no line with the name of a layer and a number",
        hint="edgekit build --layer-hook makes a library that calls your function after each layer: "
        "docs/reports.md has one that prints such lines",
    )


def _named(text: str) -> list[str]:
    return list(dict.fromkeys(reading.name for reading in _alone(text)))


def _foreign(file: str, library: str, others: Sequence[str], names: Sequence[str]) -> EdgeKitError:
    return EdgeKitError(
        "E0108",
        f"{file} is not of {library}: it names {_some(others)}; that library has {_some(names)}",
        hint="give the model, target and options of the library that runs on the device",
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMED]) + ", ..." * (len(names) > _MAX_NAMED)
