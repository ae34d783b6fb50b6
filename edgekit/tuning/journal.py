"""What was tried already, in a file that is only ever added to: whoever is interrupted goes on from there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from edgekit.core import files
from edgekit.core.attributes import admits
from edgekit.core.errors import EdgeKitError
from edgekit.tuning.problem import Fault, LargestLayer, Outcome, Point, Result

T = TypeVar("T")
_MAX_BYTES = 1 << 28  # of a journal: a search writes a few hundred for each variant
_MAX_NUMBER = 1 << 63


class Journal:
    """Lines of JSON, each with the digest of its problem: a file may hold several. A line that was cut short,
    as by a power failure, is as good as none."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, problem
        self.known: dict[Point, Outcome] = {}
        for entry in self._entries():
            if entry.get("problem") == problem:
                self.known[_point(entry["point"])] = _outcome(entry)

    def add(self, point: Point, outcome: Outcome) -> None:
        """Written before it counts."""
        kind = "result" if isinstance(outcome, Result) else "fault"
        entry = {"problem": self.problem, "point": asdict(point), kind: asdict(outcome)}
        line = json.dumps(entry, allow_nan=True).encode() + b"\n"
        try:
            with self.path.open("ab+") as file:
                if file.tell() and not self._ends_well():
                    line = b"\n" + line
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise EdgeKitError("E0105", f"cannot write {self.path}: {error.strerror}") from None
        self.known[point] = outcome

    def _ends_well(self) -> bool:
        with files.opened(self.path, self.path.parent) as file:
            file.seek(-1, os.SEEK_END)
            return file.read() == b"\n"

    def _entries(self) -> Iterator[dict[str, Any]]:
        if not os.path.lexists(self.path):
            return
        for line in files.read(self.path, _MAX_BYTES, self.path.parent).splitlines():
            try:
                entry = files.json_of(line)
                _point(entry["point"]), _outcome(entry)
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            yield entry


def _point(entry: dict[str, Any]) -> Point:
    return _made(Point, {**entry, "better": tuple((name, level) for name, level in entry["better"])})


def _outcome(entry: dict[str, Any]) -> Outcome:
    if "fault" in entry:
        return _made(Fault, entry["fault"])
    heavy = {
        name: _made(LargestLayer, entry["result"][name]) if entry["result"][name] else None
        for name in ("largest", "fullest", "slowest")
    }
    return _made(Result, {**entry["result"], **heavy})


def _made(cls: type[T], values: dict[str, Any]) -> T:
    """What JSON says of a dataclass. The file may come with a folder from anywhere: values of other types
    than those of the fields are a TypeError, numbers that nothing can have a ValueError."""
    hints = get_type_hints(cls)
    if not all(admits(hints[name], value) for name, value in values.items()):
        raise TypeError
    if any(isinstance(value, int) and abs(value) >= _MAX_NUMBER for value in values.values()):
        raise ValueError
    return cls(**values)
