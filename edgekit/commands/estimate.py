"""`edgekit estimate` tells what a library will take, and writes nothing."""

from __future__ import annotations

from edgekit import console, settings
from edgekit.commands._shared import Goal, Json, Model, Optimize, Ports, Shapes, TargetName, Where, emit


def estimate(
    model: Model,
    target: TargetName = "host",
    optimize: Goal = Optimize.SPEED,
    ports: Where = Ports.CALLER,
    shape: Shapes = None,
    json: Json = False,
) -> None:
    """Tell flash, memory and stack to the byte, and write nothing."""
    from edgekit import api, report_smaller

    with console.progress() as tell:
        tell("reading the model")
        graph = api.convert(model, shapes=settings.shapes(shape))
        tell("compiling")
        found = api.estimate(graph, target=target, optimize=optimize.value, ports=ports.value)
    emit("estimate", found, report_smaller.estimate(found), json)
