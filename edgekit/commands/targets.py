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
    from edgekit.codegen.execution import processor
    from edgekit.reports import results

    found, native = api.list_targets(), processor.native().name
    lines = [*results.targets(found), "", f"native is {native} on this machine"]
    emit("targets", {"targets": found, "native": native}, lines, json)
