"""`edgekit diff` compares two models."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Dims,
    Json,
    Model,
    Shapes,
    Signature,
    States,
    bound_inputs,
    data,
    emit,
    page,
)

PANEL = Panel.CHECKS


class Order(StrEnum):
    """Which layers come first."""

    CULPRIT = "culprit"
    GRAPH = "graph"


def diff(
    a: Model,
    b: Model,
    data: Annotated[str, data(".npz, .npy or a folder of them; default: seeded random inputs.")] = "",
    order: Annotated[
        Order, typer.Option("--order", help="List the most harmful layer first, or follow the graph.")
    ] = Order.CULPRIT,
    report: Annotated[
        str,
        page("Also write an HTML report with a section for each layer.", "--html", "--output", "-o"),
        settings.WRITES,
    ] = "",
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    signature: Signature = "",
    json: Json = False,
) -> None:
    """Compare the outputs and layers of two models.

    edgekit diff digits.onnx digits_int8.ek  # with random inputs
    edgekit diff digits.onnx digits_int8.ek --data x.npz --report page.html
    """
    from edgekit import api
    from edgekit.core import ek_file
    from edgekit.reports import comparison_page, pages, results

    if report:
        pages.check_destination(Path(report))
    with console.progress() as progress:
        bound = bound_inputs(shape, dim, const, state, signature)
        new = [model for model in (a, b) if not ek_file.is_ek(Path(model))] or [a, b]
        first, second = (api.convert(m, **bound) if m in new else api.load(m) for m in (a, b))
        found = api.diff(first, second, data or None, order=order.value, progress=progress)
    if report:
        pages.save(Path(report), comparison_page.render(found, [Path(a).name, Path(b).name]))
    emit("diff", found, results.difference(found), json)
    for warning in found.warnings:
        console.say(f"warning: {warning}")
