"""The verbs that show a library: as a page, and as a device runs it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from edgekit.api import notebook_progress
from edgekit.api.insight import diff
from edgekit.api.libraries import bench, estimate, growing
from edgekit.api.models import Model, convert, target_of
from edgekit.api.samples import Inputs
from edgekit.codegen.memory.sharing import Ports
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize, Target
from edgekit.profiling import Unit, layer_log
from edgekit.profiling import profile as profiles
from edgekit.profiling.profile import Profile
from edgekit.reports import build_comparison, library_page, pages
from edgekit.reports.library_page import LayerCosts, LibraryFigures, PageOptions, PageWritten


@checked
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
    all_changes: bool = False,
    weight_growth: float = 0.0,
    progress: Progress = notebook_progress.show,
) -> PageWritten:
    """Write an HTML page about the library of a model: its graph, its arena, its flash, its layers by cost.
    `before` is another model, or the page of an earlier build, to compare with; `reference` the model that
    this one was quantized from, to show what each layer loses on these inputs or on seeded random ones.
    `layers` measures each layer; `count` counts instructions instead of estimating them. `all_changes` looks
    at changes to layers also where that takes longer than a quarter of a build. `page` is by default the
    model's name with .html."""
    graph, wanted = convert(model), growing(target_of(target), weight_growth)
    path = Path(f"{graph.name}.html" if page is None else page)
    pages.check_destination(path)

    def figures_of(model: Model) -> LibraryFigures:
        progress("compiling")
        found = estimate(model, target=wanted, optimize=optimize, ports=ports, count=count)
        return LibraryFigures.of(found, wanted, optimize)

    old = None
    if isinstance(before, str | PathLike) and Path(before).suffix.lower() in pages.SUFFIXES:
        old = build_comparison.read(Path(before))
    elif before is not None:
        old = library_page.summary(figures_of(before))
    figures, costs = figures_of(graph), []
    if layers:
        found = bench(graph, target=wanted, optimize=optimize, layers=True, progress=progress)
        costs.append(library_page.measured(found.layers, f"measured on {found.target} by {found.compiler}"))
    difference = None
    if reference is not None:
        difference = diff(reference, graph, inputs, order="graph", progress=progress)
    page_options = PageOptions(costs, old, graph, difference, ports=ports, all_changes=all_changes)
    pages.save(path, library_page.render(figures, page_options))
    return PageWritten(str(path), library_page.summary(figures))


@checked
def profile(
    log: str | PathLike[str],
    model: Model | None = None,
    *,
    target: str | Target = "host",
    optimize: Optimize = "speed",
    weight_growth: float = 0.0,
    unit: str = "cycles",
    page: str | PathLike[str] | None = None,
    progress: Progress = notebook_progress.show,
) -> Profile:
    """What a device printed by the layer hook of a library (`build(layer_hook=True)`), beside the estimate
    for the model and the target that it was built of. Without a model there is nothing beside it. `unit` is
    that of numbers whose lines name none. `page` is an HTML file to write, which needs the model."""
    if unit not in tuple(Unit):
        raise EdgeKitError("E0103", f"unknown unit {unit}", hint=f"one of {', '.join(Unit)}")
    file, wanted = Path(log), growing(target_of(target), weight_growth)
    text = layer_log.read(file)
    if model is None:
        if page is not None:
            raise EdgeKitError("E0101", "a page about a log needs the model", hint="--model, and --target")
        return profiles.profile(layer_log.parse(text, file.name), file.name, unit, None, None)
    if page is not None:
        pages.check_destination(Path(page))
    graph = convert(model)
    progress("compiling")
    found = estimate(graph, target=wanted, optimize=optimize)
    assert found.map is not None
    layers = found.map.layers
    optional = [layer.name for layer in layers if layer.is_optional]
    names = [layer.name for layer in layers]
    library = f"{found.map.name} for {wanted.name}"
    read = layer_log.parse(text, file.name, names, optional, library)
    made = profiles.profile(read, file.name, unit, found.map, wanted)
    if page is not None:
        how = f"printed by the device, median of {made.runs} runs in {file.name}"
        title = f"Device, {made.unit}"
        costs = LayerCosts(title, made.unit, how, tuple(layer.measured for layer in made.layers))
        figures = LibraryFigures.of(found, wanted, optimize)
        pages.save(Path(page), library_page.render(figures, PageOptions([costs], None, graph)))
    return made
