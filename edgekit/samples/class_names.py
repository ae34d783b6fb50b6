"""Names of classes in a text file: one on each line, in the order of an output's values."""

from __future__ import annotations

from pathlib import Path

from edgekit.core import files
from edgekit.core.errors import EdgeKitError

MAX_BYTES = 1 << 24  # of a file


def read(path: Path) -> tuple[str, ...]:
    """The names, without spaces around them. Empty lines at the end are none."""
    try:
        text = files.read(path, MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8, with one name on each line"
        raise EdgeKitError("E0103", f"{path.name} is no UTF-8 at byte {error.start}", hint=hint) from None
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise EdgeKitError("E0103", f"{path.name} has no class names", hint="write one name on each line")
    return tuple(lines)
