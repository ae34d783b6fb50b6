"""From which share of zero blocks on it pays to leave them out: layers beside the same with all weights.

The shares that kernel files ask for (`when zero_blocks(...)`) are read off here: --least 0 takes these
kernels wherever there is a zero at all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from benchmarks.results import table, write_section
from edgekit import api
from edgekit.codegen.execution import runner
from edgekit.codegen.kernels import variants
from edgekit.codegen.kernels.variants import tile_of
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.tiles import zero_blocks
from edgekit.core.types import Array, DType, Quant, Type, Value

TARGETS = ("cortex-m4", "wasm32-simd", "wasm32-relaxed", "x86-64-avx2", "x86-64-avx512")
SHARES = (0, 25, 40, 50, 60, 75, 90)
_AGAIN = 2
_NOTE = """\
An int8 layer with the given percentage of zero weight blocks: its instructions, or its time where it runs
natively, relative to the same layer without zeros. Blocks are outputs by inputs. Where a block-sparse
kernel does not pay off, the build uses the dense one, which gives about 100%.
"""


@dataclass(frozen=True)
class Case:
    """A layer: fully connected with one row, or 1x1 with 64 pixels."""

    title: str
    inputs: int
    outputs: int
    is_dense: bool = True

    def graph(self, share: int, tile: tuple[int, int]) -> Graph:
        rng = np.random.default_rng(share)
        shape = (self.outputs, self.inputs)
        weights = rng.integers(1, 128, shape) * rng.choice([-1, 1], shape)
        rows, columns = (-(-n // block) for n, block in zip(shape, tile, strict=True))
        zero = rng.permutation(rows * columns).reshape(rows, columns) < share / 100 * rows * columns
        spread = np.repeat(np.repeat(zero, tile[0], axis=0), tile[1], axis=1)
        weights[spread[: self.outputs, : self.inputs]] = 0
        return self._with(weights.astype(np.int8))

    def _with(self, weights: Array) -> Graph:
        shape = (self.outputs, self.inputs) if self.is_dense else (self.outputs, 1, 1, self.inputs)
        builder = Builder()
        image = (1, self.inputs) if self.is_dense else (1, 8, 8, self.inputs)
        builder.input("x", Type(DType.S8, image, Quant((0.05,), (3,), None, "E")))
        scales = Quant((0.01,) * self.outputs, (0,) * self.outputs, 0, "E")
        builder.values["w"] = Value(Type(DType.S8, shape, scales), weights.reshape(shape))
        bias = np.arange(self.outputs, dtype=np.int32)
        builder.values["b"] = Value(Type(DType.S32, bias.shape), bias)
        op = Dense() if self.is_dense else Conv2d()
        (y,) = builder.add(op, "x", "w", "b", quant=Quant((2.0,), (-2,), None, "E"))
        return builder.graph(self.title, ["x"], [y])


CASES = (
    Case("dense, 640 to 128", 640, 128),
    Case("dense, 128 to 128", 128, 128),
    Case("1x1, 64 to 64", 64, 64, is_dense=False),
    Case("1x1, 256 to 256", 256, 256, is_dense=False),
)


def cost(graph: Graph, target: str) -> float:
    """Instructions, or the least time of some runs."""
    found = api.bench(graph, target=target)
    if found.instructions is not None:
        return found.instructions
    runs = [found, *(api.bench(graph, target=target) for _ in range(_AGAIN))]
    return min(run.fastest for run in runs if run.fastest is not None)


def measured(target: str, progress: Callable[[str], None]) -> Iterator[list[str]]:
    tile = tile_of(targets.load(target).isa)
    assert tile, f"no kernel for {target} leaves out blocks"
    for case in CASES:
        costs = []
        for share in SHARES:
            costs.append(cost(case.graph(share, tile), target))
            progress(f"{target}, {case.title}, {share}%: {costs[-1]:,}")
        title = f"{target} {tile[0]} by {tile[1]}, {case.title}"
        yield [title, *(f"{found / costs[0]:.0%}" for found in costs[1:])]


def _here() -> list[str]:
    """The targets that this machine runs; what is timed must run on its processor."""
    found = {name: targets.load(name) for name in TARGETS}
    return [
        name
        for name, target in found.items()
        if (runner.is_native(target) if target.cpu_flags else not runner.why_not_here(target))
    ]


def main() -> None:
    """Measure and write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--least", type=int, help="percent from which on blocks are taken, and write nothing")
    arguments = parser.parse_args()
    if arguments.least is not None:
        least = arguments.least
        patch.object(
            variants, "zero_blocks", lambda *given: 100 if zero_blocks(*given) > least else 0
        ).start()
    rows = [row for target in arguments.target or _here() for row in measured(target, print)]
    text = table(["layer", *(f"{share}%" for share in SHARES[1:])], rows)
    text += "\n\n" + _NOTE
    print(text)
    if arguments.least is None:
        write_section("blocks", "Zero blocks", text.rstrip())


if __name__ == "__main__":
    main()
