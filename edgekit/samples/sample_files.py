"""Samples of an .npz or .npy file, or of a folder of them: read one by one, however many there are."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from edgekit.core import files
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.samples import array_headers, arrays
from edgekit.samples.array_headers import Head
from edgekit.samples.arrays import Arrays

_SUFFIXES = (".npz", ".npy")
_IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm")


class Samples:
    """The samples, in the order of the files' names; they can be gone through again. Everything that can be
    known from the heads of the files is checked before the first sample is read."""

    def __init__(self, path: Path, graph: Graph) -> None:
        self._graph = graph
        self._files = [_File.of(file, graph) for file in (_files(path) if path.is_dir() else [path])]

    def __len__(self) -> int:
        return sum(file.count for file in self._files)

    def __iter__(self) -> Iterator[Arrays]:
        for file in self._files:
            yield from file.samples(self._graph)


def _files(folder: Path) -> list[Path]:
    visible = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    for path in visible:
        if path.suffix.lower() in _SUFFIXES and path.is_symlink():
            raise EdgeKitError("E0404", f"{path} is a link", hint="copy the file, or name it alone")
    files = [path for path in visible if path.suffix.lower() in _SUFFIXES]
    if not files:
        images = any(path.suffix.lower() in _IMAGES for path in visible)
        hint = "images are not read: save their pixels" if images else "save samples"
        raise EdgeKitError(
            "E0104", f"{folder} holds no .npz or .npy file", hint=f"{hint} as arrays, with numpy.savez"
        )
    return files


@dataclass(frozen=True)
class _File:
    """A file whose heads are read and fit the graph."""

    path: Path
    heads: Mapping[str, Head]  # by input
    counts: Mapping[str, int | None]  # of samples in each array; None where the array is one for all

    @staticmethod
    def of(path: Path, graph: Graph) -> _File:
        heads = arrays.guarded(path, partial(array_headers.of_file, path))
        outlines = {name: head.outline for name, head in heads.items()}
        named = arrays.by_input(outlines.get(array_headers.ALONE, outlines), path.name, graph)
        heads = (
            {graph.inputs[0]: heads[array_headers.ALONE]}
            if array_headers.ALONE in heads
            else {name: heads[name] for name in named}
        )
        return _File(path, heads, arrays.sample_counts(graph, named))

    @property
    def count(self) -> int:
        return next((count for count in self.counts.values() if count is not None), 1)

    def samples(self, graph: Graph) -> Iterator[Arrays]:
        with ExitStack() as stack:
            next_of = {
                name: arrays.guarded(self.path, partial(self._reader, name, stack)) for name in self.heads
            }
            for _ in range(self.count):
                sample = {name: arrays.guarded(self.path, read) for name, read in next_of.items()}
                yield {name: arrays.as_input(name, graph.type(name), x) for name, x in sample.items()}

    def _reader(self, name: str, stack: ExitStack) -> Callable[[], Array]:
        """What reads the next sample of an input."""
        head, count = self.heads[name], self.counts[name]
        if count is None or (head.by_columns and len(head.shape) > 1):
            with files.opened(self.path) as file:
                content = np.load(file, allow_pickle=False)
                whole = content[name] if head.member else content
            if count is None:
                return lambda: whole
            rows = iter(whole)
            return lambda: next(rows)
        stream: IO[bytes] = stack.enter_context(files.opened(self.path))
        if head.member:
            archive = stack.enter_context(zipfile.ZipFile(stream))
            stream = stack.enter_context(archive.open(head.member))
        array_headers.read(stream, head.member)
        shape = head.shape[1:]
        size = int(np.prod(shape, dtype=np.int64)) * head.dtype.itemsize

        def read() -> Array:
            data = stream.read(size)
            if len(data) != size:
                raise EOFError
            return np.frombuffer(data, head.dtype).reshape(shape)

        return read
