"""Under which name EdgeKit is published: a package index has a stranger's `edgekit`."""

from __future__ import annotations

NAME = "edgekit-compiler"


def install_command(extra: str) -> str:
    """What a user types to add an extra."""
    return f"pip install '{NAME}[{extra}]'"
