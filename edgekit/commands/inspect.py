"""`edgekit inspect` shows what is in a model."""

from __future__ import annotations

from edgekit import settings
from edgekit.commands._shared import Json, Model, Shapes, TargetName, Verbose, emit


def inspect(
    model: Model,
    target: TargetName = "host",
    shape: Shapes = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Show inputs, outputs, layers, parameters, MACs and memory."""
    from edgekit import api, report

    graph = api.convert(model, shapes=settings.shapes(shape))
    found = api.inspect(graph, target=target)
    emit("inspect", found, report.inspection(found, verbose=verbose), json)
