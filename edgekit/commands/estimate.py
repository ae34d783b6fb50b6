"""`edgekit estimate` tells what a library will take, and writes nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Dims,
    Entries,
    Goal,
    GoalOption,
    Json,
    Model,
    Ports,
    PortsOption,
    Ram,
    Shapes,
    Signature,
    States,
    TargetName,
    WeightGrowth,
    WideWeights,
    bound_inputs,
    emit,
    entry_graphs,
)

PANEL = Panel.LIBRARIES


def estimate(
    model: Model,
    target: TargetName = "host",
    optimize: GoalOption = Goal.SPEED,
    ports: PortsOption = Ports.CALLER,
    count: Annotated[
        bool, typer.Option("--count/--no-count", help="Count instructions exactly, in an emulator; slower.")
    ] = False,
    device: Annotated[
        str,
        typer.Option(
            help="Estimate the time of a run on this GPU, too: its name, such as h200, or a .toml file."
        ),
    ] = "",
    entry: Entries = None,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    wide_weights: WideWeights = False,
    weight_growth: WeightGrowth = 0.0,
    ram: Ram = "",
    json: Json = False,
) -> None:
    """Estimate flash, RAM and time of a model on a target.

    edgekit estimate digits.onnx -t cortex-m4
    edgekit estimate digits.onnx -t stm32f407 --count  # instructions to the last one, slower
    edgekit estimate camera.ek --optimize ram  # RAM and instructions, from whole tensors to rows
    edgekit estimate digits.onnx -t webgpu --device h200  # microseconds of each kernel, and what bounds it
    """
    from edgekit import api
    from edgekit.integer_ports import float_ports_note
    from edgekit.reports import footprint

    with console.progress() as progress:
        progress("reading the model")
        bound = bound_inputs(shape, dim, const, state, signature)
        graph = api.convert(model, **bound, wide_weights=wide_weights)
        entries = entry_graphs(entry, model, bound, wide_weights=wide_weights)
        progress("compiling")
        found = api.estimate(
            graph,
            target=target,
            optimize=optimize.value,
            ports=ports.value,
            count=count,
            weight_growth=weight_growth,
            ram=settings.size(ram, "--ram") or 0,
            entries=entries,
            device=device,
        )
    emit("estimate", found, footprint.estimate(found), json)
    if note := float_ports_note(graph, found.ram_bytes, model):
        console.say(f"note: {note}")
