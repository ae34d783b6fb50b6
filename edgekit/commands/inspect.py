"""`edgekit inspect` shows what is in a model."""

from __future__ import annotations

from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Dims,
    Json,
    Model,
    Shapes,
    Signature,
    States,
    TargetName,
    Verbose,
    bound_inputs,
    emit,
)

PANEL = Panel.MODELS


def inspect(
    model: Model,
    target: TargetName = "host",
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Show inputs, outputs, layers, parameters, MACs and memory.

    edgekit inspect digits.onnx
    edgekit inspect digits.onnx -v -t cortex-m4  # a line for each layer, as this target runs it
    """
    from edgekit import api
    from edgekit.reports import results

    graph = api.convert(model, **bound_inputs(shape, dim, const, state, signature))
    found = api.inspect(graph, target=target)
    emit("inspect", found, results.inspection(found, verbose=verbose), json)
