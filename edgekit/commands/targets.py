"""`edgekit targets` lists what libraries can be built for."""

from __future__ import annotations

from edgekit.command_help import Panel
from edgekit.commands._shared import Json, emit

PANEL = Panel.LIBRARIES


def targets(json: Json = False) -> None:
    """List the targets that libraries can be built for.

    edgekit targets
    """
    from edgekit import api
    from edgekit.reports import results

    found = api.list_targets()
    emit("targets", {"targets": found}, results.targets(found), json)
