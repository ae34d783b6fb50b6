"""`edgekit tune` makes a model fit a board."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    CalibrationData,
    Consts,
    Dims,
    Json,
    Model,
    Name,
    Ports,
    PortsOption,
    Shapes,
    Signature,
    States,
    TargetName,
    bound_inputs,
    emit,
    title,
    written,
)
from edgekit.commands.quantize import Io
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.files import unlinked

PANEL = Panel.SMALLER


def tune(
    model: Model,
    output: Annotated[str, written("FOLDER", "Default: the model's name and tuned."), settings.WRITES] = "",
    target: TargetName = "host",
    data: CalibrationData = "",
    labels: Annotated[
        str,
        typer.Option(
            "--labels", metavar="Y.NPY", help="Classes of the samples; default: the model's own answers."
        ),
    ] = "",
    flash: Annotated[
        str, typer.Option("--flash", metavar="128K", help="Limit of flash for the library.")
    ] = "",
    ram: Annotated[str, typer.Option("--ram", metavar="64K", help="Limit of arena and stack together.")] = "",
    latency: Annotated[
        str,
        typer.Option("--latency", metavar="20ms", help="Limit of time for a run, or of instructions: 3M."),
    ] = "",
    max_drop: Annotated[str, typer.Option("--max-drop", metavar="1%", help="Largest drop of accuracy.")] = "",
    min_sqnr: Annotated[
        str, typer.Option("--min-sqnr", metavar="25dB", help="Least signal-to-noise ratio of the outputs.")
    ] = "",
    budget: Annotated[str, typer.Option("--budget", metavar="N", help="Number of variants to try.")] = "40",
    seed: Annotated[str, typer.Option("--seed", metavar="N", help="Random seed of the search.")] = "0",
    jobs: Annotated[
        str, typer.Option("--jobs", metavar="N", help="Number of processes; default: one for each core.")
    ] = "",
    dask: Annotated[
        str,
        typer.Option("--dask", metavar="TCP://HOST:PORT", help="Run the search on a Dask cluster."),
        settings.RUNS,
    ] = "",
    count: Annotated[
        bool, typer.Option("--count/--no-count", help="Count instructions exactly, in an emulator; slower.")
    ] = False,
    ports: PortsOption = Ports.CALLER,
    io: Annotated[
        Io, typer.Option("--io", help="Type of inputs and outputs; float keeps the model's.")
    ] = Io.FLOAT,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    name: Name = "",
    json: Json = False,
) -> None:
    """Search for the pruning, formats and code that fit a board.

    edgekit tune digits.onnx --data calib.npz -t stm32f407 --ram 8K --flash 16K --max-drop 1%
    """
    from edgekit import api
    from edgekit.core.ek_file import SUFFIX
    from edgekit.reports import tuning
    from edgekit.tuning.output import JOURNAL

    folder = Path(output or unlinked(f"{title(model, name)}_tuned"))
    limits = api.Limits(
        flash=settings.size(flash, "--flash"),
        ram=settings.size(ram, "--ram"),
        seconds=settings.seconds(latency),
        instructions=settings.instructions(latency),
        max_drop=settings.share(max_drop),
        min_sqnr=settings.decibels(min_sqnr),
    )
    effort = api.Effort(
        trials=settings.count(budget, "--budget"),
        seed=settings.count(seed, "--seed", least=0),
        jobs=settings.count(jobs, "--jobs") if jobs else os.cpu_count() or 1,
        dask=dask,
    )
    try:
        with console.progress(plain_lines=True) as progress:
            progress("reading the model")
            found = api.tune(
                api.convert(model, **bound_inputs(shape, dim, const, state, signature), name=name),
                data or None,
                limits,
                target=target,
                labels=api.read_labels(labels) if labels else None,
                folder=folder,
                effort=effort,
                ports=ports.value,
                io=io.value,
                count=count,
                progress=progress,
            )
    except KeyboardInterrupt:
        if (folder / JOURNAL).is_file():
            best = f", {folder} the best of it" * any(folder.glob(f"*{SUFFIX}"))
            what = f"interrupted; {folder / JOURNAL} has what was tried{best}"
            console.say(f"{what}: the same command goes on from there")
        raise
    emit("tune", found, tuning.lines(found, folder), json)
    if found.best is None:
        message, hint = tuning.why_not(found)
        console.say_error(EdgeKitError("E0606", message, hint=hint))
        raise typer.Exit(Exit.GATE)
    if error := tuning.undecided(found):
        console.say_error(error)
        raise typer.Exit(error.exit_code)
