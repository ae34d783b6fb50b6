"""Heads of the arrays in .npy and .npz files: their types and shapes, and whether so many bytes are there."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from edgekit.core import files, unpacking
from edgekit.core.builder import absurd
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

ALONE = ""  # the name of an array in a file of its own
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_SIGNATURE = b"\x93NUMPY"


@dataclass(frozen=True)
class Head:
    """What the head of an array says of it, and where it lies: in a file of its own, or in an archive."""

    member: str  # of an archive
    shape: tuple[int, ...]
    by_columns: bool  # in Fortran's order, so that samples are scattered
    dtype: np.dtype[Any]

    @property
    def outline(self) -> Array:
        """An array of this type and shape, without contents."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)


def of_file(path: Path) -> dict[str, Head]:
    """Those of all arrays in a file, by name; a single one has none. An archive that unpacks to far more than
    it is, is refused."""
    with files.opened(path) as file:
        size = files.size_of(file)
        if file.read(len(_SIGNATURE)) == _SIGNATURE:
            file.seek(0)
            head = read(file, "")
            return {ALONE: _complete(head, size - file.tell(), path.name)}
        found = {}
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            unpacking.check(infos, size, path.name, "numpy.savez writes arrays uncompressed")
            for info in infos:
                with archive.open(info) as stream:
                    head = read(stream, info.filename)
                    room = info.file_size - stream.tell()
                found[info.filename.removesuffix(".npy")] = _complete(head, room, path.name)
        return found


def read(stream: IO[bytes], member: str) -> Head:
    """What stands before the numbers of an array."""
    shape, by_columns, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
    return Head(member, shape, by_columns, dtype)


def _complete(head: Head, size: int, name: str) -> Head:
    """The head, if so many bytes hold what it promises."""
    if head.dtype.hasobject:
        raise EdgeKitError(
            "E0404",
            f"{name} holds pickled objects, which can run programs",
            hint="save plain numeric arrays with numpy.savez",
        )
    count = 1
    for n in head.shape:
        count *= n
    if min(head.shape, default=0) < 0 or count * head.dtype.itemsize > size or absurd(head.shape[1:]):
        raise EOFError
    return head
