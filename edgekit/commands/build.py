"""`edgekit build` writes a C library."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    AllChanges,
    Classes,
    Consts,
    Cores,
    Dims,
    Entries,
    Goal,
    GoalOption,
    Json,
    MaxIterations,
    Model,
    Name,
    Ports,
    PortsOption,
    Ram,
    Shapes,
    Signature,
    SignatureOption,
    States,
    TargetName,
    Verbose,
    WeightGrowth,
    WideWeights,
    bound_inputs,
    class_names,
    data,
    emit,
    entry_graphs,
    iterations,
    note_left_open,
    page,
    written,
)

PANEL = Panel.LIBRARIES


class Weights(StrEnum):
    """How constants are written."""

    AUTO = "auto"
    C = "c"
    BIN = "bin"
    POINTER = "pointer"


def _packages(incomplete: str) -> list[str]:
    """Packages, for shells that complete words."""
    from edgekit.codegen import packages

    return [kind for kind in packages.kinds() if kind.startswith(incomplete)]


def build(
    context: typer.Context,
    model: Model,
    output: Annotated[str, written("FOLDER", "Default: the model's name."), settings.WRITES] = "",
    target: TargetName = "host",
    optimize: GoalOption = Goal.SPEED,
    weights: Annotated[
        Weights,
        typer.Option(
            "--weights",
            help="Write weights as C text or a binary file; auto: by size; pointer: given to each run.",
        ),
    ] = Weights.AUTO,
    ports: PortsOption = Ports.CALLER,
    verify: Annotated[
        bool | None,
        typer.Option("--verify/--no-verify", help="Require or skip the comparison with the simulator."),
    ] = None,
    package: Annotated[
        list[str] | None,
        typer.Option(
            "--package",
            metavar="npm,arduino",
            help="Also write packages for these build systems.",
            autocompletion=_packages,
        ),
    ] = None,
    helpers: Annotated[
        list[str] | None,
        typer.Option(
            "--helpers", metavar="image,audio", help="Add code to the package that prepares inputs."
        ),
    ] = None,
    classes: Classes = "",
    data: Annotated[
        str,
        data("Typical inputs, to verify with; the first one is in the examples of packages.", "--sample"),
    ] = "",
    entry: Entries = None,
    report: Annotated[
        str,
        page("Also write an HTML report: graph, arena, flash, layers by cost.", "--html"),
        settings.WRITES,
    ] = "",
    all_changes: AllChanges = False,
    layer_hook: Annotated[
        bool, typer.Option("--layer-hook", help="Call your function after each layer, to measure it.")
    ] = False,
    cores: Cores = 1,
    sbom: Annotated[
        bool, typer.Option("--sbom", help="Add a software bill of materials (CycloneDX 1.6).")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite files that EdgeKit did not write."),
        settings.OVERWRITES,
    ] = False,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    wide_weights: WideWeights = False,
    weight_growth: WeightGrowth = 0.0,
    ram: Ram = "",
    profile: SignatureOption = None,
    signature: Signature = "",
    max_iterations: MaxIterations = "",
    name: Name = "",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Write a C library; compile, measure and verify it.

    edgekit build digits.onnx                              # for this machine, into digits/
    edgekit build digits.onnx -t cortex-m4 -o lib          # for a Cortex-M4, into lib/
    edgekit build digits.ek --optimize size --ports arena  # least flash, inputs in the arena
    edgekit build camera.ek --optimize ram                 # least RAM: layers run row by row
    edgekit build camera.ek --ram 24K                      # the fastest that works in so much
    edgekit build digits.ek -t wasm32 --package npm        # with a package for npm
    edgekit build tiny-llama --entry prefill:tokens=16     # with a second run function, for prompts
    edgekit build digits.ek --report digits.html             # with a report to look at
    """
    from edgekit import api
    from edgekit.api.libraries import code_for, growing, least_ram
    from edgekit.api.models import target_of
    from edgekit.codegen.execution import processor
    from edgekit.codegen.text.tables import left_out
    from edgekit.format_notes import formats_note
    from edgekit.integer_ports import float_ports_note
    from edgekit.reports import library_page, pages, results

    if report:
        pages.check_destination(Path(report))
    names = class_names(classes)
    with console.progress() as progress:
        progress("reading the model")
        bound = bound_inputs(shape, dim, const, state, signature)
        how: dict[str, Any] = {
            "wide_weights": wide_weights,
            "profile": profile,
            "max_iterations": iterations(max_iterations),
        }
        graph = api.convert(model, **bound, **how, name=name)
        entries = entry_graphs(entry, model, bound, **how)
        found = api.build(
            graph,
            output or None,
            target=target,
            optimize=optimize.value,
            weights=weights.value,
            ports=ports.value,
            verify=verify,
            package=settings.words(package),
            helpers=settings.words(helpers),
            classes=names,
            samples=data or None,
            entries=entries,
            layer_hook=layer_hook,
            cores=cores,
            weight_growth=weight_growth,
            ram=settings.size(ram, "--ram") or 0,
            sbom=sbom,
            force=force,
            progress=progress,
        )
    if report:
        most = settings.size(ram, "--ram") or 0
        wanted = least_ram(growing(target_of(target), weight_growth), optimize.value, most)
        figures = library_page.LibraryFigures.of(found, wanted, code_for(optimize.value))
        options = library_page.PageOptions(graph=graph, ports=ports.value, all_changes=all_changes)
        pages.save(Path(report), library_page.render(figures, options))
    emit("build", found, results.build(found, verbose=verbose), json)
    note_left_open(model, graph)
    if note := formats_note(graph, target_of(target)):
        console.say(f"note: {note}")
    if note := float_ports_note(graph, found.working_bytes, model):
        console.say(f"note: {note}")
    native = processor.native().name
    source = context.get_parameter_source("target")
    if source and source.name == "DEFAULT" and native != found.target:
        console.say(f"note: portable C; --target native, {native} here, often runs several times as fast")
    if note := left_out(graph.tokenizer):
        console.say(f"note: {note}")
    if found.warning:
        console.say(f"warning: {found.warning}")
    if found.unverified and verify is None:
        console.say(f"note: written, but not verified: {found.unverified}")
