"""The verbs of EdgeKit in Python; `edgekit` exports them, and the command line only puts them into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from edgekit import arrays, difference, file, inspection, simulate
from edgekit import target as target_files
from edgekit.checkup import Checkup, doctor
from edgekit.codegen import bench as benchmark
from edgekit.codegen import build as library
from edgekit.codegen import estimate as estimation
from edgekit.codegen.bench import Bench
from edgekit.codegen.build import Report
from edgekit.codegen.estimate import Estimate
from edgekit.codegen.render import Optimize, Weights
from edgekit.codegen.sharing import Ports
from edgekit.codegen.variants import tile_of
from edgekit.codegen.verify import Verification
from edgekit.converters import normalize, read
from edgekit.converters.normalize import Numbers
from edgekit.difference import Difference, Order
from edgekit.errors import EdgeKitError
from edgekit.inspection import Inspection
from edgekit.ir import Array, Graph
from edgekit.passes.simplify import simplify
from edgekit.quantize import narrow, post_training
from edgekit.quantize.gate import Gate, labels
from edgekit.quantize.io import Io
from edgekit.quantize.outcome import Quantization
from edgekit.quantize.prepare import prepare
from edgekit.quantize.pruning import prune as pruning
from edgekit.quantize.pruning.plan import Pruned, Pruning
from edgekit.quantize.settings import DEFAULT, Settings
from edgekit.sample_files import Samples
from edgekit.target import Target
from edgekit.tuning import output as tuned_files
from edgekit.tuning import tune as tuning
from edgekit.tuning.output import Limits
from edgekit.tuning.tune import Effort, Tuned

__all__ = [
    "Bench",
    "Checkup",
    "Difference",
    "EdgeKitError",
    "Effort",
    "Estimate",
    "Gate",
    "Graph",
    "Inspection",
    "Limits",
    "Pruned",
    "Pruning",
    "Quantization",
    "Report",
    "Settings",
    "Target",
    "Tuned",
    "Verification",
    "bench",
    "build",
    "convert",
    "diff",
    "doctor",
    "estimate",
    "inspect",
    "list_targets",
    "load",
    "prune",
    "quantize_model",
    "read_labels",
    "run",
    "save",
    "tune",
    "verify",
]

Model = Graph | str | PathLike[str]  # a graph, an .ek file, or a model file of any known format
Inputs = (
    Mapping[str, Array] | Array | str | PathLike[str]
)  # by name, for the only input, or an .npz or .npy file
Tell = Callable[[str], None]


def _quiet(step: str) -> None:
    """Progress that nobody wants to see."""


def convert(
    model: Model,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    name: str = "",
    profile: str | None = None,
    mean: Mapping[str, Numbers] | Numbers | None = None,
    std: Mapping[str, Numbers] | Numbers | None = None,
    raw: Mapping[str, str] | str | None = None,
) -> Graph:
    """The simplified graph of a model. `shapes` binds dynamic inputs; a batch that is not bound is 1. `name`
    becomes the prefix of everything in the generated C. `profile` says whose integers a quantized TFLite
    model keeps: those of litert (the default) or of tflm, TFLite Micro. With `mean` and `std`, a number or
    one for each channel, the inputs become raw data, and the graph computes (raw - mean) / std itself; `raw`
    is the type of raw data, uint8 by default. All three are for the only input, or by name."""
    if name and not (name.isascii() and name.isidentifier()):
        raise EdgeKitError("E0103", f"{name} is no name for C", hint="letters, digits and _, no digit first")
    if isinstance(model, Graph):
        graph, is_new = model, False
    else:
        path = Path(model)
        is_new = not file.is_ek(path)
        read_new = partial(read.read, shapes=shapes, name=name, profile=profile)
        graph = simplify(read_new(path)) if is_new else file.load(path)
    if (shapes or profile) and not is_new:
        what = "shapes are" if shapes else "profile is"
        raise EdgeKitError(
            "E0103",
            f"{graph.name} is converted already, its {what} fixed",
            hint="convert the model file again",
        )
    graph = normalize.normalize(graph, normalize.wanted(graph, mean, std, raw))
    return graph.with_name(name) if name else graph


def left_over(graph: Graph) -> list[str]:
    """Why the normalization of inputs, or some of it, takes operators of its own, in a sentence each."""
    return [note for name in graph.inputs if (note := normalize.left_over(graph, name))]


def load(path: str | PathLike[str]) -> Graph:
    """Read an .ek file."""
    return file.load(Path(path))


def save(graph: Graph, path: str | PathLike[str]) -> None:
    """Write an .ek file, whole or not at all."""
    check_graph_path(path)
    file.save(graph, Path(path))


def check_graph_path(path: str | PathLike[str]) -> None:
    """Refuse a file name that `save` cannot write; asked before the work is done."""
    if Path(path).suffix.lower() != file.SUFFIX:
        raise EdgeKitError("E0105", f"cannot write {path}: graphs go into {file.SUFFIX} files")


def inspect(model: Model, *, target: str | Target = "host") -> Inspection:
    """What is in a model, and the working memory that it needs on a target."""
    return inspection.inspect(convert(model), _target(target))


def build(
    model: Model,
    folder: str | PathLike[str] | None = None,
    *,
    target: str | Target = "host",
    optimize: Optimize = "speed",
    weights: Weights = "auto",
    ports: Ports = "caller",
    verify: bool | None = None,
    package: Sequence[str] = (),
    helpers: Sequence[str] = (),
    force: bool = False,
    tell: Tell = _quiet,
) -> Report:
    """Write a C library, after it was compiled, measured, and compared with the simulator. `folder` is by
    default one with the model's name. `ports`: the caller has the memory of inputs and outputs, or they are
    parts of the arena, which takes less. `verify`: False leaves the comparison out, True fails where it
    cannot be done. `package` names packages to make of it ("npm"), and `helpers` what to add to them
    ("image", "audio"). `force` overwrites files that were changed or come from elsewhere. `tell` hears of
    progress."""
    wanted = _target(target)
    tell("reading the model")
    graph = convert(model)
    return library.build(
        graph,
        wanted,
        None if folder is None else Path(folder),
        optimize=optimize,
        weights=weights,
        ports=ports,
        check=verify,
        package=package,
        helpers=helpers,
        force=force,
        tell=tell,
    )


RANDOM = "random"  # in the place of calibration data
_RANDOM_SAMPLES = 32


def quantize_model(
    model: Model,
    samples: Inputs | None,
    settings: Settings = DEFAULT,
    *,
    tell: Tell = _quiet,
    **options: Any,
) -> tuple[Graph, Quantization]:
    """The model in narrower numbers, and what became of its quality. `samples` are typical inputs: arrays, a
    file, a folder of files, or "random" where there are none yet; 16-bit floats need none. `options` are
    the fields of `Settings`: quantize_model(model, x, io="int8"). Where no formats pass the gate, the best
    that were found are returned: see `Quantization.verdict`."""
    tell("reading the model")
    graph = convert(model)
    chosen = replace(settings, **options)
    if graph.states:
        names = ", ".join(state.input for state in graph.states)
        raise EdgeKitError(
            "E0210",
            f"{graph.name} has states ({names}), which cannot be quantized yet",
            hint="quantize it in the framework it comes from: EdgeKit keeps the integers of such a model",
        )
    if samples is None and chosen.dtype == "int8":
        types = ", ".join(f"{name} {graph.type(name)}" for name in graph.inputs)
        raise EdgeKitError(
            "E0101",
            "quantization needs calibration data",
            hint=f"--calib takes an .npz, an .npy or a folder of them with typical inputs ({types}); "
            "--calib random is for a first try",
        )
    is_random = _are_random(samples)
    given = () if samples is None else _given(graph, samples)
    quantize = post_training.quantize if chosen.dtype == "int8" else narrow.quantize
    made, found = quantize(graph, given, chosen, tell)
    if is_random:
        warning = "calibrated with random numbers: nothing is known of the quality on real data"
        found = replace(found, warnings=(warning, *found.warnings))
    bytes_in = [name for name in graph.inputs if graph.type(name).dtype.is_integer]
    notes = [normalize.left_over(prepare(graph), name) for name in bytes_in]
    return made, replace(found, warnings=(*found.warnings, *filter(None, notes)))


def prune(
    model: Model,
    samples: Inputs | None,
    wanted: Pruning,
    *,
    target: str | Target = "host",
    optimize: Optimize = "speed",
    measured_as: str = "float32",
    labels: Array | None = None,
    tell: Tell = _quiet,
) -> tuple[Graph, Pruned]:
    """A smaller model, and what became of its quality. `samples` are typical inputs: with them what is left
    makes up for what is gone; without, weights alone decide. Where flash is the limit, the library for
    `target` is compiled to see what it takes, `measured_as` "float32" or as it will be in "int8"."""
    tell("reading the model")
    graph = convert(model)
    given = [] if samples is None else list(_given(graph, samples))
    if labels is not None and len(labels) != len(given):
        raise EdgeKitError("E0102", f"there are {len(labels)} labels for {len(given)} samples")
    on = _target(target)

    def flash(smaller: Graph) -> int:
        if measured_as == "int8":
            quick = Settings(calibrate="minmax")
            smaller, _ = post_training.quantize(smaller, (given or _random(smaller))[:2], quick, _quiet)
        return estimation.estimate(smaller, on, optimize=optimize).flash_bytes

    multiple = max(wanted.multiple, 1 if wanted.ratio is not None else on.channels)
    wanted = replace(wanted, multiple=multiple)
    if wanted.blocks is not None:
        wanted = replace(wanted, tile=_tile(on))
    return pruning.prune(graph, given, wanted, tell, flash, labels)


def _tile(target: Target) -> tuple[int, int]:
    """The blocks that the target's kernels leave out where they are zero."""
    if tile := tile_of(target.isa):
        return tile
    able = ", ".join(name for name in target_files.names() if tile_of(target_files.load(name).isa))
    hint = f"--target, one of {able}"
    raise EdgeKitError("E0101", f"no kernel for {target.name} leaves out blocks of zeros", hint=hint)


