"""`edgekit prune` takes channels out of a model."""

from __future__ import annotations

from enum import StrEnum
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
    Optimize,
    OptimizeOption,
    Shapes,
    Signature,
    States,
    TargetName,
    bound_inputs,
    emit,
    title,
    written,
)
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.files import unlinked

PANEL = Panel.SMALLER


class Criterion(StrEnum):
    """Which channels matter least."""

    AUTO = "auto"
    RECONSTRUCTION = "reconstruction"
    ACTIVATION = "activation"
    BN = "bn"
    L1 = "l1"
    L2 = "l2"


class Measured(StrEnum):
    """In which numbers flash is measured."""

    FLOAT32 = "float32"
    INT8 = "int8"


def prune(
    model: Model,
    output: Annotated[str, written("NET.EK", "Default: the model's name and pruned."), settings.WRITES] = "",
    ratio: Annotated[str, typer.Option("--ratio", metavar="50%", help="Share of channels to remove.")] = "",
    macs: Annotated[str, typer.Option("--macs", metavar="50%", help="Multiply-accumulates to keep.")] = "",
    weights: Annotated[str, typer.Option("--weights", metavar="50%", help="Weights to keep.")] = "",
    instructions: Annotated[
        str, typer.Option("--instructions", metavar="50%", help="Instructions of a run to keep.")
    ] = "",
    flash: Annotated[
        str, typer.Option("--flash", metavar="128K", help="Limit of flash for the library.")
    ] = "",
    blocks: Annotated[
        str,
        typer.Option(
            "--blocks", metavar="60%", help="Share of weight blocks to set to zero, for sparse kernels."
        ),
    ] = "",
    measured: Annotated[
        Measured, typer.Option("--as", help="Measure flash of the float model, or of its int8 version.")
    ] = Measured.FLOAT32,
    target: TargetName = "host",
    optimize: OptimizeOption = Optimize.SPEED,
    data: CalibrationData = "",
    criterion: Annotated[
        Criterion,
        typer.Option("--criterion", help="Ranking of channels; auto: reconstruction with data, else l2."),
    ] = Criterion.AUTO,
    multiple: Annotated[
        str,
        typer.Option(
            "--multiple", metavar="N", help="Round channel counts to this multiple; default: the target's."
        ),
    ] = "",
    fit: Annotated[
        bool, typer.Option("--fit/--no-fit", help="Adjust the remaining weights to compensate.")
    ] = True,
    labels: Annotated[
        str, typer.Option("--labels", metavar="Y.NPY", help="Classes of the calibration samples.")
    ] = "",
    max_drop: Annotated[
        str,
        typer.Option("--max-drop", metavar="0.5%", help="Gate: largest drop of accuracy; needs --labels."),
    ] = "",
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    name: Name = "",
    json: Json = False,
) -> None:
    """Make a model smaller by removing its least important channels.

    edgekit prune digits.onnx --macs 50% --data calib.npz
    edgekit prune digits.onnx --flash 16K -t cortex-m4 --data calib.npz -o small.ek
    """
    from edgekit import api
    from edgekit.api.models import check_graph_path
    from edgekit.reports import footprint

    path = output or unlinked(f"{title(model, name)}_pruned.ek")
    allowed = settings.share(max_drop)
    if allowed is not None and not labels:
        raise EdgeKitError("E0101", "a limit on the drop of accuracy needs labels", hint="see --labels")
    wanted = api.Pruning(
        ratio=settings.share(ratio, "--ratio", "50%"),
        macs=settings.share(macs, "--macs", "50%"),
        weights=settings.share(weights, "--weights", "50%"),
        instructions=settings.share(instructions, "--instructions", "50%"),
        flash=settings.size(flash, "--flash"),
        blocks=settings.share(blocks, "--blocks", "60%"),
        criterion="" if criterion is Criterion.AUTO else criterion.value,
        multiple=settings.size(multiple, "--multiple") or 1,
        fit=fit,
    )
    with console.progress() as progress:
        progress("reading the model")
        graph = api.convert(model, **bound_inputs(shape, dim, const, state, signature), name=name)
        check_graph_path(path)
        made, found = api.prune(
            graph,
            data or None,
            wanted,
            target=target,
            optimize=optimize.value,
            measured_as=measured.value,
            labels=api.read_labels(labels) if labels else None,
            progress=progress,
        )
    api.save(made, path)
    emit("prune", footprint.PrunedModel(path, found), footprint.pruning(path, found), json)
    if not data:
        console.say("warning: without --data nothing is known of the quality, or makes up for what is gone")
    drop = (found.accuracy_before or 0) - (found.accuracy or 0)
    if allowed is not None and drop > allowed + 1e-9:
        hint = f"{path} was written all the same; less pruning, more data, or fine-tuning helps"
        what = f"accuracy drops by {drop:.2%}, a drop of {allowed:.2%} is allowed"
        console.say_error(EdgeKitError("E0603", what, hint=hint))
        raise typer.Exit(Exit.GATE)
