"""Means over whole images as running sums, some rows at a time: to the bit what is simulated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.chains import Chain
from support.each_target import drive_all, load, with_kernel

from edgekit.codegen.lowering import row_search
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.target import Target
from edgekit.core.types import Quant

KERNEL = "channel_sums_s8"
TARGETS = ("host", *with_kernel(KERNEL))
BORDER = (1, 0, 2, 1)
# Height and width of the image, channels, and the layer behind it.
MEANS: tuple[tuple[str, int, int, int, Op], ...] = (
    *((rule, 13, 7, 21, Pool2d("mean", (13, 7))) for rule in ("E", "tfl")),
    *((rule, 9, 5, 18, Pool2d("mean", (12, 6), pads=BORDER)) for rule in ("E", "tfl")),
    ("E", 9, 5, 17, Pool2d("mean", (12, 6), pads=BORDER, counted=BORDER)),
    *((rule, 12, 6, 16, Reduce("mean", (1, 2))) for rule in ("E", "tfl")),
    ("E", 12, 4, 40, Reduce("sum", (1, 2), keepdims=False)),
    ("tfl", 6, 300, 9, Pool2d("mean", (6, 300))),  # more pixels than sums of 16 bits hold
)


def network(i: int) -> Graph:
    """A layer of many channels, of which the image is full of the least number, or the largest one."""
    rule, height, width, channels, op = MEANS[i]
    chain = Chain(i, (1, height, width, 3), rule)
    chain.layer(Conv2d(), channels, 1, 1, 3)
    scale = 2.0 if isinstance(op, Reduce) and op.kind == "sum" else 0.05
    chain.add(op, quant=Quant((scale,), (3,), rounding=rule))
    return chain.done(f"mean{i}")


def by_rows(graph: Graph, target: Target) -> Program:
    program = compile_graph(graph, replace(target, least_ram=True))
    blocks = [line.rows.blocks.count for line in program.lines if line.call.kernel == KERNEL and line.rows]
    assert blocks
    assert blocks[0] > 1
    return program


@pytest.mark.parametrize("name", TARGETS)
def test_means_are_exact(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    target = load(name)
    programs = [by_rows(network(i), target) for i in range(len(MEANS))]
    driver = drive_all(programs, tmp_path)
    for program in programs:
        inputs = simulate.random_inputs(program.graph, 1)
        for x in (inputs["x"], np.full_like(inputs["x"], -128), np.full_like(inputs["x"], 127)):
            results = driver.run(program, {"x": x})
            for output, y in simulate.run(program.graph, {"x": x}).items():
                np.testing.assert_array_equal(results[output], y)