def read_labels(path: str | PathLike[str]) -> Array:
    """The classes of samples, from an .npy file, or an .npz with one array."""
    return labels(arrays.single(Path(path)), Path(path).name)


def _random(graph: Graph) -> Sequence[Mapping[str, Array]]:
    return [simulate.random_inputs(graph, seed) for seed in range(_RANDOM_SAMPLES)]


def _are_random(samples: Inputs | None) -> bool:
    return isinstance(samples, str) and samples == RANDOM


def _given(graph: Graph, samples: Inputs) -> Iterable[Mapping[str, Array]]:
    """Those that the user has, or random ones."""
    return _random(graph) if _are_random(samples) else _calibration(graph, samples)


def _calibration(graph: Graph, inputs: Inputs) -> Iterable[Mapping[str, Array]]:
    """Samples; those of files are read when their turn comes."""
    if isinstance(inputs, str | PathLike):
        return Samples(Path(inputs), graph)
    return arrays.samples(graph, _inputs(graph, inputs))


def run(
    model: Model,
    inputs: Inputs,
    *,
    target: str | Target | None = None,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    tell: Tell = _quiet,
) -> dict[str, Array]:
    """The outputs for these inputs: of the simulator, or of compiled code where a target is given. A
    dimension in front of an input's own counts samples, and then in front of the outputs, too. Where the
    model has states, the samples are the steps of one stream."""
    wanted = None if target is None else _target(target)
    graph = convert(model)
    given = _inputs(graph, inputs)
    samples = arrays.samples(graph, given)
    if wanted is None:
        results = []
        for i, outputs in enumerate(simulate.run_each(graph, samples)):
            tell(f"simulated sample {i + 1} of {len(samples)}")
            results.append(outputs)
    else:
        results = library.run(graph, wanted, samples, optimize=optimize, ports=ports, tell=tell)
    return arrays.together(graph, given, results)


