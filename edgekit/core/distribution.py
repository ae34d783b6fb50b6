"""How EdgeKit is published: its name, as an index has a stranger's `edgekit`, and its data files."""

from __future__ import annotations

from pathlib import Path

NAME = "edgekit-compiler"


def install_command(extra: str) -> str:
    """What a user types to add an extra."""
    return f"pip install '{NAME}[{extra}]'"


def data_file(name: str) -> Path:
    """A file beside the modules of `edgekit`. In a clone it is a link; where git makes none, as on Windows,
    it is a file that holds the path."""
    found = Path(__file__).parents[1] / name
    head = found.read_bytes()[:100]
    return found.parent / head.decode().strip() if head.startswith(b"../") else found
