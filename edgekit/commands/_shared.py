"""What several commands share: their options, and how a result is printed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from edgekit import console, settings
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

if TYPE_CHECKING:
    from edgekit.core.ir import Graph  # numpy takes its time, which --help should not


class Optimize(StrEnum):
    """What the generated code is made for."""

    SIZE = "size"
    SPEED = "speed"


class Ports(StrEnum):
    """Whose memory inputs and outputs are in."""

    CALLER = "caller"
    ARENA = "arena"


class Profile(StrEnum):
    """Whose integers a quantized TFLite model keeps."""

    LITERT = "litert"
    TFLM = "tflm"


Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="An .ek file, or a model file of any known format.")
]
Shapes = Annotated[
    list[str] | None,
    typer.Option("--shape", metavar="X=1,3,224,224", help="Set the shape of a dynamic input."),
]
Dims = Annotated[
    list[str] | None,
    typer.Option("--dim", metavar="SEQUENCE=64", help="Set a dynamic dimension by its name."),
]
Consts = Annotated[
    list[str] | None, typer.Option("--const", metavar="SR=16000", help="Replace an input by a constant.")
]
MaxIterations = Annotated[
    str, typer.Option("--max-iterations", metavar="N", help="Limit loops whose end depends on data.")
]
Mean = Annotated[
    list[str] | None,
    typer.Option("--mean", metavar="M,M,M", help="Accept raw data: subtract this inside the model."),
]
Std = Annotated[list[str] | None, typer.Option("--std", metavar="S,S,S", help="Divide raw data by this.")]
Raw = Annotated[
    list[str] | None,
    typer.Option("--raw", metavar="TYPE", help="Type of raw data; uint8 with --mean or --std."),
]
SignatureOption = Annotated[
    Profile | None,
    typer.Option("--profile", help="Engine to match bit by bit, for TFLite models; default: litert."),
]
Signature = Annotated[
    str, typer.Option("--signature", metavar="NAME", help="Entry point of a TFLite file with several.")
]
WideWeights = Annotated[
    bool,
    typer.Option("--wide-weights", help="Widen weights that are stored in 8 or 16 bits to float32."),
]
Cores = Annotated[
    int,
    typer.Option(
        "--cores",
        metavar="2",
        help="Split layers into so many parts at most, which several cores may run.",
        show_default=False,
    ),
]
WeightGrowth = Annotated[
    float,
    typer.Option(
        "--weight-growth",
        metavar="2.0",
        help="Let weights grow up to this factor where that is faster.",
        show_default=False,
    ),
]
Name = Annotated[str, typer.Option("--name", help="Prefix of all names in the generated C.")]


def _trusted_target(context: typer.Context, name: str) -> str:
    """The name of a target; a file that names programs of its own needs trust."""
    is_strange = name.endswith(".toml") and not context.obj and not _is_own(name)
    if is_strange and (foreign := targets.foreign_programs(name)):
        raise EdgeKitError(
            "E0108",
            f"target file {name} lets this machine run {', '.join(foreign)}",
            hint="add --trust if you trust it",
        )
    return name


def _is_own(name: str) -> bool:
    return Path(name).resolve().is_relative_to(settings.user_folder().resolve())


def target_option(help: str) -> Any:
    return typer.Option("--target", help=help, callback=_trusted_target)


TargetName = Annotated[str, target_option("One of `edgekit targets`, or a .toml file.")]
RunnerOption = Annotated[
    str,
    typer.Option(
        "--runner",
        envvar="EDGEKIT_RUNNER",
        show_envvar=False,
        help="Program that runs the code here: node, chromium, an emulator with options.",
    ),
    settings.RUNS,
]
OptimizeOption = Annotated[Optimize, typer.Option("--optimize", help="Optimize code for size or speed.")]
PortsOption = Annotated[
    Ports, typer.Option("--ports", help="Keep inputs and outputs in the caller's memory or in the arena.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print a line for each layer.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


class BoundInputs(TypedDict):
    """Which entry of a model is meant, and what is bound and fixed of its inputs."""

    shapes: dict[str, tuple[int, ...]]
    dims: dict[str, int]
    constants: dict[str, float]
    signature: str


def bound_inputs(
    shape: Sequence[str] | None,
    dim: Sequence[str] | None,
    const: Sequence[str] | None,
    signature: str,
) -> BoundInputs:
    """--shape, --dim, --const and --signature."""
    return {
        "shapes": settings.shapes(shape),
        "dims": settings.dims(dim),
        "constants": settings.constants(const),
        "signature": signature,
    }


def iterations(text: str) -> int | None:
    """--max-iterations."""
    return settings.count(text, "--max-iterations", 1) if text else None


def note_left_open(model: str, graph: Graph) -> None:
    """Mention a batch that is 1 by default, branches that are always taken, and outputs with a count; an .ek
    file was mentioned when it was made."""
    from edgekit import inspection
    from edgekit.core import ek_file

    if ek_file.is_ek(Path(model)):
        return
    notes = (inspection.open_batches(graph), inspection.one_sided(graph), inspection.counted_rows(graph))
    for note in filter(None, notes):
        console.say(f"note: {note}")


def run_by(target: str, runner: str) -> str | Target:
    """The target that a command names, run by something else if it says so."""
    return targets.with_runner(targets.load(target), runner) if runner else target


def written(metavar: str, help: str) -> Any:
    return typer.Option("--output", "-o", metavar=metavar, help=help)


def arrays_file(option: str, help: str) -> Any:
    return typer.Option(option, metavar="X.NPZ", help=help)


def page(option: str) -> Any:
    return typer.Option(
        option, metavar="PAGE.HTML", help="Write an HTML report with a section for each layer."
    )


def emit(command: str, result: object, lines: Sequence[str], json: bool) -> None:
    """Print a result in the form that was asked for."""
    from edgekit.reports import results

    console.out(results.as_json(command, result) if json else "\n".join(lines))
