"""Random layers, counted with every kernel that fits them: for fits of costs, and reports of choices."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import groupby
from multiprocessing import Pool
from pathlib import Path
from unittest.mock import patch

from benchmarks.calibration_graph import Layers
from benchmarks.calibration_plans import PLANS
from edgekit.codegen.cost import counting
from edgekit.codegen.cost.cost_features import Work, work
from edgekit.codegen.cost.layer_costs import countable, layer_counts
from edgekit.codegen.kernels import sources
from edgekit.codegen.kernels.kernel_files import Variant, all_variants
from edgekit.codegen.kernels.selection import cheapest
from edgekit.codegen.lowering.lower import WeightLimits
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.passes import drop_dead
from edgekit.core.target import Optimize, Target

_COPIES = 4
_TOGETHER = 24  # layers of a program that is counted

Counts = dict[str, dict[str, int]]  # by the name of a layer and the file of a kernel: instructions


@dataclass(frozen=True)
class Layer:
    """A call, and the kernels that fit it, by the names of their files; the selected one comes first."""

    name: str
    words: str
    graph: Graph
    output: str
    kernels: dict[str, Work] = field(default_factory=dict)  # what each would do
    functions: dict[str, str] = field(default_factory=dict)

    def off(self, counts: Counts) -> float:
        """How many times the best."""
        own = [counts[self.name][file] for file in self.kernels]
        return own[0] / min(own)


@dataclass
class Selections:
    """By result: the kernels that fit its call, and which of them was taken."""

    fitting: dict[str, Sequence[Variant]] = field(default_factory=dict)
    taken: dict[str, Variant] = field(default_factory=dict)


@contextmanager
def rotated(by: int) -> Iterator[Selections]:
    """Calls take the kernel so many places after the selected one, of those that fit."""
    plain, seen = cheapest, Selections()

    def other(call: Call, found: Sequence[Variant], target: Target, operands: Sequence[str]) -> Variant:
        best, result = plain(call, found, target, operands), call.args[-1].name
        seen.fitting[result] = found
        seen.taken[result] = found[(found.index(best) + by) % len(found)]
        return seen.taken[result]

    with patch.object(sources, "cheapest", other):
        yield seen


def on(name: str) -> Target:
    """A target as programs for it are counted."""
    return countable(counting.as_counted(targets.load(name)))


def graph(seed: int, plan: int, only: Sequence[str] = ()) -> Graph:
    """Layers of each family of a plan, or of some: several, as layers of a network share code."""
    kinds, rounding, families = PLANS[plan]
    net = Layers(1000 * plan + seed, kinds, rounding)
    for family in families * _COPIES:
        if not only or family.__name__ in only:
            family(net)
    return net.graph()


def some_small(network: Graph, seed: int) -> WeightLimits:
    """For half of the results, of every second seed: the weights of their layers are to be small."""
    return {name: 0 for i, name in enumerate(network.outputs) if i // 2 % 2 and seed % 2}


def fitting(network: Graph, target: Target, name: str = "", *, least: int = 2) -> list[Layer]:
    """The results of a network that so many kernels fit."""
    found: dict[str, Layer] = {}
    by, most = 0, 1
    while by < most:
        with rotated(by) as seen:
            program = compile_graph(network, target)
        for line, done in work(program):
            result = line.call.args[-1].name
            if result in network.outputs and len(seen.fitting.get(result, ())) >= max(by + 1, least):
                own = f"{name} {result}".strip()
                layer = Layer(own, line.comment, network, result)
                layer = found.setdefault(result, layer)
                layer.kernels[line.call.file] = {kind: number for kind, number in done.items() if number}
                layer.functions[line.call.file] = line.kernel.function
        by, most = by + 1, max(map(len, seen.fitting.values()), default=1)
    return list(found.values())


def counted(target: Target, found: Sequence[Layer], optimize: Optimize = "speed") -> Counts:
    """Of layers of one network, by each of their kernels."""
    network = drop_dead(replace(found[0].graph, outputs=tuple(layer.output for layer in found)))
    names = {layer.output: layer.name for layer in found}
    counts: Counts = {layer.name: {} for layer in found}
    for by in range(max(len(layer.kernels) for layer in found)):
        with rotated(by):
            program = compile_graph(network, target)
        numbers = layer_counts(program, optimize, by_registers=True)
        for line, count in zip(program.lines, numbers, strict=True):
            if name := names.get(line.call.args[-1].name):
                counts[name].setdefault(line.call.file, count)
    return counts


class Kept:
    """A file of counts, by target, layer and kernel, whose code the counts are of."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content: dict[str, Counts] = json.loads(path.read_text()) if path.exists() else {}

    def of(self, target: Target, found: Sequence[Layer], jobs: int, optimize: Optimize = "speed") -> Counts:
        """Counts what is not there yet, programs of layers that as many kernels fit."""
        own_name = target.name if optimize == "speed" else f"{target.name} {optimize}"
        known = self.content.setdefault(own_name, {})

        def is_known(layer: Layer) -> bool:
            return {*map(_key, layer.kernels)} <= known.get(layer.name, {}).keys()

        def program(layer: Layer) -> tuple[int, int]:
            return id(layer.graph), len(layer.kernels)

        missing = sorted((layer for layer in found if not is_known(layer)), key=program)
        alike = [[*same] for _, same in groupby(missing, program)]
        parts = [same[at : at + _TOGETHER] for same in alike for at in range(0, len(same), _TOGETHER)]
        with Pool(jobs) as pool:
            run = partial(counted, target, optimize=optimize)
            for done, counts in enumerate(pool.imap_unordered(run, parts), 1):
                for name, own in counts.items():
                    known.setdefault(name, {}).update({_key(file): n for file, n in own.items()})
                self.path.write_text(json.dumps(self.content))
                print(f"{own_name}: {done} of {len(parts)} programs", flush=True)
        return {
            layer.name: {file: known[layer.name][_key(file)] for file in layer.kernels}
            for layer in found
            if is_known(layer)  # alone it may be another call
        }


@cache
def _key(file: str) -> str:
    """A kernel with a digest of its code, without the comments that say what it costs."""
    (variant,) = (variant for variant in all_variants() if variant.file == file)
    return f"{file} {variant.digest}"
