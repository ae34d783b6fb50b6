"""Transposed convolutions that targets with vectors compute as convolutions: the integers of the operator."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from support import x86
from support.integer_bench import Bench, Seeded
from support.more_integer_families import phases

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.types import DType, Type


def names(graph: Graph, target: str) -> list[str]:
    return [line.kernel.name for line in compile_graph(graph, targets.load(target)).lines]


def test_integers_are_those_of_the_operator(tmp_path: Path) -> None:
    bench = Bench(Seeded(4))
    for _ in range(40):
        bench.case(phases)
    program = compile_graph(bench.graph(), x86.load("x86-64-avx2"))
    layers = [line.kernel.name.split("_s8")[0] for line in program.lines if line.macs]
    assert layers.count("conv2d") > 12, layers
    assert "conv_transpose2d" in layers, "too many products, or cells in front of all windows"
    x86.check(program, x86.drive(program, tmp_path, "size"), [bench.inputs])


def floats(*ops: ConvTranspose2d, window: int = 4, groups: int = 1) -> Graph:
    builder, numbers = Builder(), np.random.default_rng(len(ops))
    inputs: list[str] = []
    outputs: list[str] = []
    for op in ops:
        inputs.append(builder.input(f"x{len(inputs)}", Type(DType.F32, (1, 5, 6, 12))))
        w = builder.const(numbers.normal(size=(10, window, window, 12 // groups)).astype(np.float32))
        outputs += builder.add(op, inputs[-1], w, builder.const(numbers.normal(size=10).astype(np.float32)))
    return builder.graph("floats", inputs, outputs)


def any_floats(random: Random) -> ConvTranspose2d:
    """About as large as what windows of four cells reach."""
    strides = random.choice((1, 2, 4)), random.choice((1, 2, 4))
    pads = random.randint(0, 2), random.randint(0, 2)
    height, width = (
        (n - 1) * s + 4 - 2 * p + random.randint(0, s) for n, s, p in zip((5, 6), strides, pads, strict=True)
    )
    return ConvTranspose2d((height, width), strides, pads, lo=random.choice((-np.inf, 0.0)))


def test_floats_are_those_of_the_operator(tmp_path: Path) -> None:
    random = Random(3)
    program = compile_graph(floats(*(any_floats(random) for _ in range(12))), x86.load("x86-64-avx2"))
    layers = [line.kernel.name for line in program.lines if line.macs]
    assert sum(name.startswith("conv2d") for name in layers) > 6, layers
    x86.check(program, x86.drive(program, tmp_path, "size"), [simulate.random_inputs(program.graph, 2)])


def test_of_stride_one_needs_no_copy() -> None:
    found = names(floats(ConvTranspose2d((5, 6), pads=(1, 1)), window=3), "x86-64-avx2")
    assert len(found) == 1
    assert found[0].startswith("conv2d")


@pytest.mark.parametrize(
    ("op", "settings", "target"),
    [
        (ConvTranspose2d((10, 12), (2, 2)), {"window": 3}, "x86-64-avx2"),  # 0 times infinity
        (ConvTranspose2d((10, 12), (2, 2), (-1, 0)), {}, "x86-64-avx2"),
        (ConvTranspose2d((10, 12), (2, 2), dilations=(2, 1)), {}, "x86-64-avx2"),
        (ConvTranspose2d((10, 12), (2, 2), groups=2), {"groups": 2}, "x86-64-avx2"),
        (ConvTranspose2d((10, 12), (2, 2), (1, 1)), {}, "wasm32-simd"),  # measured: no faster
        (ConvTranspose2d((10, 12), (2, 2), (1, 1)), {}, "host"),
    ],
)
def test_others_stay(op: ConvTranspose2d, settings: dict[str, int], target: str) -> None:
    assert names(floats(op, **settings), target) == ["conv_transpose2d_f32"]
