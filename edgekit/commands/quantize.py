"""`edgekit quantize` makes int8 or 16-bit floats of a model."""

from __future__ import annotations

from enum import StrEnum
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
    Mean,
    Model,
    Name,
    Raw,
    Shapes,
    Signature,
    States,
    Std,
    bound_inputs,
    emit,
    note_left_open,
    page,
    target_option,
    title,
    written,
)
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.files import unlinked

PANEL = Panel.SMALLER
_REPORTED = 16  # calibration samples on which a report looks at each layer alone


class Calibrate(StrEnum):
    """How ranges are chosen."""

    AUTO = "auto"
    MINMAX = "minmax"
    PERCENTILE = "percentile"
    MSE = "mse"
    ENTROPY = "entropy"


class Effort(StrEnum):
    """How long quality may take."""

    QUICK = "quick"
    NORMAL = "normal"
    HIGH = "high"


class Io(StrEnum):
    """What goes in and comes out."""

    FLOAT = "float"
    INT8 = "int8"
    UINT8 = "uint8"


def quantize(
    model: Model,
    output: Annotated[
        str, written("NET.EK", "Default: the model's name and the format."), settings.WRITES
    ] = "",
    dtype: Annotated[
        str,
        typer.Option(
            "--dtype",
            metavar="int8|int16|int4|f16|bf16",
            help="int8; int16 activations or int4 weights beside it; or 16-bit floats (fp16, bfloat16, ...).",
            autocompletion=lambda: ["int8", "int16", "int4", "f16", "bf16"],
        ),
    ] = "int8",
    weights: Annotated[
        str,
        typer.Option("--weights", help="int8, or int4 for half the flash; with bf16 or f16 the same type."),
    ] = "",
    effort: Annotated[
        Effort,
        typer.Option(
            "--effort",
            help="quick: one method for the ranges of all tensors; high: round weights beside int8 or int16 "
            "to minimize the error of layer outputs.",
        ),
    ] = Effort.NORMAL,
    activations: Annotated[
        str,
        typer.Option(
            "--activations",
            help="int8, int16, dynamic (int8, a scale for each row in each run) or float32: weights alone; "
            "with 16-bit weights float32 or the same type.",
        ),
    ] = "",
    group: Annotated[
        str,
        typer.Option(
            "--group", metavar="32", help="Weights that share a scale, with activations float32 or dynamic."
        ),
    ] = "",
    kv_cache: Annotated[
        str,
        typer.Option(
            "--kv-cache", metavar="int8", help="int8: keys and values of a decoder, a scale for each row."
        ),
    ] = "",
    data: CalibrationData = "",
    target: Annotated[
        str, target_option("Machine that layers are to be fast on; default: machines with an FPU.")
    ] = "",
    calibrate: Annotated[
        Calibrate,
        typer.Option("--calibrate", help="Method that chooses ranges; auto: the best for each tensor."),
    ] = Calibrate.AUTO,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="20",
            help="Time for all of it with --calibrate auto, in float passes over the data.",
        ),
    ] = "20",
    io: Annotated[
        Io, typer.Option("--io", help="Type of inputs and outputs; float keeps the model's.")
    ] = Io.FLOAT,
    min_sqnr: Annotated[
        str,
        typer.Option("--min-sqnr", metavar="25dB", help="Gate: least signal-to-noise ratio of the outputs."),
    ] = "",
    max_drop: Annotated[
        str,
        typer.Option("--max-drop", metavar="0.5%", help="Gate: largest drop of accuracy; needs --labels."),
    ] = "",
    labels: Annotated[
        str, typer.Option("--labels", metavar="Y.NPY", help="Classes of the calibration samples.")
    ] = "",
    formats: Annotated[
        str, typer.Option("--formats", help="Formats to try for layers until the gate is passed, in order.")
    ] = "int8,int16,bf16,f32",
    strict_int8: Annotated[
        bool,
        typer.Option(
            "--strict-int8", help="Keep layers in int8 (or int4) that are too noisy for 25 dB at the outputs."
        ),
    ] = False,
    report: Annotated[
        str, page("Also write an HTML report with a section for each layer."), settings.WRITES
    ] = "",
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    mean: Mean = None,
    std: Std = None,
    raw: Raw = None,
    name: Name = "",
    json: Json = False,
) -> None:
    """Quantize a model to int8, int4 or 16-bit floats.

    edgekit quantize digits.onnx --data calib.npz  # int8
    edgekit quantize digits.onnx --dtype fp16       # weights of 16 bits, no data needed
    edgekit quantize llama --dtype int4 --activations float32  # weights of 4 bits, in groups of 32
    edgekit quantize digits.onnx --data calib.npz --min-sqnr 25dB -o small.ek
    """
    from edgekit import api
    from edgekit.api.models import check_graph_path, target_of
    from edgekit.reports import comparison_page, pages
    from edgekit.reports import results as words

    chosen = api.Settings(
        dtype=dtype,
        weights=weights,
        effort=effort.value,
        activations=activations,
        group=settings.count(group, "--group", 1) if group else 0,
        kv_cache=kv_cache,
        calibrate=calibrate.value,
        passes=settings.count(budget, "--budget", 1),
        target=target_of(target) if target else "",
        io=io.value,
        formats=tuple(formats.split(",")),
        strict_int8=strict_int8,
        gate=api.Gate(
            settings.decibels(min_sqnr),
            settings.share(max_drop),
            api.read_labels(labels) if labels else None,
        ),
    )
    path = output or unlinked(f"{title(model, name)}_{chosen.name}.ek")
    if report:
        pages.check_destination(Path(report))
    with console.progress() as progress:
        progress("reading the model")
        raw_inputs = settings.raw_inputs(mean, std, raw)
        graph = api.convert(
            model, **bound_inputs(shape, dim, const, state, signature), name=name, **raw_inputs
        )
        check_graph_path(path)
        if chosen.gate.labels is not None and data:
            share = api.float_accuracy(graph, data, chosen.gate.labels, progress=progress)
            progress.clear()
            console.say(f"the float model has {share:.1%} on all samples")
        made, found = api.quantize_model(graph, data or None, chosen, progress=progress)
        distance = api.diff(graph, made, data or None, most=_REPORTED, progress=progress) if report else None
    api.save(made, path)
    if distance:
        names = [Path(model).name, Path(path).name]
        pages.save(Path(report), comparison_page.render(distance, names, found.warnings, found))
    emit("quantize", words.Quantized(path, found), words.quantization(path, found), json)
    note_left_open(model, graph)
    if dtype != chosen.dtype:
        console.say(f"note: --dtype {dtype} means {chosen.meaning}")
    for warning in found.warnings:
        console.say(f"warning: {warning}")
    if not found.verdict.passed:
        hint = f"{path} is the best that was found"
        if chosen.is_calibrated:
            hint += "; more formats (--formats) or --effort high may help"
        console.say_error(EdgeKitError("E0603", f"no formats pass the gate: {found.verdict.text}", hint=hint))
        raise typer.Exit(Exit.GATE)