def verify(
    model: Model,
    *,
    target: str | Target = "host",
    inputs: Inputs | None = None,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    tell: Tell = _quiet,
) -> Verification:
    """Compare compiled code with the simulator, on these inputs or on seeded random ones; EdgeKitError where
    an output is further off than rounding explains."""
    wanted = _target(target)
    graph = convert(model)
    samples = None if inputs is None else arrays.samples(graph, _inputs(graph, inputs))
    return library.verify(graph, wanted, optimize=optimize, ports=ports, samples=samples, tell=tell)


def bench(
    model: Model, *, target: str | Target = "host", optimize: Optimize = "speed", tell: Tell = _quiet
) -> Bench:
    """What one run of the compiled code costs: time where it runs natively, else executed instructions."""
    return benchmark.bench(convert(model), _target(target), optimize=optimize, tell=tell)


def estimate(
    model: Model,
    *,
    target: str | Target = "host",
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    count: bool = False,
) -> Estimate:
    """What the library of a model takes of flash and memory, to the byte, and about how many instructions a
    run takes, where kernels are calibrated; `count` counts them in an emulator. Nothing is written."""
    return estimation.estimate(convert(model), _target(target), optimize=optimize, ports=ports, count=count)


_MOST_TUNED = 1024  # samples in memory


