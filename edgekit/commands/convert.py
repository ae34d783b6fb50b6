"""`edgekit convert` makes an .ek file."""

from __future__ import annotations

from typing import Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Dims,
    Json,
    MaxIterations,
    Mean,
    Model,
    Name,
    Outputs,
    Raw,
    Shapes,
    Signature,
    SignatureOption,
    States,
    Std,
    WideWeights,
    bound_inputs,
    emit,
    iterations,
    note_left_open,
    title,
    written,
)
from edgekit.commands.quantize import Io
from edgekit.core.files import unlinked

PANEL = Panel.MODELS


def convert(
    model: Model,
    output: Annotated[str, written("NET.EK", "Default: the model's name."), settings.WRITES] = "",
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    wide_weights: WideWeights = False,
    profile: SignatureOption = None,
    signature: Signature = "",
    outputs: Outputs = None,
    max_iterations: MaxIterations = "",
    mean: Mean = None,
    std: Std = None,
    raw: Raw = None,
    io: Annotated[
        Io, typer.Option("--io", help="Type of inputs and outputs of a quantized model; float keeps them.")
    ] = Io.FLOAT,
    name: Name = "",
    json: Json = False,
) -> None:
    """Convert a model to a simplified, checked .ek file.

    edgekit convert digits.onnx                     # to digits.ek
    edgekit convert digits.onnx --dim batch=4       # with a dimension that the file leaves open
    edgekit convert digits.onnx --std 16 -o raw.ek  # for bytes from 0 to 16
    edgekit convert yolo.onnx --outputs boxes,scores  # without the steps after these
    edgekit convert int8.onnx --io int8             # integers in and out, where floats only become integers
    """
    from edgekit import api
    from edgekit.api.models import left_over
    from edgekit.api.text import left_out_tokenizer
    from edgekit.inspection import broken_weights, float_layers
    from edgekit.integer_ports import with_integer_ports
    from edgekit.reports import results

    path = output or unlinked(f"{title(model, name)}.ek")
    raw_inputs = settings.raw_inputs(mean, std, raw)
    graph = api.convert(
        model,
        **bound_inputs(shape, dim, const, state, signature),
        wide_weights=wide_weights,
        profile=profile,
        max_iterations=iterations(max_iterations),
        outputs=settings.words(outputs),
        name=name,
        **raw_inputs,
    )
    if io is not Io.FLOAT:
        graph = with_integer_ports(graph, io.value)
    api.save(graph, path)
    found = results.Conversion.of(graph, path)
    emit("convert", found, results.conversion(found), json)
    note_left_open(model, graph)
    if left_out := left_out_tokenizer(model, graph):
        console.say(f"note: tokenizer.json is left out: {left_out.message}")
    for note in left_over(graph) if mean or std else ():
        console.say(f"note: {note}")
    for warning in filter(None, (float_layers(graph), broken_weights(graph))):
        console.say(f"warning: {warning}")
