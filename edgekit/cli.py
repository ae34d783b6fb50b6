"""The command line: words in, a call of edgekit.api, words out; nothing heavy is imported before its use."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from edgekit import console, settings
from edgekit.errors import EdgeKitError, Exit

# As the shell reports programs that a signal ended.
_INTERRUPTED, _CLOSED_PIPE, _TERMINATED = (128 + number for number in (2, 13, 15))
_REPORTED = 16  # calibration samples that the report of quantize is made on

app = typer.Typer(
    rich_markup_mode=None,  # plain help: importing rich would double the time of every start
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn a trained model into a small, readable C library, measured and verified before it is flashed.",
    epilog="edgekit.toml in the working directory presets options: a table for each command; flags override.",
)


class Optimize(StrEnum):
    """What the generated code is made for."""

    SIZE = "size"
    SPEED = "speed"


class Weights(StrEnum):
    """How constants are written."""

    AUTO = "auto"
    C = "c"
    BIN = "bin"


class Ports(StrEnum):
    """Whose memory inputs and outputs are in."""

    CALLER = "caller"
    ARENA = "arena"


class Profile(StrEnum):
    """Whose integers a quantized TFLite model keeps."""

    LITERT = "litert"
    TFLM = "tflm"


class Calibrate(StrEnum):
    """How ranges are chosen."""

    AUTO = "auto"
    MINMAX = "minmax"
    PERCENTILE = "percentile"
    MSE = "mse"
    ENTROPY = "entropy"


class Order(StrEnum):
    """Which layers come first."""

    CULPRIT = "culprit"
    GRAPH = "graph"


class Format(StrEnum):
    """What numbers become."""

    INT8 = "int8"
    BF16 = "bf16"
    F16 = "f16"


class Effort(StrEnum):
    """How long quality may take."""

    NORMAL = "normal"
    HIGH = "high"


class Io(StrEnum):
    """What goes in and comes out."""

    FLOAT = "float"
    INT8 = "int8"
    UINT8 = "uint8"


Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="An .ek file, or a model file of any known format.")
]
Shapes = Annotated[
    list[str] | None, typer.Option("--shape", metavar="X=1,3,224,224", help="Bind a dynamic input.")
]
Mean = Annotated[
    list[str] | None,
    typer.Option("--mean", metavar="M,M,M", help="Take raw data: the model subtracts this itself."),
]
Std = Annotated[list[str] | None, typer.Option("--std", metavar="S,S,S", help="And divides by this.")]
Raw = Annotated[
    list[str] | None,
    typer.Option("--raw", metavar="TYPE", help="Type of raw data; with --mean or --std uint8 by itself."),
]
Whose = Annotated[
    Profile | None,
    typer.Option("--profile", help="Engine whose integers a TFLite model keeps; default: litert."),
]
Name = Annotated[str, typer.Option("--name", help="Prefix of everything in the generated C.")]
TargetName = Annotated[str, typer.Option("--target", help="One of `edgekit targets`, or a .toml file.")]
Goal = Annotated[Optimize, typer.Option("--optimize", help="Smallest or fastest code.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show every layer.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def _output(metavar: str, help: str) -> Any:
    return typer.Option("--output", "-o", metavar=metavar, help=help)


def _input(option: str, help: str) -> Any:
    return typer.Option(option, metavar="X.NPZ", help=help)


def _page(option: str) -> Any:
    return typer.Option(
        option, metavar="PAGE.HTML", help="Write a report on each layer, to read in a browser."
    )


@app.callback(invoke_without_command=True)
def edgekit(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of a bug.")] = False,
) -> None:
    # --debug is listed here for the help; main() has taken it from the line already.
    if version:
        from edgekit import __version__

        console.out(f"edgekit {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        console.say(context.get_help())
        raise typer.Exit(Exit.USAGE)
    commands = [command.callback for command in app.registered_commands if command.callback]
    known = {command.__name__: _options(command) for command in commands}
    context.default_map = settings.presets(Path(settings.FILE), known)


def _options(command: Callable[..., object]) -> dict[str, type]:
    """The settings that presets may name: the options of a command, and the type of each."""
    found: dict[str, type] = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        if get_origin(hint) is not Annotated or not isinstance(hint.__metadata__[0], type(typer.Option())):
            continue
        wanted = hint.__origin__
        wanted = get_args(wanted)[0] if isinstance(wanted, UnionType) else wanted
        is_list = get_origin(wanted) is list
        found[name] = list if is_list else str if issubclass(wanted, str) else bool
    return found


@app.command()
def inspect(
    model: Model,
    target: TargetName = "host",
    shape: Shapes = None,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Show inputs, outputs, layers, parameters, MACs and memory."""
    from edgekit import api, report

    graph = api.convert(model, shapes=settings.shapes(shape))
    found = api.inspect(graph, target=target)
    _emit("inspect", found, report.inspection(found, verbose=verbose), json)


