"""`edgekit export` makes a model file of a pickle, for a user who trusts its author."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import Json, emit, written
from edgekit.core.errors import EdgeKitError
from edgekit.core.files import unlinked

PANEL = Panel.MODELS


def export(
    context: typer.Context,
    model: Annotated[str, typer.Argument(metavar="PICKLE", help="A .pt, .pth, .pkl or .joblib file.")],
    output: Annotated[
        str, written("NET.PT2", "Default: the name of the pickle, .pt2 or .onnx."), settings.WRITES
    ] = "",
    shape: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            metavar="1,3,224,224",
            help="Shape of an argument of forward, in their order or as X=1,16; 1,16:int64 for integers.",
        ),
    ] = None,
    python: Annotated[
        str,
        typer.Option(
            "--python", metavar="PYTHON", help="Python that has the framework; default: the one of EdgeKit."
        ),
        settings.RUNS,
    ] = "",
    pythonpath: Annotated[
        list[str] | None,
        typer.Option("--pythonpath", metavar="FOLDER", help="Import the code of the network from here, too."),
        settings.RUNS,
    ] = None,
    timeout: Annotated[
        int, typer.Option("--timeout", metavar="SECONDS", min=1, help="End it after so long.")
    ] = 600,
    json: Json = False,
) -> None:
    """Make a model file of a pickle, such as a .pt; needs --trust.

    edgekit export net.pt --shape 1,3,224,224 --trust            # a network or TorchScript of PyTorch
    edgekit export yolo.pt --trust --python ~/yolo/bin/python    # where Ultralytics is installed
    edgekit export model.joblib --trust -o net.onnx              # a model of scikit-learn
    """
    from edgekit import exporting

    path = Path(model)
    loader, what = exporting.loadable(path)
    if not context.obj:
        raise EdgeKitError(
            "E0108",
            f"{model} is {what}: --trust is missing",
            hint=f"edgekit export {quote(model)} --trust, if you trust who made it: its code runs as you",
        )
    console.say(
        f"note: {model} is loaded in a process of its own; whatever code is in it runs with your rights"
    )
    made = exporting.export(
        path,
        Path(output or unlinked(path.stem)),
        loader,
        shapes=shape or (),
        python=python,
        pythonpath=pythonpath or (),
        seconds=timeout,
    )
    emit("export", made, [f"file    {made.file}, exported by {made.python}"], json)
    console.say(f"note: edgekit convert {quote(made.file)} reads it")
