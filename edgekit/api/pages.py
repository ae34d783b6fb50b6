"""The verb that shows a library as a page."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from edgekit.api.insight import diff
from edgekit.api.libraries import bench, estimate
from edgekit.api.models import Model, convert, quiet, target_of
from edgekit.api.samples import Inputs
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.printing.render import Optimize
from edgekit.core.progress import Progress
from edgekit.core.target import Target
from edgekit.reports import build_comparison, library_page, pages
from edgekit.reports.library_page import LibraryFigures, PageOptions, PageWritten


def report(
    model: Model,
    page: str | PathLike[str] | None = None,
    *,
    target: str | Target = "host",
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    before: Model | None = None,
    reference: Model | None = None,
    inputs: Inputs | None = None,
    layers: bool = False,
    count: bool = False,
    weight_growth: float = 0.0,
    progress: Progress = quiet,
) -> PageWritten:
    """Write an HTML page about the library of a model: its graph, its arena, its flash, its layers by cost.
    `before` is another model, or the page of an earlier build, to compare with; `reference` the model that
    this one was quantized from, to show what each layer loses on these inputs or on seeded random ones.
    `layers` measures each layer; `count` counts instructions instead of estimating them. `page` is by default
    the model's name with .html."""
    graph, wanted = convert(model), target_of(target)
    path = Path(f"{graph.name}.html" if page is None else page)
    pages.check_destination(path)

    def figures_of(model: Model) -> LibraryFigures:
        progress("compiling")
        found = estimate(
            model, target=wanted, optimize=optimize, ports=ports, count=count, weight_growth=weight_growth
        )
        return LibraryFigures.of(found, wanted, optimize)

    old = None
    if isinstance(before, str | PathLike) and Path(before).suffix.lower() in pages.SUFFIXES:
        old = build_comparison.read(Path(before))
    elif before is not None:
        old = library_page.summary(figures_of(before))
    figures, costs = figures_of(graph), []
    if layers:
        found = bench(
            graph,
            target=wanted,
            optimize=optimize,
            layers=True,
            weight_growth=weight_growth,
            progress=progress,
        )
        costs.append(library_page.measured(found.layers, f"measured on {found.target} by {found.compiler}"))
    difference = None
    if reference is not None:
        difference = diff(reference, graph, inputs, order="graph", progress=progress)
    pages.save(path, library_page.render(figures, PageOptions(costs, old, graph, difference)))
    return PageWritten(str(path), library_page.summary(figures))
