"""`edgekit run` runs a model on inputs from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from edgekit import console, settings
from edgekit.command_help import Panel
from edgekit.commands._shared import (
    Consts,
    Dims,
    Json,
    MaxIterations,
    Model,
    Optimize,
    OptimizeOption,
    Ports,
    PortsOption,
    RunnerOption,
    Shapes,
    Signature,
    SignatureOption,
    States,
    arrays_file,
    bound_inputs,
    emit,
    iterations,
    run_by,
    target_option,
    written,
)

PANEL = Panel.CHECKS


def run(
    model: Model,
    input: Annotated[str, arrays_file("--input", "-i", help="Arrays by input name, or one as .npy.")],
    output: Annotated[
        str, written("Y.NPZ", "Write the outputs instead of printing them."), settings.WRITES
    ] = "",
    target: Annotated[str, target_option("Run the compiled code; default: the simulator.")] = "",
    runner: RunnerOption = "",
    optimize: OptimizeOption = Optimize.SPEED,
    ports: PortsOption = Ports.CALLER,
    shape: Shapes = None,
    dim: Dims = None,
    const: Consts = None,
    state: States = None,
    profile: SignatureOption = None,
    signature: Signature = "",
    max_iterations: MaxIterations = "",
    json: Json = False,
) -> None:
    """Run a model on inputs from a file.

    edgekit run digits.onnx -i x.npz                        # in the simulator, printed
    edgekit run digits.onnx -i x.npz -t cortex-m4 -o y.npz  # compiled, into a file
    """
    from edgekit import api
    from edgekit.reports import results
    from edgekit.samples import arrays

    with console.progress() as progress:
        graph = api.convert(
            model,
            **bound_inputs(shape, dim, const, state, signature),
            profile=profile,
            max_iterations=iterations(max_iterations),
        )
        if output:
            arrays.check_destination(Path(output), len(graph.outputs))
        found = api.run(
            graph,
            input,
            target=run_by(target, runner) or None,
            optimize=optimize.value,
            ports=ports.value,
            progress=progress,
        )
    if output:
        arrays.save(Path(output), found)
        emit("run", {"file": output}, [f"{output}: {', '.join(found)}"], json)
    else:
        emit("run", {"outputs": found}, results.outputs(found), json)
