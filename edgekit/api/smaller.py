"""The verbs that make models smaller."""

from __future__ import annotations

from collections.abc import Sized
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from edgekit.api import notebook_progress
from edgekit.api.models import Model, convert_wide, quiet, target_of
from edgekit.api.samples import Inputs, are_random, labels_of, random_samples, samples_of
from edgekit.codegen.cost import estimate as estimation
from edgekit.codegen.kernels.variants import tile_of
from edgekit.codegen.memory.sharing import Ports
from edgekit.converters import normalize
from edgekit.core import target as target_files
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.passes.widened_floats import widened_floats
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array
from edgekit.deprecation import renamed_keyword
from edgekit.quantize import gate, post_training
from edgekit.quantize.integers.integer_io import Io
from edgekit.quantize.mixed_precision import groupwise, half_precision
from edgekit.quantize.outcome import Quantization, effort_warning, noise_warning, speed_warning
from edgekit.quantize.preparation.constant_outputs import WithoutConstantOutputs
from edgekit.quantize.preparation.prepare import prepare
from edgekit.quantize.pruning import prune as pruning
from edgekit.quantize.pruning.plan import Pruned, Pruning
from edgekit.quantize.settings import DEFAULT, Settings
from edgekit.tuning import output as tuned_files
from edgekit.tuning import tune as tuning
from edgekit.tuning.costs import layer_costs, liked_multiple
from edgekit.tuning.output import Limits
from edgekit.tuning.problem import file_stem
from edgekit.tuning.tune import Effort, Tuned


@renamed_keyword("tell", "progress")
@checked
def quantize_model(
    model: Model,
    samples: Inputs | None,
    settings: Settings = DEFAULT,
    *,
    progress: Progress = notebook_progress.show,
    **options: Any,
) -> tuple[Graph, Quantization]:
    """The model in narrower numbers, and what became of its quality. `samples` are typical inputs: arrays, a
    file, a folder of files, or "random" where there are none yet; 16-bit floats need none. `options` are
    the fields of `Settings`: quantize_model(model, x, io="int8"). Where no formats pass the gate, the best
    that were found are returned: see `Quantization.verdict`."""
    progress("reading the model")
    graph = convert_wide(model)
    if "target" in options:
        options["target"] = target_of(options["target"])
    chosen = replace(settings, **options)
    if chosen.is_calibrated and (wide := widened_floats(graph)) is not graph:
        graph = simplify(wide)
    if samples is None and chosen.is_calibrated:
        types = ", ".join(f"{name} {graph.type(name)}" for name in graph.inputs)
        raise EdgeKitError(
            "E0101",
            "quantization needs calibration data",
            hint=f"--data takes an .npz, an .npy or a folder of them with typical inputs ({types}); "
            "--data random is for a first try",
        )
    is_random = are_random(samples)
    if is_random:  # noise of random data says nothing of which layers are too noisy
        chosen = replace(chosen, strict_int8=True)
    given = () if samples is None else samples_of(graph, samples)
    by_weights = groupwise.quantize if chosen.is_groupwise else half_precision.quantize
    quantize = post_training.quantize if chosen.is_calibrated else by_weights
    apart = WithoutConstantOutputs.of(graph)
    made, found = quantize(apart.graph, given, chosen, progress)
    made = apart.joined(made)
    if not is_random and (warning := noise_warning(found, chosen)):
        found = replace(found, warnings=(*found.warnings, warning))
    if is_random:
        warning = "calibrated with random numbers: nothing is known of the quality on real data"
        found = replace(found, warnings=(warning, *found.warnings))
    for warning in filter(None, (speed_warning(found, chosen), effort_warning(chosen))):
        found = replace(found, warnings=(*found.warnings, warning))
    bytes_in = [name for name in graph.inputs if graph.type(name).dtype.is_integer]
    notes = [normalize.left_over(prepare(graph), name) for name in bytes_in]
    return made, replace(found, warnings=(*found.warnings, *filter(None, notes)))


