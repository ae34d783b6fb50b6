"""Opens files that strangers may have made: regular files of bounded size, without waiting for pipes."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from typing import Any

from edgekit.core.errors import EdgeKitError
from edgekit.core.reasons import DamageError

_DEEP = "it is nested without end"
MAX_SETTINGS = 1 << 20  # bytes of a file that people write by hand
# Windows has no pipes among its files, and translates line ends unless it is told not to.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def opened(path: Path, within: Path | None = None) -> BufferedReader:
    """A regular file, open for reading. What a user names may be a link; a file that is found in a folder, or
    that another file names, has to be `within` that folder, and no link is followed there."""
    if within is not None and not is_within(within, path):
        raise EdgeKitError("E0404", f"{path} is outside of {within}, or a link", hint="copy the file")
    try:
        descriptor = os.open(path, _FLAGS)
    except IsADirectoryError:
        raise _irregular(path) from None
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise EdgeKitError("E0104", f"cannot read {path}: no file can have this name") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _irregular(path)
    return os.fdopen(descriptor, "rb")


def read(path: Path, most: int, within: Path | None = None, hint: str = "") -> bytes:
    """All bytes of a regular file, which has `most` of them at most."""
    try:
        with opened(path, within) as file:
            size = size_of(file)
            if size > most:
                raise EdgeKitError("E0402", f"{path.name} has more than {most:,} bytes", hint=hint)
            return file.read(size)  # Python makes room for as many as are asked for
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None


def size_of(file: BufferedReader) -> int:
    """The bytes of an opened file."""
    return os.fstat(file.fileno()).st_size


def is_within(folder: Path, path: Path) -> bool:
    """Is the file in this folder, with no link and no `..` on the way from there?"""
    try:
        way = path.relative_to(folder)
        return ".." not in way.parts and Path(os.path.realpath(path)) == Path(os.path.realpath(folder)) / way
    except ValueError:
        return False


def unlinked(path: str) -> str:
    """A file or folder to write that a command names itself. A link of that name came with the folder, from
    wherever: what is written goes nowhere that the user did not say."""
    if Path(path).is_symlink():
        message = f"{path} is a link, and what it leads to was not named"
        raise EdgeKitError("E0105", message, hint=f"remove it, or follow it with -o {path}")
    return path


def toml(raw: bytes) -> dict[str, Any]:
    """TOML of people. DamageError says what is wrong with it, beside tomllib's own and UnicodeDecodeError."""
    text = raw.decode("utf-8")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise DamageError(_DEEP) from None
    except ValueError:
        raise DamageError("a number in it is too long") from None


def json_of(raw: bytes) -> Any:
    """JSON; every fault in it is a ValueError."""
    try:
        return json.loads(raw)
    except RecursionError:
        raise DamageError(_DEEP) from None


def _irregular(path: Path) -> EdgeKitError:
    return EdgeKitError("E0104", f"cannot read {path}: it is not a regular file")
