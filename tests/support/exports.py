"""The shared net as each framework exported it: what a reader recognises among the samples, with its numbers.

The samples are one small net (a convolution 3x3, batch norm, relu, max pool, a fully connected layer) with
the same weights everywhere. A file that any reader recognises is tested: nothing lists them.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from support.tools import ROOT

from edgekit.converters import read
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

SAMPLES = ROOT / "tests" / "frontends" / "samples"


@dataclass(frozen=True)
class Export:
    """A file, who reads it, and what the framework computed."""

    path: Path
    format: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(SAMPLES))

    @property
    def is_int8(self) -> bool:
        return "int8" in self.path.name

    @property
    def files(self) -> list[Path]:
        """The file and those that belong to it: in the same folder, of nearly the same name; the whole folder
        where that has the name of the file."""
        if self.path.stem == self.path.parent.name:
            others = sorted(p for p in self.path.parent.rglob("*") if p.is_file() and p != self.path)
            return [self.path, *others]
        stem = self.path.name.partition(".")[0].partition("-")[0]
        beside = [p for p in self.path.parent.iterdir() if p.name.partition(".")[0].partition("-")[0] == stem]
        own = [p for p in sorted(beside) if p != self.path and "io" not in p.stem.split("_")]
        return [self.path, *(p for p in own if who_reads(p) is None)]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What --shape has to bind: the shape of the recorded input, where the file does not say it."""
        return {name: self.recorded()[0].shape for name in open_inputs(self.path)}

    def recorded(self) -> tuple[Array, Array]:
        """An input and the output."""
        recordings = "*int8_io.npz" if self.is_int8 else "io.npz"
        with np.load(next(path for folder in self.path.parents for path in folder.glob(recordings))) as io:
            return io["x"], io["y"]


@cache
def open_inputs(path: Path) -> tuple[str, ...]:
    """The inputs whose shapes a file leaves to --shape."""
    try:
        read.read(path)
    except EdgeKitError as error:
        return tuple(dict.fromkeys(name for one in (error, *error.also) for name in one.inputs))
    return ()


@cache
def exports() -> list[Export]:
    """All samples that some reader recognises."""
    files = sorted(p for p in SAMPLES.rglob("*") if p.is_file())
    return [Export(path, format) for path in files if (format := who_reads(path))]


@cache
def who_reads(path: Path) -> str | None:
    """The format of a file."""
    head = read.first_bytes(path)
    return next((r.FORMAT for r in read.readers(path.suffix) if r.sniff(path, head)), None)