@app.command()
def convert(
    model: Model,
    output: Annotated[str, _output("NET.EK", "Default: the model's name.")] = "",
    shape: Shapes = None,
    profile: Whose = None,
    mean: Mean = None,
    std: Std = None,
    raw: Raw = None,
    name: Name = "",
    json: Json = False,
) -> None:
    """Make an .ek file of a model: simplified and checked."""
    from edgekit import api, report
    from edgekit.inspection import float_layers

    path = output or f"{name or Path(model).stem}.ek"
    raw_inputs = settings.raw_inputs(mean, std, raw)
    graph = api.convert(model, shapes=settings.shapes(shape), profile=profile, name=name, **raw_inputs)
    api.save(graph, path)
    found = report.Conversion.of(graph, path)
    _emit("convert", found, report.conversion(found), json)
    for note in api.left_over(graph) if mean or std else ():
        console.say(f"note: {note}")
    if floats := float_layers(graph):
        console.say(f"warning: {floats}")


@app.command()
def quantize(
    model: Model,
    output: Annotated[str, _output("NET.EK", "Default: the model's name and the format.")] = "",
    dtype: Annotated[
        Format, typer.Option("--dtype", help="Integers, or 16-bit floats for weights: half the flash.")
    ] = Format.INT8,
    weights: Annotated[
        str, typer.Option("--weights", help="int8, or int4 for half the flash; with 16-bit floats the same.")
    ] = "",
    effort: Annotated[
        Effort, typer.Option("--effort", help="high: round weights for the sake of each layer's outputs.")
    ] = Effort.NORMAL,
    activations: Annotated[
        str, typer.Option("--activations", help="int8 or int16; beside 16-bit weights float32, or the same.")
    ] = "",
    calib: Annotated[
        str, typer.Option("--calib", metavar="DATA", help="Typical inputs: .npz, .npy, a folder, or random.")
    ] = "",
    calibrate: Annotated[
        Calibrate, typer.Option("--calibrate", help="How ranges are chosen; auto: by trial, for each tensor.")
    ] = Calibrate.AUTO,
    io: Annotated[
        Io, typer.Option("--io", help="Inputs and outputs as they are, or in integers.")
    ] = Io.FLOAT,
    min_sqnr: Annotated[
        str, typer.Option("--min-sqnr", metavar="25dB", help="A gate: signal to noise of the outputs.")
    ] = "",
    max_drop: Annotated[
        str, typer.Option("--max-drop", metavar="0.5%", help="A gate: drop of accuracy, with --labels.")
    ] = "",
    labels: Annotated[
        str, typer.Option("--labels", metavar="Y.NPY", help="The classes of the calibration samples.")
    ] = "",
    formats: Annotated[
        str, typer.Option("--formats", help="What layers may become to pass a gate, in this order.")
    ] = "int8,int16,bf16,f32",
    report: Annotated[str, _page("--report")] = "",
    shape: Shapes = None,
    mean: Mean = None,
    std: Std = None,
    raw: Raw = None,
    name: Name = "",
    json: Json = False,
) -> None:
    """Make int8 or 16-bit floats of a model, and tell what it costs."""
    from edgekit import api, html_report
    from edgekit import report as words

    narrowest = weights or dtype.value
    path = output or f"{name or Path(model).stem}_{narrowest}.ek"
    if report:
        html_report.check_destination(Path(report))
    with console.progress() as tell:
        tell("reading the model")
        raw_inputs = settings.raw_inputs(mean, std, raw)
        graph = api.convert(model, shapes=settings.shapes(shape), name=name, **raw_inputs)
        api.check_graph_path(path)
        chosen = api.Settings(
            dtype=dtype.value,
            weights=weights,
            effort=effort.value,
            activations=activations,
            calibrate=calibrate.value,
            io=io.value,
            formats=tuple(formats.split(",")),
            gate=api.Gate(
                settings.decibels(min_sqnr),
                settings.share(max_drop),
                api.read_labels(labels) if labels else None,
            ),
        )
        made, found = api.quantize_model(graph, calib or None, chosen, tell=tell)
        distance = api.diff(graph, made, calib or None, most=_REPORTED, tell=tell) if report else None
    api.save(made, path)
    if distance:
        html_report.save(Path(report), distance, [Path(model).name, Path(path).name], found.warnings)
    _emit("quantize", words.Quantized(path, found), words.quantization(path, found), json)
    for warning in found.warnings:
        console.say(f"warning: {warning}")
    if not found.verdict.passed:
        hint = f"{path} is the best that was found; more formats (--formats) or --effort high may help"
        console.say_error(EdgeKitError("E0603", f"no formats pass the gate: {found.verdict.text}", hint=hint))
        raise typer.Exit(Exit.GATE)


