"""`edgekit doctor` shows what is installed."""

from __future__ import annotations

from edgekit.commands._shared import Json, emit


def doctor(json: Json = False) -> None:
    """Check which tools are installed, and what they allow."""
    from edgekit import api
    from edgekit.reports import results

    found = api.doctor()
    emit("doctor", found, results.checkup(found), json)
