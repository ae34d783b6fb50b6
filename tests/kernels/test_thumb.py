"""Kernels for Cortex-M0+ and M3, on an emulated board: the integers of the simulator, always."""

import math
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support.board_families import residuals
from support.boards import check, drive, load
from support.integer_bench import Bench, Family, Seeded
from support.tools import require_shared

from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import Array, Quant

LEVEL = {"size": "-Os", "speed": "-O3"}
FAMILIES: tuple[Family, ...] = (
    families.convolutions,
    families.channels_first_convolutions,
    families.grouped_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    residuals,
)


def kernels(program: Program) -> set[str]:
    """The functions that are called, without their rule."""
    names = {line.kernel.function for line in program.lines}
    return {re.sub(r"_(s8|tfl|tflm|up|once|e|plain)(?=_)", "", name) for name in names}


@pytest.mark.parametrize("compiler", ["zig", "arm-none-eabi-gcc"])
@pytest.mark.parametrize(("name", "optimize"), [("cortex-m0plus", "size"), ("cortex-m3", "speed")])
def test_integers_of_any_shape(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    bench = Bench(Seeded(6 + len(compiler)))
    for i in range(60 if optimize == "size" else 36):
        bench.case(FAMILIES[i % len(FAMILIES)])
    program = compile_graph(bench.graph(), load(name, compiler))
    best = program.target.isa[0]
    layers = ("depthwise2d",) if best == "thumb" else ("conv2d_quads", "depthwise2d_quads")
    expected = {f"ek_{layer}__{best}" for layer in ("conv2d", "dense", *layers)}
    assert expected <= kernels(program), kernels(program)
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


def expected_results(x: Array, w: Array, bias: Array, ratio: float, rounding: str) -> Array:
    """By the formulas of rule E and of TFLite, for windows of 3 by 3 and zero points of 3 and -5."""
    image = np.pad(x.astype(np.int64) - 3, ((0, 0), (1, 1), (1, 1), (0, 0)))
    (outputs, _, _, depth), (height, width) = w.shape, x.shape[1:3]
    acc = np.zeros((len(x), height, width, outputs), np.int64) + bias
    for o, i, j, c in product(range(outputs), range(3), range(3), range(depth)):
        cells = image[:, i : i + height, j : j + width, o if depth < x.shape[3] else c]
        acc[..., o] += cells * int(w[o, i, j, c])
    significand, exponent = math.frexp(ratio)
    m = math.floor(significand * 2**31 + 0.5)
    if rounding == "E":
        y = (acc * m + (1 << (30 - exponent))) >> (31 - exponent)
    else:
        high = (acc * m + (1 << 30)) >> 31
        y = (high + (high >> 63) + (1 << (-exponent - 1))) >> -exponent
    return np.clip(y - 5, -128, 127).astype(np.int8)


@pytest.mark.parametrize("compiler", ["zig", "arm-none-eabi-gcc"])
def test_limits_of_sums_in_halves_of_words(compiler: str, tmp_path: Path) -> None:
    """Every cell and weight at an end: the sums of two pixels share a word, and fill its halves."""
    bench, expected = Bench(Seeded(4)), dict[str, Array]()
    numbers = np.random.default_rng(5)
    sizes = product((1, 2, 3, 5), (1, 7, 8, 9, 17), ((1, 1), (1, 3), (2, 2), (3, 3), (2, 7)))
    for i, (depth, outputs, image) in enumerate(sizes):
        rounding, is_depthwise = ("E", "tfl")[i % 2], i % 3 == 2
        depth = outputs if is_depthwise else depth
        x = numbers.choice((-128, 127), (1 + i % 2, *image, depth)).astype(np.int8)
        w = numbers.choice((-127, 127), (outputs, 3, 3, 1 if is_depthwise else depth)).astype(np.int8)
        bias = numbers.integers(-(2**12), 2**12, outputs).astype(np.int32)
        if i % 4 < 3:  # the same products everywhere
            x[:], w[:] = ((-128, -127), (-128, 127), (127, 127))[i % 4]
        scales = [1.0, float(np.float32(numbers.uniform(1, 2))), 2.0 ** (5 + i % 11)]
        of_x, of_w, of_y = (
            Quant((scale,), (zero,), None, rounding) for scale, zero in zip(scales, (3, 0, -5), strict=True)
        )
        name = bench.input(*x.shape, quant=of_x)
        bench.inputs[name] = x
        op = Conv2d(pads=(1, 1, 1, 1), groups=outputs if is_depthwise else 1)
        bench.result(op, name, bench.constant(w, of_w), bench.constant(bias), quant=of_y)
        expected[bench.outputs[-1]] = expected_results(x, w, bias, scales[1] / scales[2], rounding)
    program = compile_graph(bench.graph(), load("cortex-m0plus", compiler))
    assert {"ek_conv2d_quads__thumb1", "ek_depthwise2d_quads__thumb1"} <= kernels(program)
    found = drive(program, tmp_path, "size", "-O3").run(program, bench.inputs)
    for results in (simulate.run(program.graph, bench.inputs), found):
        assert [name for name, y in expected.items() if not np.array_equal(results[name], y)] == []


@pytest.mark.parametrize("network", ["kws_ref_model", "ad01_int8"])
@pytest.mark.parametrize("name", ["cortex-m0plus", "cortex-m3"])
def test_networks_of_int8(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name, "zig"))
    check(program, drive(program, tmp_path, "speed", "-O3"), [simulate.random_inputs(graph, 0)])
