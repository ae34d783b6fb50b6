"""Results that lie over the inputs they are computed from: no closer than a kernel's order allows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.generated import Library, memory
from support.tools import require

from edgekit import target
from edgekit.builder import Builder
from edgekit.codegen.lower import lower
from edgekit.codegen.overlap import distance
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.render import Optimize
from edgekit.ir import DType, Graph, Quant, Type, Value
from edgekit.ops import Call, Op
from edgekit.ops.conv2d import Conv2d
from edgekit.ops.dense import Dense
from edgekit.ops.pool2d import Pool2d
from edgekit.ops.reshape import Reshape
from edgekit.simulate import random_inputs, run

HOST = target.load("host")
SEEDS = 24
SLACK = 256
BUILDS: tuple[tuple[str, Optimize, str], ...] = (
    ("gcc", "speed", "-O3"),
    ("gcc", "size", "-O2"),
    ("clang", "speed", "-O3"),
    ("clang", "size", "-O3"),
)


class Chain:
    """Quantized layers, one behind the other."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.random = np.random.default_rng(seed)
        self.builder = Builder()
        self.last = self.builder.input("x", Type(DType.S8, shape, self.quant()))

    def quant(self) -> Quant:
        """All of one scale: pooling by TFLite's rule does not change it."""
        return Quant((0.05,), (3,), rounding="tfl")

    def add(self, op: Op, *operands: str) -> None:
        (self.last,) = self.builder.add(op, self.last, *operands, quant=self.quant())

    def layer(self, op: Conv2d | Dense, *shape: int) -> None:
        outputs = shape[0]
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        scales = tuple(float(np.float32(s)) for s in self.random.uniform(0.002, 0.01, outputs))
        w = self.constant(weights, Quant(scales, (0,) * outputs, 0, "tfl"))
        self.add(op, w, self.constant(self.random.integers(-999, 999, outputs).astype(np.int32)))

    def constant(self, data: np.ndarray, quant: Quant | None = None) -> str:
        name = self.builder.fresh("w")
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def image(self) -> tuple[int, ...]:
        return self.builder.type(self.last).shape

    def pick(self, *numbers: int) -> int:
        return int(self.random.choice(numbers))

    def window(self) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int], tuple[int, int]]:
        """A kernel, strides, pads and dilations that leave something of the image."""
        while True:
            kernel = (self.pick(1, 2, 3, 4), self.pick(1, 2, 3))
            strides = (self.pick(1, 1, 2, 3), self.pick(1, 1, 2))
            dilations = (self.pick(1, 1, 2), self.pick(1, 1, 3))
            spans = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
            pads = tuple(self.pick(*range(span + 1)) for span in (*spans, *spans))
            sizes = [n + pads[i] + pads[i + 2] - spans[i] for i, n in enumerate(self.image()[1:3])]
            if min(sizes) > 0:
                return kernel, strides, (pads[0], pads[1], pads[2], pads[3]), dilations

    def convolution(self) -> None:
        kernel, strides, pads, dilations = self.window()
        depth = self.image()[3]
        groups = self.pick(*(g for g in (1, 1, 2, 3, depth) if depth % g == 0))
        outputs = groups * self.pick(1, 2, 3, 9, 16, 17, 40) if groups < depth else depth * self.pick(1, 1, 2)
        self.layer(Conv2d(strides, pads, dilations, groups), outputs, *kernel, depth // groups)

    def pooling(self) -> None:
        _, height, width, _ = self.image()
        size = (min(self.pick(1, 2, 3), height), min(self.pick(1, 2), width))
        pads = (self.pick(0, size[0] - 1), 0, 0, self.pick(0, size[1] - 1))
        self.add(Pool2d("mean", size, (self.pick(1, 2), self.pick(1, 2)), pads))

    def done(self, name: str) -> Graph:
        return self.builder.graph(name, ["x"], [self.last])


def random_chain(seed: int) -> Graph:
    random = np.random.default_rng(seed)
    chain = Chain(seed, (int(random.integers(1, 3)), *(int(n) for n in random.integers(3, 14, 2)), 4))
    chain.layer(Conv2d(), 24, 1, 1, 4)
    for _ in range(4):
        chain.pooling() if random.integers(5) == 0 else chain.convolution()
    rows, depth = int(np.prod(chain.image()[:3])), chain.image()[3]
    chain.add(Reshape((rows, depth)))
    for outputs in random.choice([1, 7, 16, 33, 70], 3):
        chain.layer(Dense(), int(outputs), chain.image()[1])
    return chain.done(f"chain{seed}")


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


def test_only_kernels_with_an_order_overlap_and_only_dense_images() -> None:
    call = next(c for layer in lower(random_chain(0), HOST) for c in layer.steps if isinstance(c, Call))
    assert distance("", call) is None
    assert distance("pixels 16", call) is not None
    strided = replace(call, params={**call.params, "step_c": 100})
    assert distance("pixels 16", strided) is None
    with pytest.raises(AssertionError, match="unknown order"):
        distance("columns 16", call)