@app.command()
def build(
    model: Model,
    output: Annotated[str, _output("FOLDER", "Default: the model's name.")] = "",
    target: TargetName = "host",
    optimize: Goal = Optimize.SPEED,
    weights: Annotated[
        Weights, typer.Option("--weights", help="As C text or as a binary file; auto: by size.")
    ] = Weights.AUTO,
    ports: Annotated[
        Ports, typer.Option("--ports", help="Whose memory inputs and outputs are in.")
    ] = Ports.CALLER,
    verify: Annotated[
        bool | None,
        typer.Option("--verify/--no-verify", help="Insist on the comparison with the simulator, or skip it."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that edgekit did not write.")
    ] = False,
    shape: Shapes = None,
    profile: Whose = None,
    name: Name = "",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Write a C library, compiled, measured and verified."""
    from edgekit import api, report

    with console.progress() as tell:
        tell("reading the model")
        graph = api.convert(model, shapes=settings.shapes(shape), profile=profile, name=name)
        found = api.build(
            graph,
            output or None,
            target=target,
            optimize=optimize.value,
            weights=weights.value,
            ports=ports.value,
            verify=verify,
            force=force,
            tell=tell,
        )
    _emit("build", found, report.build(found, verbose=verbose), json)
    if found.unverified and verify is None:
        console.say(f"note: written, but not verified: {found.unverified}")


@app.command()
def run(
    model: Model,
    input: Annotated[str, _input("--input", "Arrays by input name, or one as .npy.")],
    output: Annotated[str, _output("Y.NPZ", "Write the outputs instead of printing them.")] = "",
    target: Annotated[
        str, typer.Option("--target", help="Run the compiled code; default: the simulator.")
    ] = "",
    optimize: Goal = Optimize.SPEED,
    shape: Shapes = None,
    profile: Whose = None,
    json: Json = False,
) -> None:
    """Run a model on inputs from a file."""
    from edgekit import api, arrays, report

    with console.progress() as tell:
        graph = api.convert(model, shapes=settings.shapes(shape), profile=profile)
        if output:
            arrays.check_destination(Path(output), len(graph.outputs))
        found = api.run(graph, input, target=target or None, optimize=optimize.value, tell=tell)
    if output:
        arrays.save(Path(output), found)
        _emit("run", {"file": output}, [f"{output}: {', '.join(found)}"], json)
    else:
        _emit("run", {"outputs": found}, report.outputs(found), json)


@app.command()
def verify(
    model: Model,
    target: TargetName = "host",
    input: Annotated[str, _input("--input", "Default: seeded random inputs.")] = "",
    optimize: Goal = Optimize.SPEED,
    shape: Shapes = None,
    profile: Whose = None,
    json: Json = False,
) -> None:
    """Compare compiled code with the simulator; write nothing."""
    from edgekit import api, report

    with console.progress() as tell:
        graph = api.convert(model, shapes=settings.shapes(shape), profile=profile)
        found = api.verify(graph, target=target, inputs=input or None, optimize=optimize.value, tell=tell)
    _emit("verify", found, report.verification(found), json)


@app.command()
def bench(
    model: Model,
    target: TargetName = "host",
    optimize: Goal = Optimize.SPEED,
    shape: Shapes = None,
    json: Json = False,
) -> None:
    """Measure a run: its time, or the instructions under an emulator."""
    from edgekit import api, report

    with console.progress() as tell:
        graph = api.convert(model, shapes=settings.shapes(shape))
        found = api.bench(graph, target=target, optimize=optimize.value, tell=tell)
    _emit("bench", found, report.bench(found), json)


@app.command()
def diff(
    a: Model,
    b: Model,
    data: Annotated[str, _input("--data", "Or a folder of them. Default: seeded random inputs.")] = "",
    order: Annotated[
        Order, typer.Option("--order", help="The layer that does most harm first, or as in the graph.")
    ] = Order.CULPRIT,
    html: Annotated[str, _page("--html")] = "",
    shape: Shapes = None,
    json: Json = False,
) -> None:
    """Compare two models: outputs, and layers of the same name."""
    from edgekit import api, html_report, report

    if html:
        html_report.check_destination(Path(html))
    with console.progress() as tell:
        first, second = (api.convert(model, shapes=settings.shapes(shape)) for model in (a, b))
        found = api.diff(first, second, data or None, order=order.value, tell=tell)
    if html:
        html_report.save(Path(html), found, [Path(a).name, Path(b).name])
    _emit("diff", found, report.difference(found), json)
    for warning in found.warnings:
        console.say(f"warning: {warning}")


@app.command()
def doctor(json: Json = False) -> None:
    """Show what is installed, and what can be done with it."""
    from edgekit import api, report

    found = api.doctor()
    _emit("doctor", found, report.checkup(found), json)


@app.command()
def demo(
    output: Annotated[str, _output("FOLDER", "Keep what is made.")] = "",
    json: Json = False,
) -> None:
    """Take a model that comes along all the way to verified C."""
    from edgekit import demo as demonstration

    found = demonstration.demo(Path(output) if output else None, console.quiet if json else console.out)
    if json:
        _emit("demo", found, [], json)


@app.command()
def targets(json: Json = False) -> None:
    """List what libraries can be built for."""
    from edgekit import api, report

    found = api.list_targets()
    _emit("targets", {"targets": found}, report.targets(found), json)


def _emit(command: str, result: object, lines: Sequence[str], json: bool) -> None:
    """Print a result in the form that was asked for."""
    from edgekit import report

    console.out(report.as_json(command, result) if json else "\n".join(lines))


# The class of all usage errors: newer typers carry their own copy of click, so it cannot be imported.
_UsageProblem: type[Any] = typer.BadParameter.__mro__[2]


def main() -> int:
    """The installed command; it cleans up when it is told to end, too."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(_TERMINATED))
    return execute(sys.argv[1:])


def execute(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. --debug may stand anywhere on it."""
    ours = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    words = [word for word in ours if word != "--debug"] + list(arguments[len(ours) :])
    try:
        return _run(words, debug="--debug" in ours)
    except console.ClosedPipeError:
        return _CLOSED_PIPE


def _run(words: Sequence[str], *, debug: bool) -> int:
    try:
        code = typer.main.get_command(app).main(words, prog_name="edgekit", standalone_mode=False)
        return code if isinstance(code, int) else Exit.OK
    except (typer.Abort, KeyboardInterrupt):
        console.say("interrupted")
        return _INTERRUPTED
    except console.ClosedPipeError:
        raise
    except EdgeKitError as error:
        fault = error
    except _UsageProblem as problem:
        context = getattr(problem, "ctx", None)
        command = context.command_path if context else "edgekit"
        message = problem.format_message().replace("Value error, ", "")  # what pydantic puts in front
        fault = EdgeKitError("E0100", message, hint=f"see {command} --help")
    except OSError as error:
        if debug:
            traceback.print_exc()
        what = error.filename or "a file"
        fault = EdgeKitError("E0104", f"cannot use {what}: {error.strerror or error}")
    except MemoryError:
        fault = EdgeKitError("E0402", "the model needs more memory than there is")
    except Exception as error:  # a bug of ours: a sentence, not a page
        if debug:
            traceback.print_exc()
        fault = _bug(error)
    console.say_error(fault)
    if "--json" in words:
        from edgekit import report

        console.out(report.errors_as_json(next((w for w in words if not w.startswith("-")), ""), fault))
    return fault.exit_code


def _bug(error: Exception) -> EdgeKitError:
    place = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}".partition("\n")[0]
    return EdgeKitError(
        "E7001",
        f"a bug of EdgeKit: {what:.300}",
        f"{Path(place.filename).name}:{place.lineno}",
        "please report it, with the model if you can; --debug shows more",
    )
