"""Counts, for seeded layers, the kernel that is chosen against every other one that fits."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import calibration_layers as layers
from benchmarks.calibration_graph import Layers
from benchmarks.results import table, write_section
from edgekit import target as targets
from edgekit.codegen import counting, kernels, toolchain
from edgekit.codegen.bench import compiled
from edgekit.codegen.kernel_files import Variant
from edgekit.codegen.program import compile_graph
from edgekit.ir import DType, Graph
from edgekit.ops import Call
from edgekit.target import Target

_NEAR = 1.03
_S8 = DType.S8
_FAMILIES = (
    *(layers.depthwise, layers.depthwise_of_any_size, layers.convolution, layers.pixels, layers.in_groups),
    *(layers.first_convolution, layers.dense, layers.dense_of_rows, layers.dense_of_many),
)
_COPIES = 3  # of each in one program
_NOTE = """\
Random layers of int8, by both rules of rounding, for which more than one kernel fits: instructions of the
kernel that is chosen beside those of the best one, counted in an emulator. `near` is the share of layers that
are within 3 % of it."""


@dataclass(frozen=True)
class Layer:
    """What a layer takes, by kernel; the chosen one comes first."""

    words: str
    counts: dict[str, int]

    @property
    def off(self) -> float:
        """How many times the best."""
        return next(iter(self.counts.values())) / min(self.counts.values())


@contextmanager
def turned(by: int) -> Iterator[None]:
    """Calls take the kernel so many places behind the chosen one, of those that fit."""
    plain = kernels.cheapest

    def other(call: Call, found: Sequence[Variant], target: Target, operands: Sequence[str]) -> Variant:
        best = plain(call, found, target, operands)
        return found[(found.index(best) + by) % len(found)]

    kernels.cheapest = other
    try:
        yield
    finally:
        kernels.cheapest = plain


def graph(seed: int, rounding: str) -> Graph:
    net = Layers(seed, (_S8, _S8, _S8), rounding)
    for family in _FAMILIES * _COPIES:
        family(net)
    return net.graph()


def compared(network: Graph, target: Target) -> list[Layer]:
    """Of those of its layers that several kernels fit."""
    found: dict[str, Layer] = {}
    by, more = 0, True
    while more:
        with turned(by):
            program = compile_graph(network, target)
        names = {line.call.args[-1].name: line for line in program.lines}
        more = by == 0
        functions = counting.layer_functions(program, "speed")
        with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
            executable = compiled(program, Path(folder), toolchain.find(target), "speed")
            parts = counting.count(target, executable, functions).parts
        for (name, line), count in zip(names.items(), parts, strict=True):
            layer = found.setdefault(name, Layer(line.comment.partition(": ")[2], {}))
            if line.kernel.function not in layer.counts:
                layer.counts[line.kernel.function] = count
                more = True
        by += 1
    return [layer for layer in found.values() if len(layer.counts) > 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", nargs="+", default=["cortex-m0plus", "cortex-m4", "cortex-m55"])
    parser.add_argument("--seeds", type=int, default=6, help="programs for each rule of rounding")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.targets:
        found: list[Layer] = []
        for seed in range(arguments.seeds):
            for rounding in ("E", "tfl"):
                found += compared(graph(seed, rounding), targets.load(name))
        for layer in sorted((x for x in found if x.off > _NEAR), key=lambda x: -x.off):
            print(f"{layer.off:.2f} {layer.words}: {layer.counts}", flush=True)
        near = sum(layer.off <= _NEAR for layer in found)
        worst = max((layer.off for layer in found), default=1.0)
        share = f"{near / len(found):.1%}" if found else "-"
        rows.append([name, str(len(found)), share, f"{worst - 1:+.0%}"])
    text = table(["target", "layers", "near", "worst"], rows)
    print(text)
    if arguments.write:
        write_section("kernel_choice", "Choice of kernels", f"{text}\n\n{_NOTE}")


if __name__ == "__main__":
    main()
