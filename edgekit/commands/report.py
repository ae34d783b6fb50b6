"""`edgekit report` shows a library as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
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
    arrays_file,
    bound_inputs,
    emit,
    page,
)

if TYPE_CHECKING:
    from edgekit.api import Graph
    from edgekit.reports.build_comparison import BuildSummary

PANEL = Panel.LIBRARIES


def report(
    model: Model,
    output: Annotated[
        str, page("--output", "-o", help="Default: the model's name and .html."), settings.WRITES
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
        str, arrays_file("--data", help="Or a folder of them, for --reference. Default: random inputs.")
    ] = "",
    layers: Annotated[
        bool, typer.Option("--layers", help="Measure each layer, as bench does, beside the estimate.")
    ] = False,
    count: Annotated[
        bool, typer.Option("--count/--no-count", help="Count instructions exactly, in an emulator; slower.")
    ] = False,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    wide_weights: WideWeights = False,
    weight_growth: WeightGrowth = 0.0,
    json: Json = False,
) -> None:
    """Write a page that shows what a library consists of, and where its bytes and its time go.

    edgekit report digits.onnx -t cortex-m4               # digits.html
    edgekit report small.ek -t cortex-m4 --before digits.onnx
    edgekit report small.ek --reference digits.onnx --data x.npz
    """
    from edgekit import api
    from edgekit.core import target as targets
    from edgekit.reports import library_page, pages

    path = Path(output or f"{Path(model).stem}.html")
    pages.check_destination(path)
    bound = bound_inputs(shape, dim, const, state, signature)
    with console.progress() as progress:

        def read(name: str) -> Graph:
            progress(f"reading {name}")
            return api.convert(name, **bound, wide_weights=wide_weights)

        def figures_of(graph: Graph) -> library_page.LibraryFigures:
            progress("compiling")
            found = api.estimate(
                graph,
                target=target,
                optimize=optimize.value,
                ports=ports.value,
                count=count,
                weight_growth=weight_growth,
            )
            return library_page.LibraryFigures.of(found, targets.load(target), optimize.value)

        def summary_of(name: str) -> BuildSummary:
            from edgekit.reports import build_comparison

            if Path(name).suffix.lower() in pages.SUFFIXES:
                return build_comparison.read(Path(name))
            return library_page.summary(figures_of(read(name)))

        old = summary_of(before) if before else None
        graph = read(model)
        figures = figures_of(graph)
        costs = []
        if layers:
            bench = api.bench(
                graph,
                target=target,
                optimize=optimize.value,
                layers=True,
                weight_growth=weight_growth,
                progress=progress,
            )
            costs = [library_page.measured(bench.layers, f"measured on {bench.target} by {bench.compiler}")]
        difference = None
        if reference:
            difference = api.diff(read(reference), graph, data or None, order="graph", progress=progress)
        options = library_page.PageOptions(costs, old, graph, difference)
        pages.save(path, library_page.render(figures, options))
    summary = library_page.summary(figures)
    emit("report", library_page.PageWritten(str(path), summary), library_page.in_words(path, summary), json)
