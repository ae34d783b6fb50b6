"""Models with what their framework computed: a folder each, inputs x0 ... and outputs y0 ... in io.npz."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from support.exports import open_inputs, who_reads

from edgekit.converters import read
from edgekit.core import simulate
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array


@dataclass(frozen=True)
class Recorded:
    """One model."""

    name: str
    path: Path
    format: str

    def compare(self, tolerance: float = 1e-5) -> float:
        """How far outputs are off, as a share of the largest number of each; raises where that is too far."""
        with np.load(self.path.parent / "io.npz") as stored:
            xs, expected = ([stored[f"{kind}{i}"] for i in range(_count(stored, kind))] for kind in "xy")
        shapes = {name: x.shape for name, x in zip(open_inputs(self.path), xs, strict=False)}
        graph = simplify(read.read(self.path, shapes=shapes))
        verify(graph)
        found = list(simulate.run(graph, dict(zip(graph.inputs, xs, strict=True))).values())
        assert len(found) == len(expected)
        return max(
            self._off(i, a, b, tolerance) for i, (a, b) in enumerate(zip(found, expected, strict=True))
        )

    def _off(self, i: int, found: Array, expected: Array, tolerance: float) -> float:
        what = f"output {i} of {self.name}"
        types = f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), f"{what} is {types}"
        if not expected.size:
            return 0.0
        most = np.abs(expected.astype(np.float64)).max() or 1.0
        off = float(np.abs(found.astype(np.float64) - expected).max() / most)
        assert off <= (tolerance if expected.dtype.kind == "f" else 0), f"{what} is off by {off:.1e}"
        return off


def recorded(folder: Path) -> Iterator[Recorded]:
    """All models below a folder."""
    for io in sorted(folder.rglob("io.npz")):
        for path in sorted(io.parent.iterdir()):
            if format := who_reads(path):
                yield Recorded(str(path.relative_to(folder).parent), path, format)


def unpacked(archive: Path, name: str, folder: Path) -> Recorded:
    """One model of an archive."""
    with ZipFile(archive) as zip:
        zip.extractall(folder, [member for member in zip.namelist() if member.startswith(f"{name}/")])
    (found,) = recorded(folder)
    return found


def names(archive: Path) -> list[str]:
    """The models in an archive."""
    with ZipFile(archive) as zip:
        return sorted(str(Path(name).parent) for name in zip.namelist() if name.endswith("io.npz"))


def _count(stored: np.lib.npyio.NpzFile, kind: str) -> int:
    return sum(name.startswith(kind) for name in stored.files)
