"""Depthwise layers in loops over rows on Cortex-M, by a kernel that reads rows where they are."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.chains import Chain
from support.each_target import drive_all, load

from edgekit.codegen.lowering import row_search
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d, Pads

FILE = "dsp/depthwise2d_int.rows"
# Borders above, to the left, below, to the right.
BORDERS: tuple[Pads, ...] = ((1, 1, 1, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 0), (0, 0, 0, 0))


def network(name: str, width: int, channels: int, pads: Pads, stride: int, rule: str) -> Graph:
    """A depthwise layer between two that have little memory."""
    chain = Chain(width + channels, (1, 11, width, 2), rule)
    chain.layer(Conv2d(), channels, 1, 1, 2)
    chain.layer(Conv2d((stride, stride), pads, groups=channels), channels, 3, 3, 1)
    chain.layer(Conv2d(), 2, 1, 1, channels)
    return chain.done(name)


def networks(rule: str) -> Iterator[Graph]:
    """Results of a row that are one, two or no more than iterations of three; an even number of bytes."""
    for i, (stride, pads) in enumerate(product((1, 2), BORDERS)):
        for width, channels in ((6, 9), (7, 8), (8, 7)):
            yield network(f"depthwise{i}_{width}", width, channels, pads, stride, rule)


def rows_of_a_block(program: Program) -> int:
    """Of the depthwise layer, which this kernel computes."""
    (line,) = [line for line in program.lines if line.call.file == FILE]
    assert line.rows
    return line.rows.blocks.rows


@pytest.mark.parametrize("rule", ["E", "tfl"])
def test_rows_are_exact(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    target = replace(load("cortex-m4"), least_ram=True)
    programs = [compile_graph(graph, target) for graph in networks(rule)]
    assert {rows_of_a_block(program) for program in programs} == {1}
    driver = drive_all(programs, tmp_path)
    for program in programs:
        inputs = simulate.random_inputs(program.graph, 1)
        for x in (inputs["x"], np.full_like(inputs["x"], 127)):
            results = driver.run(program, {"x": x})
            for output, y in simulate.run(program.graph, {"x": x}).items():
                np.testing.assert_array_equal(results[output], y)


def test_several_rows_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of blocks of three rows, the first and the last one begin or end in the border."""
    monkeypatch.setattr(row_search, "INSTRUCTION_BUDGET", 9.0)
    monkeypatch.setattr(row_search, "PERIODS", (3,))
    target = replace(load("cortex-m4"), least_ram=True)
    programs = [compile_graph(network(f"blocks{i}", 8, 6, BORDERS[i], 1, "tfl"), target) for i in range(2)]
    assert {rows_of_a_block(program) for program in programs} == {3}
    driver = drive_all(programs, tmp_path)
    for program in programs:
        inputs = simulate.random_inputs(program.graph, 1)
        results = driver.run(program, inputs)
        for output, y in simulate.run(program.graph, inputs).items():
            np.testing.assert_array_equal(results[output], y)


def test_whole_images_are_left_to_other_kernels() -> None:
    """Also where they are as high as a block of rows."""
    graph = network("whole", 8, 8, BORDERS[0], 1, "tfl")
    assert FILE not in {line.call.file for line in compile_graph(graph, load("cortex-m4")).lines}
