"""`edgekit bench` measures what a run costs."""

from __future__ import annotations

from edgekit import console, settings
from edgekit.commands._shared import Goal, Json, Model, Optimize, RunBy, Shapes, TargetName, emit, run_by


def bench(
    model: Model,
    target: TargetName = "host",
    runner: RunBy = "",
    optimize: Goal = Optimize.SPEED,
    shape: Shapes = None,
    json: Json = False,
) -> None:
    """Measure a run: its time, or the instructions under an emulator."""
    from edgekit import api, report

    with console.progress() as tell:
        graph = api.convert(model, shapes=settings.shapes(shape))
        found = api.bench(graph, target=run_by(target, runner), optimize=optimize.value, tell=tell)
    emit("bench", found, report.bench(found), json)
