"""Zip files as model archives: members are read from memory within bounds, and nothing is ever unpacked."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from edgekit.converters.blame import blame
from edgekit.converters.files import parse_json
from edgekit.core import files, unpacking
from edgekit.core.errors import EdgeKitError

SIGNATURE = b"PK\x03\x04"
_ENCRYPTED = 0x1
_COMPLETE = "is the file complete?"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class Archive:
    """An open archive whose list of members was found harmless."""

    zip: zipfile.ZipFile
    members: Mapping[str, zipfile.ZipInfo]
    size: int  # of the file, which says what may be unpacked

    def start(self, name: str) -> bytes:
        """The first bytes of a member, by which formats are known; none of a damaged one."""
        try:
            with self._opened(name) as stream:
                return stream.read(8)
        except EdgeKitError:  # said when the member is read
            return b""

    def read(self, name: str) -> bytes:
        """All bytes of a member; a wrong checksum is damage."""
        if name not in self.members:
            raise EdgeKitError("E0401", f"the archive has no {name[:100]}", hint=_COMPLETE)
        with self._opened(name) as stream:
            return unpacking.whole(stream, self.members[name])

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        """A member; what does not unpack is damage."""
        with blame(f"member {name[:100]}"):
            try:
                with self.zip.open(self.members[name]) as stream:
                    yield stream
            except EdgeKitError:
                raise
            except Exception as error:  # zipfile raises what it stumbles over, and zlib has its own
                message = "is damaged: it does not unpack to what the archive says of it"
                raise EdgeKitError("E0401", message, hint=_COMPLETE) from error

    def inner(self, name: str) -> Archive:
        """The archive that a member is, which may unpack to what the file may, not more for its own size."""
        data = self.read(name)
        with blame(f"member {name[:100]}"):
            return _archive(BytesIO(data), self.size, "the archive in the archive")

    def json(self, name: str) -> Any:
        return parse_json(self.read(name), name[:100])


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """The archive of a model, closed again at the end."""
    try:
        with files.opened(path) as stream:
            yield _archive(stream, files.size_of(stream), path.name)
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None


def _archive(stream: IO[bytes], size: int, name: str) -> Archive:
    try:
        archive = zipfile.ZipFile(stream)
    except Exception as error:  # zipfile raises what it stumbles over, not only BadZipFile
        message = f"{name} is no archive or is damaged: its directory at the end cannot be read"
        raise EdgeKitError("E0401", message, hint=_COMPLETE) from error
    return Archive(archive, _checked(archive.infolist(), size), size)


def member_names(path: Path) -> frozenset[str]:
    """The names in an archive, for a first look: none where it is damaged, unsafe, or no archive."""
    try:
        with opened(path) as archive:
            return frozenset(archive.members)
    except EdgeKitError:
        return frozenset()


def _checked(infos: list[zipfile.ZipInfo], size: int) -> Mapping[str, zipfile.ZipInfo]:
    """Files by name, if all members are harmless: also those that are not read."""
    unpacking.check(infos, size, "the archive")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        where = f"member {info.filename[:100]!r}"
        if _escapes(info.filename) or _escapes(info.orig_filename):
            raise EdgeKitError("E0404", "a name in the archive leads out of it", where)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise EdgeKitError("E0404", "the archive holds a link or a device", where)
        if info.flag_bits & _ENCRYPTED:
            raise EdgeKitError("E0205", "the archive is encrypted", where)
        if info.compress_type not in _METHODS:
            message = f"compression {info.compress_type} is not supported"
            raise EdgeKitError("E0205", message, where, "store or deflate the members")
        if info.filename in found:
            raise EdgeKitError("E0401", "two members of the archive have this name", where)
        if not info.is_dir():
            found[info.filename] = info
    return found


def _escapes(name: str) -> bool:
    """Could this name mean something outside of the folder that an archive is unpacked to?"""
    parts = name.removesuffix("/").split("/")
    return any(part in ("", ".", "..") for part in parts) or any(c in name for c in "\\:\0")