def tune(
    model: Model,
    samples: Inputs | None,
    limits: Limits,
    *,
    target: str | Target = "host",
    labels: Array | None = None,
    folder: str | PathLike[str] | None = None,
    effort: Effort | None = None,
    ports: Ports = "caller",
    io: Io = "float",
    count: bool = False,
    tell: Tell = _quiet,
) -> Tuned:
    """Find the pruning, the formats and the code with which a model keeps its limits on a target. `samples`
    are typical inputs and `labels` their classes, by default what the model answers. The `folder` gets the
    model that was chosen, with settings to build it, a report, and a journal: whoever is interrupted goes on
    from there. `count` counts instructions in an emulator instead of estimating them. Where nothing keeps
    the limits, `Tuned.best` is None, and `Tuned.closest` is what comes nearest."""
    tell("reading the model")
    graph = convert(model)
    if samples is None:
        raise EdgeKitError("E0101", "tuning needs typical inputs", hint="see --data; random is for a try")
    given = list(islice(_given(graph, samples), _MOST_TUNED))
    if labels is not None and len(labels) < len(given):
        raise EdgeKitError("E0102", f"there are {len(labels)} labels for {len(given)} samples")
    on = _target(target)
    budget, board = limits.on(on)
    how = tuning.how_to_count(board, count, budget.instructions is not None)
    right = None if labels is None else [int(label) for label in labels]
    problem = tuning.problem(graph, given, right, board, ports=ports, io=io, count=how)
    place = tuned_files.claimed(Path(folder or f"{graph.name}_tuned"))
    found = tuning.tune(problem, budget, effort or Effort(), place / tuned_files.JOURNAL, tell)
    tuned_files.write(place, problem, found)
    return found


def diff(
    a: Model,
    b: Model,
    inputs: Inputs | None = None,
    *,
    order: Order = "culprit",
    most: int | None = None,
    tell: Tell = _quiet,
) -> Difference:
    """How far two models are apart in the simulator, on these inputs (a folder of files, too) or on seeded
    random ones: the outputs, and the layers that both have. `order`: first the layer that does most harm, or
    as in the graph. `most` limits the samples."""
    first, second = convert(a), convert(b)
    if inputs is None:
        samples: Iterable[Mapping[str, Array]] = (simulate.random_inputs(first, seed) for seed in range(3))
    else:
        samples = _given(first, inputs)
    return difference.diff(first, second, list(islice(samples, most)), order=order, tell=tell)


def list_targets() -> tuple[Target, ...]:
    """The targets that come with EdgeKit."""
    return tuple(target_files.load(name) for name in target_files.names())


def _target(target: str | Target) -> Target:
    return target if isinstance(target, Target) else target_files.load(target)


def _inputs(graph: Graph, inputs: Inputs) -> Mapping[str, Array]:
    if isinstance(inputs, str | PathLike):
        return arrays.load(Path(inputs), graph)
    if isinstance(inputs, np.ndarray):
        if len(graph.inputs) != 1:
            names = ", ".join(graph.inputs)
            raise EdgeKitError("E0108", f"{graph.name} takes several inputs by name: {names}")
        return {graph.inputs[0]: inputs}
    return inputs
