"""`edgekit doctor` shows what is installed."""

from __future__ import annotations

from edgekit.command_help import Panel
from edgekit.commands._shared import Json, emit

PANEL = Panel.HELP


def doctor(json: Json = False) -> None:
    """Check which tools are installed, and what they allow.

    edgekit doctor
    """
    from edgekit import api
    from edgekit.reports import results

    found = api.doctor()
    emit("doctor", found, results.checkup(found), json)
