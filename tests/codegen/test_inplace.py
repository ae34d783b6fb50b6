"""Results that lie over the inputs they are computed from: no closer than a kernel's order allows."""

import re
from dataclasses import replace
from functools import cache
from itertools import accumulate, product
from pathlib import Path

import numpy as np
import pytest
from support.chains import random_chain
from support.generated import Library, memory
from support.tools import require

from edgekit.codegen.kernels.kernel_files import all_variants
from edgekit.codegen.kernels.sources import may_meet
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.memory.inplace import distance, is_by_channel
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ops import Call
from edgekit.core.simulate import random_inputs, run
from edgekit.core.target import Optimize

HOST = target.load("host")
SEEDS = 24
SLACK = 256
BUILDS: tuple[tuple[str, Optimize, str], ...] = (
    ("gcc", "speed", "-O3"),
    ("gcc", "size", "-O2"),
    ("clang", "speed", "-O3"),
    ("clang", "size", "-O3"),
)


def programs() -> list[Program]:
    return [compile_graph(random_chain(seed), HOST) for seed in range(SEEDS)]


@pytest.mark.parametrize(("compiler", "optimize", "level"), BUILDS)
def test_results_over_inputs_are_those_of_the_simulator(
    compiler: str, optimize: Optimize, level: str, tmp_path: Path
) -> None:
    """Whatever the arena held, with every byte of it in use, and none behind."""
    require(compiler)
    some = programs()
    library = Library(some, tmp_path, optimize, (level,), compiler)
    for program in some:
        inputs = random_inputs(program.graph, seed=1)
        arenas = [memory(program.arena.size + SLACK, fill) for fill in (0, 255)]
        (expected,) = run(program.graph, inputs).values()
        for arena in arenas:
            (found,) = library.run(program, inputs, arena).values()
            assert np.array_equal(found, expected), program.name
        touched = np.flatnonzero((arenas[0] != 0) | (arenas[1] != 255))
        assert touched[-1] + 1 == program.arena.size, program.name


def test_most_results_lie_over_their_inputs() -> None:
    found = [
        (lines[k].operands[-1].place.offset, lines[k].operands[0].place.offset)
        for program in programs()
        for lines in [program.lines]
        for k in range(1, len(lines) - 1)
        if lines[k].operands[0].place.kind == lines[k].operands[-1].place.kind == "arena"
    ]
    assert sum(y <= x for y, x in found) > len(found) // 2


