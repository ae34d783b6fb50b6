"""The verbs that make C libraries, and that run, compare and measure them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Literal

from edgekit.api import notebook_progress
from edgekit.api.models import Model, convert, target_of
from edgekit.api.samples import Inputs, named_inputs, samples_of, typical
from edgekit.codegen.compilation import build as library
from edgekit.codegen.compilation.build import Report
from edgekit.codegen.cost import bench as benchmark
from edgekit.codegen.cost import estimate as estimation
from edgekit.codegen.cost.bench import Bench
from edgekit.codegen.cost.estimate import Estimate
from edgekit.codegen.cost.layer_costs import layer_costs
from edgekit.codegen.memory.sharing import Ports
from edgekit.codegen.packages import Content
from edgekit.codegen.printing.render import Weights
from edgekit.codegen.verification.verify import Verification
from edgekit.core import simulate
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.target import MAX_CORES, Optimize, Target
from edgekit.core.types import Array
from edgekit.deprecation import renamed_keyword
from edgekit.samples import arrays

# What a library is made for: small or fast code, or the least memory to work in.
Goal = Literal["size", "speed", "ram"]


@renamed_keyword("sample", "samples")
@renamed_keyword("tell", "progress")
@checked
def build(
    model: Model,
    folder: str | PathLike[str] | None = None,
    *,
    target: str | Target = "host",
    optimize: Goal = "speed",
    weights: Weights = "auto",
    ports: Ports = "caller",
    verify: bool | None = None,
    package: Sequence[str] = (),
    helpers: Sequence[str] = (),
    classes: Sequence[str] = (),
    samples: Inputs | None = None,
    entries: Mapping[str, Model] | None = None,
    layer_hook: bool = False,
    cores: int = 1,
    weight_growth: float = 0.0,
    ram: int = 0,
    sbom: bool = False,
    force: bool = False,
    progress: Progress = notebook_progress.show,
) -> Report:
    """Write a C library, after it was compiled, measured, and compared with the simulator. `folder` is by
    default one with the model's name. `optimize`: code is small or fast, or with "ram" fast in the least
    memory, where layers run row by row: see docs/memory.md. `weights` are C text or a binary file, or with
    "pointer" a file whose content each run is given: see there, too. `ports`: the caller has the memory of
    inputs and outputs, or they are parts of the arena, which takes less. `verify`: False leaves the
    comparison out, True fails where it cannot be done. `package` names packages to make of it ("npm",
    "zephyr"), `helpers` what to add to them ("image", "audio"), and `classes` what the values of an output
    are called there. `samples` are typical inputs: the first sixteen are compared, too, beside seeded
    random ones, and the first one is what the examples of packages classify, by default one of the
    self-test's. `entries` are other graphs of the model by name, {"prefill": graph}; they share its weights
    and states: see docs/entries.md. With `layer_hook` it calls a function of yours behind each layer. With
    `cores` layers have so many parts at most, which several cores may run at once: see docs/cores.md.
    Weights take at most `weight_growth` times their bytes, in forms that are faster; 0: what the flash
    holds, or twice as much where the target has none of its own. `ram` bytes are the most that it works in,
    with inputs and outputs: as many layers run row by row as that takes, with the fewest instructions
    more. `sbom` adds a software bill of materials
    (CycloneDX). `force` overwrites files that were changed or come from elsewhere. `progress` is called
    with a message for each step."""
    wanted = least_ram(_of_cores(growing(target_of(target), weight_growth), cores), optimize, ram)
    if layer_hook:
        wanted = replace(wanted, layer_hook=True)
    progress("reading the model")
    graph = convert(model)
    given = typical(graph, samples)
    report = library.build(
        graph,
        wanted,
        None if folder is None else Path(folder),
        optimize=code_for(optimize),
        weights=weights,
        ports=ports,
        check=verify,
        package=package,
        helpers=helpers,
        content=Content(tuple(classes), given[0] if given and package else None),
        samples=given,
        entries=_graphs(entries),
        bill=sbom,
        force=force,
        progress=progress,
    )
    return replace(report, optimize=optimize)


@renamed_keyword("tell", "progress")
@checked
def run(
    model: Model,
    inputs: Inputs,
    *,
    target: str | Target | None = None,
    optimize: Optimize = "speed",
    ports: Ports = "caller",
    progress: Progress = notebook_progress.show,
) -> dict[str, Array]:
    """The outputs for these inputs: of the simulator, or of compiled code where a target is given. A
    dimension in front of an input's own counts samples, and then in front of the outputs, too. Where the
    model has states, the samples are the steps of one stream."""
    wanted = None if target is None else target_of(target)
    graph = convert(model)
    simulate.check_work(graph)
    given = named_inputs(graph, inputs)
    samples = arrays.samples(graph, given)
    if wanted is None:
        results = []
        for i, outputs in enumerate(simulate.run_each(graph, samples)):
            progress(f"simulated sample {i + 1} of {len(samples)}")
            results.append(outputs)
    else:
        results = library.run(graph, wanted, samples, optimize=optimize, ports=ports, progress=progress)
    return arrays.together(graph, given, results)


@renamed_keyword("tell", "progress")
@checked
def verify(
    model: Model,
    *,
    target: str | Target = "host",
    inputs: Inputs | None = None,
    optimize: Goal = "speed",
    ports: Ports = "caller",
    cores: int = 1,
    ram: int = 0,
    entries: Mapping[str, Model] | None = None,
    progress: Progress = notebook_progress.show,
) -> Verification:
    """Compare compiled code with the simulator, on these inputs or on seeded random ones; EdgeKitError where
    an output is further off than rounding explains, or where runs with 1 to `cores` threads differ in a
    bit. `entries` of the same library, as `build` takes them, are compared on random inputs."""
    wanted = least_ram(_of_cores(target_of(target), cores), optimize, ram)
    graph = convert(model)
    samples = None if inputs is None else list(samples_of(graph, inputs))
    return library.verify(
        graph,
        wanted,
        optimize=code_for(optimize),
        ports=ports,
        samples=samples,
        entries=_graphs(entries),
        progress=progress,
    )


@renamed_keyword("tell", "progress")
@checked
def bench(
    model: Model,
    *,
    target: str | Target = "native",
    optimize: Optimize = "speed",
    layers: bool = False,
    weight_growth: float = 0.0,
    entries: Mapping[str, Model] | None = None,
    progress: Progress = notebook_progress.show,
) -> Bench:
    """What one run of the compiled code costs: time where it runs natively, else executed instructions.
    `layers`: each layer's share of it, too, from runs of their own. `entries` of the same library, as `build`
    takes them, are measured one by one."""
    graph, wanted, others = convert(model), growing(target_of(target), weight_growth), _graphs(entries)

    def with_layers(found: Bench, graph: Graph) -> Bench:
        costs = layer_costs(graph, wanted, optimize=optimize, progress=progress) if layers else ()
        return replace(found, layers=costs)

    found = benchmark.bench(graph, wanted, optimize=optimize, entries=others, progress=progress)
    measured = tuple(with_layers(entry, others[entry.name]) for entry in found.entries)
    return replace(with_layers(found, graph), entries=measured)


@checked
def estimate(
    model: Model,
    *,
    target: str | Target = "host",
    optimize: Goal = "speed",
    ports: Ports = "caller",
    count: bool = False,
    weight_growth: float = 0.0,
    ram: int = 0,
    entries: Mapping[str, Model] | None = None,
    device: str = "",
) -> Estimate:
    """What the library of a model takes of flash and memory, to the byte, and about how many instructions a
    run takes, where kernels are calibrated; `count` counts them in an emulator. `entries` are in the library,
    too, as `build` takes them. For a target with a path for GPUs, `device` (h200, or a .toml file) adds the
    microseconds of each kernel there. Nothing is written."""
    return estimation.estimate(
        convert(model),
        least_ram(growing(target_of(target), weight_growth), optimize, ram),
        optimize=code_for(optimize),
        ports=ports,
        count=count,
        entries=_graphs(entries),
        device=device,
    )


def code_for(goal: Goal) -> Optimize:
    """What code is optimized for."""
    return "speed" if goal == "ram" else goal


def least_ram(target: Target, goal: Goal, ram: int = 0) -> Target:
    """The target, for libraries that work in the least memory if that is the goal, or in so many bytes."""
    if goal != "ram" and not ram:
        return target
    if target.gpu:
        option = "--ram" if ram else "--optimize ram"
        hint = "a target for processors, such as host or cortex-m4"
        raise EdgeKitError("E0103", f"target {target.name} is for GPUs: it has no {option}", hint=hint)
    if ram < 0:
        raise EdgeKitError("E0103", f"ram {ram} is no number of bytes", hint="24576, for example")
    return replace(target, least_ram=True, ram_limit=ram)


def _graphs(entries: Mapping[str, Model] | None) -> dict[str, Graph]:
    """Other entries of a library, by name."""
    return {name: convert(other) for name, other in (entries or {}).items()}


def _of_cores(target: Target, cores: int) -> Target:
    """The target, for libraries whose layers have so many parts at most."""
    if not 1 <= cores <= MAX_CORES:
        raise EdgeKitError("E0103", f"layers cannot have {cores} parts", hint=f"1 to {MAX_CORES} cores")
    if cores > 1 and target.gpu:
        hint = "a target for processors, such as host or x86-64-avx2"
        raise EdgeKitError("E0103", f"target {target.name} is for GPUs: it has no --cores", hint=hint)
    return replace(target, cores=cores) if cores > 1 else target


def growing(target: Target, growth: float) -> Target:
    """The target, with a bound for what weights take."""
    if growth and not 1 <= growth < math.inf:
        hint = "1 is the least that weights take, 2 lets them take twice as much"
        raise EdgeKitError("E0103", f"weights cannot take {growth:g} times their bytes", hint=hint)
    return replace(target, weight_growth=growth) if growth else target
