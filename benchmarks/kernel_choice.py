"""Counts, for seeded layers, the kernel that is chosen against every other one that fits."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

from benchmarks.calibration_graph import Layers
from benchmarks.calibration_plans import PLANS
from benchmarks.results import PAGE, table, write_section
from edgekit.codegen.cost import counting
from edgekit.codegen.cost.layer_costs import countable, layer_counts
from edgekit.codegen.kernels import sources
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.selection import cheapest
from edgekit.codegen.program import Program, ProgramCall, compile_graph
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.passes import drop_dead
from edgekit.core.target import Target

TARGETS = ("cortex-m0plus", "cortex-m4", "cortex-m55", "aarch64-dotprod", "x86-64-avx2", "wasm32-simd")
_FIRST = 500  # seeds below are those of calibration
_COPIES = 4
_TOGETHER = 6  # layers of a program that is counted: gcc takes seconds for each layer of floats on x86
_NEAR = 1.03
_NOTE = """\
Kernel calls of random layers in all formats and rounding rules. Where `several fit`, the instructions of
the selected kernel and of every other kernel that fits are counted: in QEMU, or as operations in wasmtime.
`near` is the share of calls within 3 % of the best kernel, among all calls and among those with a choice;
`worst` is the largest excess of any call. None of these layers was used in a calibration. `seed` is the first
one, as `--first` gives it: a target whose kernels changed is counted again with others."""
_HEAD = ("target", "calls", "several fit", "near", "of several", "worst", "seed")


@dataclass(frozen=True)
class Layer:
    """What a layer takes, by kernel; the chosen one comes first."""

    words: str
    counts: dict[str, int]

    @property
    def off(self) -> float:
        """How many times the best."""
        return next(iter(self.counts.values())) / min(self.counts.values())


@dataclass
class Selections:
    """By result: the kernels that fit its call, and which of them was taken."""

    fitting: dict[str, Sequence[Variant]] = field(default_factory=dict)
    taken: dict[str, Variant] = field(default_factory=dict)


@contextmanager
def turned(by: int) -> Iterator[Selections]:
    """Calls take the kernel so many places after the selected one, of those that fit."""
    plain, seen = cheapest, Selections()

    def other(call: Call, found: Sequence[Variant], target: Target, operands: Sequence[str]) -> Variant:
        best, result = plain(call, found, target, operands), call.args[-1].name
        seen.fitting[result] = found
        seen.taken[result] = found[(found.index(best) + by) % len(found)]
        return seen.taken[result]

    with patch.object(sources, "cheapest", other):
        yield seen


def graph(seed: int, plan: int) -> Graph:
    """Layers of each family of a plan: several, as layers of a network share code."""
    kinds, rounding, families = PLANS[plan]
    net = Layers(1000 * plan + seed, kinds, rounding)
    for family in families * _COPIES:
        family(net)
    return net.graph()


def contested(network: Graph, target: Target) -> tuple[int, Sequence[Graph]]:
    """How many calls of kernels its layers are, and those layers of which several kernels fit a call: a
    few in each graph, where calls are counted one by one."""
    with turned(by=0) as seen:
        program = compile_graph(network, target)
    names = {name for line in program.lines if len(seen.fitting[name := line.call.args[-1].name]) > 1}
    alone = [drop_dead(replace(network, outputs=(output,))) for output in network.outputs]
    found = [graph for graph in alone if any(set(node.outputs) & names for node in graph.nodes)]
    outputs = [name for graph in found for name in graph.outputs]
    parts = (outputs[k : k + _TOGETHER] for k in range(0, len(outputs), _TOGETHER))
    return len(program.lines), [drop_dead(replace(network, outputs=tuple(part))) for part in parts]


def compared(network: Graph, target: Target) -> list[Layer]:
    """Of those of its layers that several kernels fit."""
    found: dict[str, Layer] = {}
    by, most = 0, 1
    while by < most:
        with turned(by) as seen:
            program = compile_graph(network, target)
        for line, kernel, count in counted(program):
            layer = found.setdefault(line.call.args[-1].name, Layer(line.comment, {}))
            layer.counts.setdefault(kernel, count)
        by, most = by + 1, max(map(len, seen.fitting.values()))
    return [layer for layer in found.values() if len(layer.counts) > 1]


def counted(program: Program) -> list[tuple[ProgramCall, str, int]]:
    """The kernel of each call, and its instructions."""
    functions = [line.kernel.function for line in program.lines]
    return list(zip(program.lines, functions, layer_counts(program, "speed"), strict=True))


def measured(target: Target, seed: int, plan: int) -> tuple[int, list[float]]:
    """How many calls there are, and of those with a choice how many times the best each takes. Prints those
    that could take far fewer instructions."""
    number, networks = contested(graph(seed, plan), target)
    found = [layer for network in networks for layer in compared(network, target)]
    for layer in found:
        if layer.off > _NEAR:
            print(f"{layer.off:.2f} {layer.words}: {layer.counts}", flush=True)
    return number, [layer.off for layer in found]


def row(name: str, results: Iterable[tuple[int, Sequence[float]]], first: int) -> list[str]:
    """Of the table: all layers on a target, from this seed on."""
    counts, found = zip(*results, strict=True)
    calls, offs = sum(counts), [off for part in found for off in part]
    far = sum(off > _NEAR for off in offs)
    of_several = f"{1 - far / len(offs):.1%}" if offs else "-"
    worst = max(offs, default=1.0)
    shares = (f"{1 - far / calls:.1%}", of_several, f"{worst - 1:.0%}")
    return [name, f"{calls:,}", f"{len(offs):,}", *shares, str(first)]


def merged(rows: Sequence[list[str]], page: str) -> list[list[str]]:
    """Those rows, and those of a page for other targets, as they stand there."""
    section = page.partition("<!-- kernel_choice -->")[2].partition("<!-- end of kernel_choice -->")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    found = {line[0]: line for line in (*lines[2:], *rows)}
    return [found[name] for name in (*TARGETS, *sorted(set(found) - {*TARGETS})) if name in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--seeds", type=int, default=2, help="programs of each plan")
    parser.add_argument(
        "--first", type=int, default=_FIRST, help="the first seed: others than those of the report"
    )
    parser.add_argument("--keep", type=Path, required=True, help="a file of results, to go on with")
    parser.add_argument("--write", action="store_true", help="these rows of docs/performance.md")
    arguments = parser.parse_args()
    kept = json.loads(arguments.keep.read_text()) if arguments.keep.exists() else {}
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    rows = []
    for name in arguments.targets:
        target, results = countable(counting.as_counted(targets.load(name))), []
        for seed, plan in product(seeds, range(len(PLANS))):
            key = f"{name} {seed} {plan}"
            if key not in kept:
                kept[key] = measured(target, seed, plan)
                arguments.keep.write_text(json.dumps(kept))
            results.append(kept[key])
        rows.append(row(name, results, arguments.first))
        print(*rows[-1], flush=True)
    if arguments.write:
        text = table(_HEAD, merged(rows, PAGE.read_text(encoding="utf-8")))
        write_section("kernel_choice", "Choice of kernels", f"{text}\n\n{_NOTE}")


if __name__ == "__main__":
    main()
