"""`edgekit bench` measures what a run costs."""

from __future__ import annotations

from typing import Annotated

import typer

from edgekit import console
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Dims,
    Entries,
    Json,
    Model,
    Optimize,
    OptimizeOption,
    RunnerOption,
    Shapes,
    Signature,
    States,
    TargetName,
    WeightGrowth,
    WideWeights,
    bound_inputs,
    emit,
    entry_graphs,
    run_by,
)

PANEL = Panel.CHECKS


def bench(
    model: Model,
    target: TargetName = "native",
    runner: RunnerOption = "",
    optimize: OptimizeOption = Optimize.SPEED,
    layers: Annotated[bool, typer.Option("--layers", help="Measure each layer, too.")] = False,
    entry: Entries = None,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    wide_weights: WideWeights = False,
    weight_growth: WeightGrowth = 0.0,
    json: Json = False,
) -> None:
    """Measure the time of a run, or its instructions in an emulator.

    edgekit bench digits.onnx                        # time on this machine, with its vectors
    edgekit bench digits.onnx -t host                # time of portable C
    edgekit bench digits.onnx -t cortex-m4 --layers  # instructions of each layer, in an emulator
    """
    from edgekit import api
    from edgekit.reports import bench as reports_bench

    with console.progress() as progress:
        bound = bound_inputs(shape, dim, const, state, signature)
        graph = api.convert(model, **bound, wide_weights=wide_weights)
        entries = entry_graphs(entry, model, bound, wide_weights=wide_weights)
        wanted = run_by(target, runner)
        found = api.bench(
            graph,
            target=wanted,
            optimize=optimize.value,
            layers=layers,
            weight_growth=weight_growth,
            entries=entries,
            progress=progress,
        )
    emit("bench", found, reports_bench.bench(found), json)
