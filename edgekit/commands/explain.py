"""`edgekit explain` says what an error means."""

from __future__ import annotations

from typing import Annotated

import typer

from edgekit.command_help import Panel
from edgekit.commands._shared import Json, emit

PANEL = Panel.HELP


def _codes(incomplete: str) -> list[str]:
    from edgekit.explanations import sections

    return [code for code in sections() if code.startswith(incomplete.upper())]


def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="Such as E0205.", autocompletion=_codes)],
    json: Json = False,
) -> None:
    """Explain an error code: what it means, an example, what to do.

    edgekit explain E0205
    """
    from edgekit import explanations

    text = explanations.explain(code)
    emit("explain", {"code": text.partition(":")[0], "text": text}, text.splitlines(), json)
