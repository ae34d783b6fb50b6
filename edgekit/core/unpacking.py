"""What archives may unpack to: files of little that become a lot are zip bombs, refused by size and ratio."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import IO

from edgekit.core.errors import EdgeKitError

MAX_MEMBERS = 1 << 16
# Weights and samples hardly shrink. An archive may unpack to so many times its size, and so many bytes more.
MAX_RATIO = 64
FREE_BYTES = 1 << 26


def limit(size: int) -> int:
    """How many bytes an archive of this size may unpack to."""
    return MAX_RATIO * size + FREE_BYTES


def check(infos: Sequence[zipfile.ZipInfo], size: int, name: str, hint: str = "") -> None:
    """Refuse an archive of `size` bytes by what its directory says of its members, read or not. Members may
    lie over each other: each counts."""
    if len(infos) > MAX_MEMBERS:
        raise EdgeKitError("E0402", f"{name} has {len(infos)} members, more than {MAX_MEMBERS}", hint=hint)
    if (total := sum(info.file_size for info in infos)) > limit(size):
        message = f"{name} has {size} bytes and unpacks to {total}, more than {MAX_RATIO} times as much"
        raise EdgeKitError("E0402", message, hint=hint)


def whole(stream: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    """A member to its end, and never more of it than the directory says."""
    raw = stream.read(info.file_size + 1)
    if len(raw) != info.file_size:
        raise EdgeKitError("E0401", f"has {len(raw)} bytes, not the {info.file_size} that the archive says")
    return raw
