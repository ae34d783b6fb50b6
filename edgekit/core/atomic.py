"""Writes files that are there completely or not at all, and leaves no temporary file for good."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from edgekit.core.errors import EdgeKitError

if sys.platform != "win32":
    import fcntl

Bytes = bytes | memoryview

# Of temporary files. Its writer holds a lock on each, which ends with the process, however that ends.
_SUFFIX = ".edgekit-tmp"
# Neither a link nor a pipe of this name, which somebody else made, is followed or waited for.
_LOOK = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def write(path: Path, parts: Iterable[Bytes]) -> None:
    """Write the parts one behind the other to a new file, which then takes the place of an old one. Who has
    mapped or opened the old one keeps it as it was."""
    path = Path(os.path.realpath(path))  # through a link, as every program writes
    if path.exists() and not path.is_file():
        raise EdgeKitError("E0105", f"cannot write {path}: it is not a regular file")
    new: Path | None = None
    try:
        _remove_abandoned(path.parent)
        new, file = _temporary(path.parent)
        with file:
            for part in parts:
                file.write(part)
            file.flush()
            if sys.platform == "win32":
                file.close()  # what is open stays where it is
            new.replace(path)  # while it is locked, so that no process takes it for abandoned
    except OSError as error:
        raise EdgeKitError("E0105", f"cannot write {path}: {error.strerror}") from None
    finally:
        if new is not None:
            new.unlink(missing_ok=True)


def _temporary(folder: Path) -> tuple[Path, BinaryIO]:
    """A new file that is locked."""
    while True:
        path = folder / f".{secrets.token_hex(8)}{_SUFFIX}"
        file = path.open("xb")
        lock(file.fileno())
        if path.exists():
            return path, file
        file.close()  # another process took it for abandoned before it was locked


def lock(descriptor: int, *, wait: bool = True) -> bool:
    """Lock an open file or folder until it is closed or the process ends. False where another process has it
    locked, or where the system knows no such locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # some network filesystems have none
        return False
    return True


def _remove_abandoned(folder: Path) -> None:
    """Remove the temporary files of processes that were killed."""
    for path in folder.glob(f".*{_SUFFIX}"):
        try:
            descriptor = os.open(path, _LOOK)
        except OSError:
            continue
        try:
            if lock(descriptor, wait=False):
                path.unlink(missing_ok=True)
        except OSError:
            continue  # it is no reason not to write
        finally:
            os.close(descriptor)
