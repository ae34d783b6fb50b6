"""`edgekit profile` reads what a device printed by the layer hook."""

from __future__ import annotations

from typing import Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Dims,
    Json,
    Optimize,
    OptimizeOption,
    Shapes,
    Signature,
    States,
    TargetName,
    WeightGrowth,
    WideWeights,
    bound_inputs,
    emit,
    page,
)
from edgekit.profiling import Unit

PANEL = Panel.CHECKS


def profile(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="What the device printed: names of layers and numbers.")
    ],
    model: Annotated[
        str, typer.Option("--model", "-m", metavar="MODEL", help="What its library was built of.")
    ] = "",
    target: TargetName = "host",
    optimize: OptimizeOption = Optimize.SPEED,
    unit: Annotated[
        Unit, typer.Option("--unit", help="Unit of the numbers, where the lines name none.")
    ] = Unit.CYCLES,
    report: Annotated[
        str,
        page("Also write an HTML report of the library with these numbers.", "--html", "--output", "-o"),
        settings.WRITES,
    ] = "",
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    wide_weights: WideWeights = False,
    weight_growth: WeightGrowth = 0.0,
    json: Json = False,
) -> None:
    """Show the layers as a device ran them, beside the estimate.

    edgekit profile log.txt                            # what took how long
    edgekit profile log.txt -m digits.onnx -t stm32f407 --report digits.html
    """
    from edgekit import api
    from edgekit.reports import profile as reports_profile

    with console.progress() as progress:
        bound = bound_inputs(shape, dim, const, state, signature)
        found = api.profile(
            log,
            api.convert(model, **bound, wide_weights=wide_weights) if model else None,
            target=target,
            optimize=optimize.value,
            weight_growth=weight_growth,
            unit=unit.value,
            page=report or None,
            progress=progress,
        )
    emit("profile", found, reports_profile.lines(found), json)