def slowly(call: Call, block: int) -> int:
    """The distance, found by looking at every byte that each block of outputs reads and writes."""
    p = {"groups": 1, **{k: v for k, v in call.params.items() if isinstance(v, int)}}
    size, depth, outputs = p["in_h"] * p["in_w"] * p["in_c"], p["in_c"], p["out_c"]
    steps: list[tuple[int, int]] = []  # how far y is written after a block, and the least byte that it read
    written = 0
    for n, h, v in np.ndindex(p["batch"], p["out_h"], p["out_w"]):
        rows = [h * p["stride_h"] - p["pad_top"] + i * p["dilation_h"] for i in range(p["k_h"])]
        columns = [v * p["stride_w"] - p["pad_left"] + j * p["dilation_w"] for j in range(p["k_w"])]
        cells = [
            n * size + (row * p["in_w"] + column) * depth
            for row in rows
            for column in columns
            if 0 <= row < p["in_h"] and 0 <= column < p["in_w"]
        ]
        for _ in range(p["groups"]):
            for first in range(0, outputs // p["groups"], block):
                least = min(cells, default=len(steps) + 1 << 40)
                steps.append((written, least))
                written += min(block, outputs // p["groups"] - first)
    worst, needed = 0, 1 << 60
    for before, least in reversed(steps):
        needed = min(needed, least)
        worst = max(worst, before - needed)
    return worst


def test_the_distance_is_that_found_byte_by_byte() -> None:
    seen = 0
    for seed in range(SEEDS):
        for layer in lower(random_chain(seed), HOST):
            for call in layer.steps:
                if isinstance(call, Call) and call.kernel in ("conv2d_int", "depthwise2d_int"):
                    assert call.overlap == slowly(call, 16), call.params
                    seen += call.overlap > 0
    assert seen > SEEDS


def in_groups(call: Call, block: int, group: int, at_once: bool) -> int:
    """The same where pixels advance together, and where all that they need is read at once."""
    p = {"groups": 1, **{k: v for k, v in call.params.items() if isinstance(v, int)}}
    size, outputs = p["in_h"] * p["in_w"] * p["in_c"], p["out_c"] // p["groups"]
    count = p["out_h"] * p["out_w"]
    reads, writes = [], []
    for n in range(p["batch"]):
        for start in range(0, count, group):
            some = range(start, min(start + group, count))
            cells = [
                n * size + (row * p["in_w"] + column) * p["in_c"]
                for h, v in (divmod(pixel, p["out_w"]) for pixel in some)
                for row in (h * p["stride_h"] - p["pad_top"] + i * p["dilation_h"] for i in range(p["k_h"]))
                for column in (
                    v * p["stride_w"] - p["pad_left"] + j * p["dilation_w"] for j in range(p["k_w"])
                )
                if 0 <= row < p["in_h"] and 0 <= column < p["in_w"]
            ]
            base = (n * count + start) * p["out_c"]
            blocks = [g * outputs + o for g in range(p["groups"]) for o in range(0, outputs, block)]
            for k in [0] if at_once else range(len(blocks)):
                before = base if k == 0 else base + (len(some) - 1) * p["out_c"] + blocks[k]
                reads.append(min(cells, default=1 << 60))
                writes.append(before)
    return max(0, *(writes[i] - min(reads[i:]) for i in range(len(reads))))


def test_the_distance_of_kernels_that_compute_pixels_together() -> None:
    seen = 0
    for seed in range(SEEDS):
        for layer in lower(random_chain(seed), HOST):
            for call in layer.steps:
                if isinstance(call, Call) and call.kernel in ("conv2d_int", "depthwise2d_int"):
                    for order, found in (
                        ("pixels 16 1", in_groups(call, 16, 1, at_once=False)),
                        ("windows 1", in_groups(call, 1, 1, at_once=True)),
                        ("windows 2", in_groups(call, 1, 2, at_once=True)),
                        ("windows 4", in_groups(call, 1, 4, at_once=True)),
                    ):
                        if order[0] == "p" or call.params.get("groups", 1) == 1:
                            assert distance(order, call) == found, (order, call.params)
                        else:
                            assert distance(order, call) is None
                    together = distance("pixels 4 2", call)
                    assert together is not None
                    assert together >= in_groups(call, 4, 2, at_once=False)
                    seen += together > 0
    assert seen > SEEDS


def test_only_kernels_with_an_order_overlap_and_only_dense_images() -> None:
    call = next(c for layer in lower(random_chain(0), HOST) for c in layer.steps if isinstance(c, Call))
    assert distance("", call) is None
    strided = replace(call, params={**call.params, "step_c": 100})
    for order in ("pixels 16", "windows 4", "bands", "lines 4", "lines 4 2"):
        assert distance(order, call) is not None
        assert distance(order, strided) is None
    with pytest.raises(AssertionError, match="unknown order"):
        distance("columns 16", call)


def in_lines(call: Call, block: int, rows: int) -> int:
    """The same where a block of channels of all pixels of some rows is computed before the next."""
    p = {k: v for k, v in call.params.items() if isinstance(v, int)}
    size, outputs = p["in_h"] * p["in_w"] * p["in_c"], p["out_c"]
    steps: list[tuple[int, int]] = []  # how far y is written by then, and the least byte that is read
    written = 0

    @cache  # channels of a pixel read the same cells
    def least(n: int, h: int, v: int) -> int:
        cells = [
            n * size + (row * p["in_w"] + column) * p["in_c"]
            for row in (h * p["stride_h"] - p["pad_top"] + i * p["dilation_h"] for i in range(p["k_h"]))
            for column in (v * p["stride_w"] - p["pad_left"] + j * p["dilation_w"] for j in range(p["k_w"]))
            if 0 <= row < p["in_h"] and 0 <= column < p["in_w"]
        ]
        return min(cells, default=1 << 60)

    for n, first in product(range(p["batch"]), range(0, p["out_h"], rows)):
        some = range(first, min(first + rows, p["out_h"]))
        for channel, v, h in product(range(0, outputs, block), range(p["out_w"]), some):
            steps.append((written, least(n, h, v)))
            pixel = (n * p["out_h"] + h) * p["out_w"] + v
            written = max(written, pixel * outputs + min(channel + block, outputs))
    later = accumulate((first for _, first in reversed(steps)), min)
    return max(0, *(before - first for (before, _), first in zip(reversed(steps), later, strict=True)))


def test_the_distance_of_kernels_that_compute_channels_of_rows_together() -> None:
    seen = 0
    for seed in range(SEEDS):
        for layer in lower(random_chain(seed), HOST):
            for call in layer.steps:
                if isinstance(call, Call) and call.kernel == "depthwise2d_int":
                    for block in (4, 16):
                        assert distance(f"lines {block}", call) == in_lines(call, block, 1), call.params
                        two = distance(f"lines {block} 2", call)
                        assert two is not None
                        assert two >= in_lines(call, block, 2), call.params
                        seen += two > 0
    assert seen > SEEDS


def test_planes_of_all_rows_lie_where_the_image_lies_and_others_before_it() -> None:
    seen = 0
    for seed in range(SEEDS):
        for layer in lower(random_chain(seed), HOST):
            for call in layer.steps:
                if isinstance(call, Call) and call.kernel == "depthwise2d_int":
                    rows = call.params["out_h"]
                    assert isinstance(rows, int)
                    for order in ("channels", f"planes {rows}", f"planes {rows + 1}"):
                        assert is_by_channel(order, call)
                        assert distance(order, call) is None
                    for some in range(1, rows):
                        found = distance(f"planes {some}", call)
                        assert not is_by_channel(f"planes {some}", call)
                        assert found is not None
                        assert found >= in_lines(call, 1, some), call.params
                        seen += 1
    assert seen > SEEDS


# What nothing is ever written to while a kernel reads it.
CONSTANTS = {
    "w",
    "zero",
    "weights",
    "b",
    "bias",
    "s",
    "scale",
    "m",
    "e",
    "last",
    "outside",
    "windows",
    "zeros",
    "scratch",
}


def test_kernels_with_an_order_tell_the_compiler_that_operands_may_meet() -> None:
    """Helpers may say otherwise of x while they only read; functions that write y may not."""
    seen = 0
    for variant in all_variants():
        if variant.order:
            seen += 1
            text = may_meet(variant.source())
            for arguments in re.findall(r"\b(?:EK_\w+) void \w+\(([^{;]*)\)\s*\{", text):
                if re.search(r"\*\s*y\b", arguments):
                    read = CONSTANTS | ({"r"} if variant.apart else set())
                    assert set(re.findall(r"EK_RESTRICT (\w+)", arguments)) <= read, variant.path
    assert seen > 50