@checked
def float_accuracy(
    model: Model, samples: Inputs, labels: Array, *, progress: Progress = notebook_progress.show
) -> float:
    """The share of samples for which a float model names the class of their label: what to look at before it
    is quantized. Few right answers mean that the data are not normalized as in training, or not in order."""
    graph = convert_wide(model)
    given = samples_of(graph, samples)
    classes = labels_of(labels)
    if isinstance(given, Sized) and len(given) != len(classes):
        raise EdgeKitError("E0102", f"there are {len(classes)} labels for {len(given)} samples")
    return gate.accuracy(graph, given, classes, progress)


@renamed_keyword("tell", "progress")
@checked
def prune(
    model: Model,
    samples: Inputs | None,
    wanted: Pruning,
    *,
    target: str | Target = "host",
    optimize: Optimize = "speed",
    measured_as: str = "float32",
    labels: Array | None = None,
    progress: Progress = notebook_progress.show,
) -> tuple[Graph, Pruned]:
    """A smaller model, and what became of its quality. `samples` are typical inputs: with them what is left
    makes up for what is gone; without, weights alone decide. Where flash is the limit, the library for
    `target` is compiled to see what it takes, `measured_as` "float32" or as it will be in "int8"."""
    progress("reading the model")
    graph = convert_wide(model)
    given = [] if samples is None else list(samples_of(graph, samples))
    classes = None if labels is None else labels_of(labels)
    if classes is not None and len(classes) != len(given):
        raise EdgeKitError("E0102", f"there are {len(classes)} labels for {len(given)} samples")
    on = target_of(target)
    apart = WithoutConstantOutputs.of(graph)
    graph = apart.graph

    def flash(smaller: Graph) -> int:
        if measured_as == "int8":
            quick = Settings(calibrate="minmax", strict_int8=True)
            smaller, _ = post_training.quantize(smaller, (given or random_samples(smaller))[:2], quick, quiet)
        return estimation.estimate(apart.joined(smaller), on, optimize=optimize).flash_bytes

    if wanted.of_channels and wanted.ratio is None and wanted.multiple == 1:
        wanted = replace(wanted, liked=liked_multiple(graph, on, optimize))
    if wanted.blocks is not None:
        wanted = replace(wanted, tile=_tile(on))
    made, found = pruning.prune(graph, given, wanted, progress, flash, classes, layer_costs(on, optimize))
    return apart.joined(made), found


def _tile(target: Target) -> tuple[int, int]:
    """The blocks that the target's kernels leave out where they are zero."""
    if tile := tile_of(target.isa):
        return tile
    able = ", ".join(name for name in target_files.names() if tile_of(target_files.load(name).isa))
    hint = f"--target, one of {able}"
    raise EdgeKitError("E0101", f"no kernel for {target.name} skips blocks of zeros", hint=hint)


_MAX_TUNED = 1024  # samples in memory


@renamed_keyword("tell", "progress")
@checked
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
    progress: Progress = notebook_progress.show,
) -> Tuned:
    """Find the pruning, the formats and the code with which a model keeps its limits on a target. `samples`
    are typical inputs and `labels` their classes, by default what the model answers. The `folder` gets the
    model that was chosen, with settings to build it, a report, and a journal: whoever is interrupted goes on
    from there. `count` counts instructions in an emulator instead of estimating them. Where nothing keeps
    the limits, `Tuned.best` is None, and `Tuned.closest` is what comes nearest."""
    chosen = effort or Effort()
    with closing(tuning.hired(chosen, progress)) as workers:
        progress("reading the model")
        graph = convert_wide(model)
        if samples is None:
            hint = "see --data; random is for a try"
            raise EdgeKitError("E0101", "tuning needs calibration data", hint=hint)
        given = list(islice(samples_of(graph, samples), _MAX_TUNED))
        classes = None if labels is None else labels_of(labels)
        if classes is not None and len(classes) < len(given):
            raise EdgeKitError("E0102", f"there are {len(classes)} labels for {len(given)} samples")
        on = target_of(target)
        budget, board = limits.on(on)
        how = tuning.how_to_count(board, count, budget.instructions is not None)
        right = None if classes is None else classes.tolist()
        problem = tuning.problem(graph, given, right, board, ports=ports, io=io, count=how)
        place = tuned_files.claimed(Path(folder or f"{file_stem(graph.name)}_tuned"))
        keep = partial(tuned_files.write, place, problem)
        return tuning.tune(problem, budget, chosen, workers, place / tuned_files.JOURNAL, keep, progress)
