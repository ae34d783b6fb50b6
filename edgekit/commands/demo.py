"""`edgekit demo` shows the whole way on a model that comes along."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import Json, emit, written

PANEL = Panel.HELP


def demo(
    output: Annotated[str, written("FOLDER", "Keep what is made."), settings.WRITES] = "",
    json: Json = False,
) -> None:
    """Build a bundled model, from its file to verified C.

    edgekit demo         # shows it
    edgekit demo -o out  # and keeps what it made
    """
    from edgekit import demo as demonstration

    found = demonstration.demo(Path(output) if output else None, console.quiet if json else console.out)
    if json:
        emit("demo", found, [], json)
