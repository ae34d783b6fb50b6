"""`edgekit new` starts a project around a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgekit import console
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Classes,
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
    bound_inputs,
    class_names,
    data,
    emit,
    note_left_open,
    target_option,
)

PANEL = Panel.LIBRARIES


def _templates(incomplete: str) -> list[str]:
    """Templates, for shells that complete words."""
    from edgekit import projects

    return [template.name for template in projects.templates() if template.name.startswith(incomplete)]


def new(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="The folder to make, named as the project.")
    ],
    model: Model,
    template: Annotated[
        str,
        typer.Option(
            "--template",
            metavar="c|cpp|rust|go|python|web|arduino|platformio|esp-idf|zephyr",
            help="Kind of project.",
            autocompletion=_templates,
        ),
    ] = "c",
    target: Annotated[str, target_option("Default: what suits the template.")] = "",
    optimize: OptimizeOption = Optimize.SPEED,
    classes: Classes = "",
    data: Annotated[
        str, data("Typical inputs, to verify with; the program classifies the first one.", "--sample")
    ] = "",
    verify: Annotated[
        bool | None,
        typer.Option("--verify/--no-verify", help="Require or skip the comparison with the simulator."),
    ] = None,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    name: Name = "",
    json: Json = False,
) -> None:
    """Start a project around a model: a program that builds at once.

    edgekit new reader digits.onnx                                # a C program, built by CMake
    edgekit new badge digits.onnx --template arduino -t nrf52840  # a sketch
    edgekit new page digits.onnx --template web                   # a web page
    """
    from edgekit import api, projects

    projects.find(template)  # before the model is read, which may take long
    projects.check(Path(folder))
    names = class_names(classes)
    with console.progress() as progress:
        progress("reading the model")
        graph = api.convert(model, **bound_inputs(shape, dim, const, state, signature), name=name)
        found = api.new(
            folder,
            graph,
            template=template,
            target=target,
            optimize=optimize.value,
            classes=names,
            samples=data or None,
            verify=verify,
            progress=progress,
        )
    emit("new", found, projects.in_words(found), json)
    note_left_open(model, graph)
