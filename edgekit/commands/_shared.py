"""What several commands share: their options, and how a result is printed."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from edgekit import console, settings
from edgekit.command_help import CODE, GENERAL, INPUTS, option
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target

if TYPE_CHECKING:
    from edgekit.core.ir import Graph  # numpy takes its time, which --help should not


class Optimize(StrEnum):
    """What the generated code is made for."""

    SIZE = "size"
    SPEED = "speed"


class Goal(StrEnum):
    """What a library is made for: its code, or what it works in."""

    SIZE = "size"
    SPEED = "speed"
    RAM = "ram"


class Ports(StrEnum):
    """Whose memory inputs and outputs are in."""

    CALLER = "caller"
    ARENA = "arena"
    ROWS = "rows"


class Profile(StrEnum):
    """Whose integers a quantized TFLite model keeps."""

    LITERT = "litert"
    TFLM = "tflm"


Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="An .ek file, or a model file of any known format.")
]
Shapes = Annotated[
    list[str] | None,
    option("--shape", group=INPUTS, metavar="X=1,3,224,224", help="Set the shape of a dynamic input."),
]
Dims = Annotated[
    list[str] | None,
    option("--dim", group=INPUTS, metavar="SEQUENCE=64", help="Set a dynamic dimension by its name."),
]
Consts = Annotated[
    list[str] | None,
    option("--const", group=INPUTS, metavar="SR=16000", help="Replace an input by a constant."),
]
States = Annotated[
    list[str] | None,
    option(
        "--state",
        group=INPUTS,
        metavar="PAST=PRESENT",
        help="Keep an input that is an output of the last run.",
    ),
]
MaxIterations = Annotated[
    str, option("--max-iterations", group=INPUTS, metavar="N", help="Limit loops whose end depends on data.")
]
Mean = Annotated[
    list[str] | None,
    option("--mean", group=INPUTS, metavar="M,M,M", help="Accept raw data: subtract this inside the model."),
]
Std = Annotated[
    list[str] | None, option("--std", group=INPUTS, metavar="S,S,S", help="Divide raw data by this.")
]
Raw = Annotated[
    list[str] | None,
    option("--raw", group=INPUTS, metavar="TYPE", help="Type of raw data; uint8 with --mean or --std."),
]
SignatureOption = Annotated[
    Profile | None,
    option("--profile", group=INPUTS, help="Engine to match bit by bit, for TFLite models; default: litert."),
]
Signature = Annotated[
    str,
    option(
        "--signature",
        group=INPUTS,
        metavar="NAME",
        help="Entry point of a model that has several: a TFLite file, a SavedModel, an encoder-decoder.",
    ),
]
Outputs = Annotated[
    list[str] | None,
    option("--outputs", group=INPUTS, metavar="NAME,NAME", help="End the network at these tensors."),
]
WideWeights = Annotated[
    bool,
    option("--wide-weights", group=INPUTS, help="Widen weights that are stored in 8 or 16 bits to float32."),
]
Cores = Annotated[
    int,
    option(
        "--cores",
        group=CODE,
        metavar="2",
        help="Split layers into so many parts at most, which several cores may run.",
        show_default=False,
    ),
]
WeightGrowth = Annotated[
    float,
    option(
        "--weight-growth",
        group=CODE,
        metavar="2.0",
        help="Let weights grow up to this factor where that is faster.",
        show_default=False,
    ),
]
Name = Annotated[str, option("--name", group=CODE, help="Prefix of all names in the generated C.")]


Classes = Annotated[
    str, typer.Option("--classes", metavar="NAMES.TXT", help="Names of the classes, one on each line.")
]


def class_names(path: str) -> tuple[str, ...]:
    """--classes."""
    from edgekit.samples import class_names as files

    return files.read(Path(path)) if path else ()


def _trusted_target(context: typer.Context, name: str) -> str:
    """The name of a target, native resolved; a file that names programs of its own needs trust."""
    if name == targets.NATIVE:
        from edgekit.codegen.execution import processor

        return processor.native().name
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


def _targets(incomplete: str) -> list[str]:
    """Targets, for shells that complete words."""
    return [name for name in (*targets.names(), targets.NATIVE) if name.startswith(incomplete)]


def target_option(help: str) -> Any:
    return option("--target", "-t", group=CODE, help=help, callback=_trusted_target, autocompletion=_targets)


TargetName = Annotated[
    str, target_option("One of `edgekit targets`, a .toml file, or native: the best here.")
]
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
OptimizeOption = Annotated[
    Optimize, option("--optimize", group=CODE, help="Optimize code for size or speed.")
]
GoalOption = Annotated[
    Goal,
    option(
        "--optimize",
        group=CODE,
        help="Optimize code for size or speed; ram: code for speed, in the least memory.",
    ),
]
PortsOption = Annotated[
    Ports,
    option(
        "--ports",
        group=CODE,
        help="Keep inputs and outputs in the caller's memory or in the arena, or take the input row by row.",
    ),
]
Ram = Annotated[
    str,
    option(
        "--ram",
        group=CODE,
        metavar="24K",
        help="Work in so much RAM at most, inputs and outputs included: layers run row by row for it.",
        show_default=False,
    ),
]
AllChanges = Annotated[
    bool,
    option(
        "--all-changes",
        group=GENERAL,
        help="Look at all changes to layers for the report, not for a quarter of a build's time.",
    ),
]
Verbose = Annotated[bool, option("--verbose", "-v", group=GENERAL, help="Print a line for each layer.")]
Json = Annotated[bool, option("--json", group=GENERAL, help="Print JSON instead of text.")]


Entries = Annotated[
    list[str] | None,
    option(
        "--entry",
        group=INPUTS,
        metavar="NAME:TOKENS=16",
        help="Add a run function for other dimensions, or of another model: NAME=NET.EK.",
    ),
]


class BoundInputs(TypedDict):
    """Which entry of a model is meant, and what is bound and fixed of its inputs."""

    shapes: dict[str, tuple[int, ...]]
    dims: dict[str, int]
    constants: dict[str, float]
    states: dict[str, str]
    signature: str


def bound_inputs(
    shape: Sequence[str] | None,
    dim: Sequence[str] | None,
    const: Sequence[str] | None,
    state: Sequence[str] | None,
    signature: str,
) -> BoundInputs:
    """--shape, --dim, --const, --state and --signature."""
    return {
        "shapes": settings.shapes(shape),
        "dims": settings.dims(dim),
        "constants": settings.constants(const),
        "states": settings.states(state),
        "signature": signature,
    }


def entry_graphs(
    entry: Sequence[str] | None, model: str, bound: BoundInputs, **options: Any
) -> dict[str, Graph]:
    """--entry: graphs by name. They are bound as the model is, but for what an entry binds itself."""
    from edgekit import api

    found = {}
    for name, wish in settings.entries(entry).items():
        if wish.model:
            found[name] = api.convert(wish.model)
            continue
        own = bound.copy()
        own["dims"] = {**bound["dims"], **wish.dims}
        own["shapes"] = {**bound["shapes"], **wish.shapes}
        own["signature"] = wish.signature or bound["signature"]
        found[name] = api.convert(model, **own, **options)
    return found


def iterations(text: str) -> int | None:
    """--max-iterations."""
    return settings.count(text, "--max-iterations", 1) if text else None


def title(model: str, name: str) -> str:
    """What files that are made of a model are called: --name, or the name of its file without the suffix."""
    path = Path(model)
    return name or (path.absolute().name if path.is_dir() else path.stem)


def note_left_open(model: str, graph: Graph) -> None:
    """Mention a batch that is 1 by default, branches that are always taken, outputs with a count and those
    that were text; an .ek file was mentioned when it was made."""
    from edgekit import inspection
    from edgekit.core import ek_file

    if ek_file.is_ek(Path(model)):
        return
    notes = (inspection.open_batches, inspection.one_sided, inspection.counted_rows, inspection.class_names)
    for note in filter(None, (note(graph) for note in notes)):
        console.say(f"note: {note}")


def run_by(target: str, runner: str) -> str | Target:
    """The target that a command names, run by something else if it says so."""
    return targets.with_runner(targets.load(target), runner) if runner else target


def written(metavar: str, help: str) -> Any:
    return typer.Option("--output", "-o", metavar=metavar, help=help)


def data(help: str, *former: str) -> Any:
    """Inputs of the model, whatever they are for; `former`: what the option was called before."""
    return typer.Option("--data", "-d", *former, metavar="DATA", help=help)


def page(help: str, *former: str) -> Any:
    """A page beside the result; where it is the result, it is `written`."""
    return typer.Option("--report", *former, metavar="PAGE.HTML", help=help)


CalibrationData = Annotated[
    str, data("Calibration data: .npz, .npy, a folder of them, or random.", "--calib")
]


def emit(command: str, result: object, lines: Sequence[str], json: bool) -> None:
    """Print a result in the form that was asked for."""
    from edgekit.reports import results

    console.out(results.as_json(command, result) if json else "\n".join(lines))
