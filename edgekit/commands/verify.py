"""`edgekit verify` compares compiled code with the simulator."""

from __future__ import annotations

from typing import Annotated, Any

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Cores,
    Dims,
    Entries,
    Goal,
    GoalOption,
    Json,
    MaxIterations,
    Model,
    Ports,
    PortsOption,
    Ram,
    RunnerOption,
    Shapes,
    Signature,
    SignatureOption,
    States,
    TargetName,
    bound_inputs,
    data,
    emit,
    entry_graphs,
    iterations,
    run_by,
)

PANEL = Panel.CHECKS


def verify(
    model: Model,
    target: TargetName = "host",
    data: Annotated[
        str, data(".npz, .npy or a folder of them; default: seeded random inputs.", "--input", "-i")
    ] = "",
    runner: RunnerOption = "",
    optimize: GoalOption = Goal.SPEED,
    ports: PortsOption = Ports.CALLER,
    cores: Cores = 1,
    ram: Ram = "",
    entry: Entries = None,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    profile: SignatureOption = None,
    signature: Signature = "",
    max_iterations: MaxIterations = "",
    json: Json = False,
) -> None:
    """Compare compiled code with the simulator; write nothing.

    edgekit verify digits.onnx -t cortex-m4
    edgekit verify digits.ek -d x.npz --cores 4
    """
    from edgekit import api
    from edgekit.reports import results

    with console.progress() as progress:
        bound = bound_inputs(shape, dim, const, state, signature)
        how: dict[str, Any] = {"profile": profile, "max_iterations": iterations(max_iterations)}
        graph = api.convert(model, **bound, **how)
        found = api.verify(
            graph,
            target=run_by(target, runner),
            inputs=data or None,
            optimize=optimize.value,
            ports=ports.value,
            cores=cores,
            ram=settings.size(ram, "--ram") or 0,
            entries=entry_graphs(entry, model, bound, **how),
            progress=progress,
        )
    emit("verify", found, results.verification(found), json)
