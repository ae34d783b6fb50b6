"""Writes files that are there completely or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from edgekit.errors import EdgeKitError

Bytes = bytes | memoryview


def write(path: Path, parts: Iterable[Bytes]) -> None:
    """Write the parts one behind the other to a new file, which then takes the place of an old one. Who has
    mapped or opened the old one keeps it as it was."""
    path = Path(os.path.realpath(path))  # through a link, as every program writes
    if path.exists() and not path.is_file():
        raise EdgeKitError("E0105", f"cannot write {path}: it is no plain file")
    new = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with new.open("xb") as file:
            for part in parts:
                file.write(part)
        new.replace(path)
    except OSError as error:
        raise EdgeKitError("E0105", f"cannot write {path}: {error.strerror}") from None
    finally:
        new.unlink(missing_ok=True)
