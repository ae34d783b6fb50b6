"""`edgekit report` shows a library as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    AllChanges,
    Consts,
    Dims,
    Json,
    Model,
    Optimize,
    OptimizeOption,
    Ports,
    PortsOption,
    Shapes,
    Signature,
    States,
    TargetName,
    WeightGrowth,
    WideWeights,
    bound_inputs,
    data,
    emit,
    title,
    written,
)
from edgekit.core.files import unlinked

PANEL = Panel.LIBRARIES


def report(
    model: Model,
    output: Annotated[
        str, written("PAGE.HTML", "Default: the model's name and .html."), settings.WRITES
    ] = "",
    target: TargetName = "host",
    optimize: OptimizeOption = Optimize.SPEED,
    ports: PortsOption = Ports.CALLER,
    before: Annotated[
        str,
        typer.Option(
            "--before", metavar="MODEL|PAGE", help="Compare with another model, or with the page of a build."
        ),
    ] = "",
    reference: Annotated[
        str,
        typer.Option(
            "--reference", metavar="MODEL", help="Show what quantization costs, against this model."
        ),
    ] = "",
    data: Annotated[
        str, data("Inputs for --reference: .npz, .npy or a folder of them; default: random ones.")
    ] = "",
    layers: Annotated[
        bool, typer.Option("--layers", help="Measure each layer, as bench does, beside the estimate.")
    ] = False,
    count: Annotated[
        bool, typer.Option("--count/--no-count", help="Count instructions exactly, in an emulator; slower.")
    ] = False,
    all_changes: AllChanges = False,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    wide_weights: WideWeights = False,
    weight_growth: WeightGrowth = 0.0,
    json: Json = False,
) -> None:
    """Show a library as a page: graph, memory, layers by cost.

    edgekit report digits.onnx -t cortex-m4               # digits.html
    edgekit report small.ek -t cortex-m4 --before digits.onnx
    edgekit report small.ek --reference digits.onnx --data x.npz
    """
    from edgekit import api
    from edgekit.reports import library_page, pages

    path = output or unlinked(f"{title(model, '')}.html")
    pages.check_destination(Path(path))
    bound = bound_inputs(shape, dim, const, state, signature)
    with console.progress() as progress:

        def read(name: str) -> api.Graph | str:
            progress(f"reading {name}")
            is_page = Path(name).suffix.lower() in pages.SUFFIXES
            return name if is_page else api.convert(name, **bound, wide_weights=wide_weights)

        found = api.report(
            read(model),
            path,
            target=target,
            optimize=optimize.value,
            ports=ports.value,
            before=read(before) if before else None,
            reference=read(reference) if reference else None,
            inputs=data or None,
            layers=layers,
            count=count,
            all_changes=all_changes,
            weight_growth=weight_growth,
            progress=progress,
        )
    emit("report", found, library_page.in_words(found), json)
