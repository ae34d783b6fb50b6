"""Names of classes in a text file: one on each line, in the order of an output's values."""

from __future__ import annotations

from pathlib import Path

from edgekit.core.errors import EdgeKitError

MAX_BYTES = 1 << 24  # of a file


def read(path: Path) -> tuple[str, ...]:
    """The names, without spaces around them. Empty lines at the end are none."""
    if not path.is_file():
        reason = "it is not a regular file" if path.exists() else "No such file or directory"
        raise EdgeKitError("E0104", f"cannot read {path}: {reason}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise EdgeKitError(
                "E0103", f"{path.name} has more than {MAX_BYTES:,} bytes: it is no list of names"
            )
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8, with one name on each line"
        raise EdgeKitError("E0103", f"{path.name} is no UTF-8 at byte {error.start}", hint=hint) from None
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise EdgeKitError("E0103", f"{path.name} has no class names", hint="write one name on each line")
    return tuple(lines)
