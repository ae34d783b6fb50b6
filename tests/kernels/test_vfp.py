"""Kernels for scalar FPUs, on emulated boards, against the simulator: any shapes, and whole networks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support.boards import drive, load
from support.called import kernels
from support.kernel_records import expecting
from support.tools import require_shared

from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.groupwise import DenseGroupwise
from edgekit.core.ops.layer_norm import RmsNorm
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import Array, DType, Type

TARGETS = ("cortex-m4", "cortex-m7", "cortex-m33")
COMPILERS = ("zig", "arm-none-eabi-gcc")
LEVEL = {"size": "-Os", "speed": "-O2"}
NETWORKS = ("kws_ref_model_float32", "vww_96_float", "ad01_fp32")
LIMITS = ((-np.inf, np.inf), (0.0, np.inf), (0.0, 6.0), (-1.0, 1.0))


@dataclass
class Bench:
    """A graph in the making, in which every case is a layer with an input of its own."""

    random: Random
    numbers: np.random.Generator
    weights: DType = DType.F32
    builder: Builder = field(default_factory=Builder)
    inputs: dict[str, Array] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def size(self, most: int) -> int:
        return self.random.randint(1, most)

    def data(self, *shape: int) -> Array:
        return self.numbers.normal(size=shape).astype(np.float32)

    def input(self, *shape: int) -> str:
        name = self.builder.input(f"x{len(self.inputs)}", Type(DType.F32, shape))
        self.inputs[name] = self.data(*shape)
        return name

    def layer(self, op: Linear, x: str, *weights: int) -> None:
        w, bias = self.data(*weights).astype(self.weights.numpy), self.data(weights[0])
        self.outputs += self.builder.add(op, x, self.builder.const(w), self.builder.const(bias))


def convolution(b: Bench, groups: int, depth: int, outputs: int, *, first: bool = False) -> None:
    """Over an image that is a little larger than the window, or so padded that windows miss it."""
    kernel, dilations = (b.size(4), b.size(4)), (b.size(2), b.size(2))
    top, left, bottom, right = (b.size(4) - 1 for _ in range(4))
    height, width = ((k - 1) * d + b.size(6) for k, d in zip(kernel, dilations, strict=True))
    height, width = max(1, height - top), max(1, width - left)
    bottom = max(bottom, (kernel[0] - 1) * dilations[0] + 1 - height - top)
    right = max(right, (kernel[1] - 1) * dilations[1] + 1 - width - left)
    batch, channels = b.size(2), groups * depth
    if first:
        image = b.input(batch, channels, height, width)
        (x,) = b.builder.add(Transpose((0, 2, 3, 1)), image)
    else:
        x = b.input(batch, height, width, channels)
    lo, hi = b.random.choice(LIMITS)
    op = Conv2d((b.size(3), b.size(3)), (top, left, bottom, right), dilations, groups, lo, hi)
    b.layer(op, x, outputs * groups, *kernel, depth)


def convolutions(b: Bench) -> None:
    convolution(b, 1, b.size(11), b.size(14))


def points(b: Bench) -> None:
    """Windows of one pixel."""
    channels = b.size(20)
    b.layer(Conv2d(), b.input(1, b.size(4), b.size(5), channels), b.size(9), 1, 1, channels)


def grouped(b: Bench) -> None:
    convolution(b, b.size(3) + 1, b.size(5), b.size(6))


def channels_first(b: Bench) -> None:
    convolution(b, 1, b.size(3), b.size(5), first=True)


def depthwise(b: Bench) -> None:
    convolution(b, b.size(26), 1, 1)


def depthwise_of_several(b: Bench) -> None:
    convolution(b, b.size(5), 1, 2)


def dense(b: Bench) -> None:
    lo, hi = b.random.choice(LIMITS)
    inputs = b.size(40)
    b.layer(Dense(lo, hi), b.input(b.size(5), inputs), b.size(10), inputs)


FAMILIES: tuple[Callable[[Bench], None], ...] = (
    convolutions,
    points,
    grouped,
    channels_first,
    depthwise,
    depthwise_of_several,
    dense,
)


def check(program: Program, driver: Driver, samples: Sequence[dict[str, Array]]) -> None:
    """Equal but for the rounding of sums; what is not finite exactly so."""
    for sample in samples:
        with np.errstate(invalid="ignore"):
            found, expected = driver.run(program, sample), simulate.run(program.graph, sample)
        for name in program.graph.outputs:
            largest = np.abs(expected[name][np.isfinite(expected[name])]).max(initial=1.0)
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-5 * largest, err_msg=name)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("name", "optimize"), [("cortex-m4", "size"), ("cortex-m33", "speed")])
def test_floats_of_any_shape(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    seed = len(name + compiler)
    bench = Bench(Random(seed), np.random.default_rng(seed))
    for i in range(140 if optimize == "size" else 70):
        FAMILIES[i % len(FAMILIES)](bench)
    program = compile_graph(
        bench.builder.graph("floats", list(bench.inputs), bench.outputs), load(name, compiler)
    )
    called = kernels(program, "vfp")
    assert set(called) == {"conv2d_f32", "depthwise2d_f32", "dense_f32"}
    driver = drive(program, tmp_path, optimize, LEVEL[optimize])
    extreme = {name: data.copy() for name, data in bench.inputs.items()}
    for data in extreme.values():
        data.reshape(-1)[:: max(7, data.size // 3)] = bench.random.choice((np.nan, np.inf, -np.inf))
    check(program, driver, [bench.inputs, extreme])


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("name", "optimize"), [("cortex-m4", "speed"), ("cortex-m33", "size")])
def test_weights_of_16_bits(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    bench = Bench(Random(2026), np.random.default_rng(2026))
    for i in range(48):
        bench.weights = (DType.BF16, DType.F16)[i % 2]
        (convolutions, grouped, dense)[i // 2 % 3](bench)
    program = compile_graph(
        bench.builder.graph("floats", list(bench.inputs), bench.outputs), load(name, compiler)
    )
    layers = [f"{layer}_f32_{w}_{w}" for layer in ("conv2d", "dense") for w in ("bf16", "f16")]
    assert set(kernels(program, "vfp")) == set(layers)
    found = drive(program, tmp_path, optimize, LEVEL[optimize]).run(program, bench.inputs)
    expected = simulate.run(program.graph, bench.inputs)
    for output in bench.outputs:
        assert np.array_equal(found[output], expected[output]), output


def test_weights_in_groups(tmp_path: Path) -> None:
    """Whole blocks of outputs and cut ones, a last group that is shorter, zero points, bounds, all scales."""
    bench = Bench(Random(8), np.random.default_rng(8))
    shapes = [(1, 64, 24, 32), (2, 70, 13, 16), (3, 9, 5, 4), (1, 33, 1, 128)]
    formats = product((DType.S8, DType.S4), (DType.F32, DType.F16, DType.BF16), (False, True))
    for (rows, inputs, outputs, group), (dtype, scales, has_zero) in product(shapes, formats):
        count, most = -(-inputs // group), 1 << (dtype.bits - 1)
        whole = [
            bench.numbers.integers(-most, most, shape).astype(dtype.numpy)
            for shape in ((outputs, inputs), (outputs, count))
        ]
        scale = bench.numbers.uniform(0.001, 0.02, (outputs, count)).astype(scales.numpy)
        operands = [whole[0], scale, bench.data(outputs), *whole[1:] * has_zero]
        names = [bench.builder.const(data) for data in operands]
        op = DenseGroupwise(min(group, inputs), *bench.random.choice(LIMITS))
        bench.outputs += bench.builder.add(op, bench.input(rows, inputs), *names)
    program = compile_graph(
        bench.builder.graph("floats", list(bench.inputs), bench.outputs), load("cortex-m7", "zig")
    )
    assert len(kernels(program, "vfp")) == 12
    check(program, drive(program, tmp_path, "size", LEVEL["size"]), [bench.inputs])


@pytest.mark.parametrize(
    ("name", "compiler"),
    [
        *(("cortex-m4", "arm-none-eabi-gcc"), ("cortex-m7", "zig")),
        *(("cortex-m55", "arm-none-eabi-gcc"), ("cortex-m85", "zig")),
    ],
)
def test_attention_to_caches(name: str, compiler: str, tmp_path: Path) -> None:
    """Blocks of keys, one that is cut, positions outside, several queries, heads that share keys; scores so
    far apart that weights are 0, NaN, and infinite keys.

    Where a scale spreads scores, it also spreads how far sums in another order differ: queries and keys are
    fourths there, whose products have exact sums.
    """
    bench = Bench(Random(7), np.random.default_rng(7))
    shapes = [(2, 2, 40, 8, 8), (4, 2, 33, 16, 24), (3, 1, 5, 8, 16), (8, 2, 70, 8, 8), (4, 2, 33, 8, 8)]
    kinds = [(shape, index, 0) for shape, index in product(shapes, (DType.S32, DType.S64))]
    kinds += [(shape, DType.S32, shape[2] - 4) for shape in (shapes[0], shapes[3], (4, 2, 70, 16, 8))]
    keys_of: list[str] = []
    for (heads, shared, keys, size, values), index, window in kinds:
        at = np.array([0, keys // 2, keys - 1, keys + 9, -3, 15], index.numpy)
        q, k, v = (
            bench.input(1, n, rows, width)
            for n, rows, width in ((heads, 6, size), (shared, keys, size), (shared, keys, values))
        )
        keys_of.append(k)
        places = bench.builder.input(f"at{len(bench.inputs)}", Type(index, at.shape))
        bench.inputs[places] = at
        scale = size**-0.5
        if keys == 33:
            scale = 40.0
            bench.inputs |= {name: np.round(4 * bench.inputs[name]) / 4 for name in (q, k)}
        bench.outputs += bench.builder.add(CachedAttention(scale, window), q, k, v, places)
    program = compile_graph(
        bench.builder.graph("floats", list(bench.inputs), bench.outputs), load(name, compiler)
    )
    isa, each = (
        ("mve", [""]) if name in ("cortex-m55", "cortex-m85") else ("vfp", ["", "_pairs", "_pairs_of_eight"])
    )
    expected = {f"cached_attention_f32_{index}{kind}" for index in ("s32", "s64") for kind in each}
    assert set(kernels(program, isa)) == expected
    broken, infinite = ({name: data.copy() for name, data in bench.inputs.items()} for _ in range(2))
    for data in broken.values():
        if data.dtype == np.float32:
            data[0, 0, 0, 3] = np.nan
    for name in keys_of:  # scores of both signs
        infinite[name][0, 0, 0, 3] = np.inf
    samples = [bench.inputs, broken, infinite]
    check(program, drive(program, tmp_path, "speed", LEVEL["speed"]), samples)


@pytest.mark.parametrize(("name", "optimize"), [("cortex-m4", "size"), ("cortex-m7", "speed")])
def test_norms(name: str, optimize: Optimize, tmp_path: Path) -> None:
    """Of whole sixteens and rests, of one row and several: the bits of portable C."""
    bench, op, expected = Bench(Random(9), np.random.default_rng(9)), RmsNorm(1e-5), {}
    for rows, n in ((1, 64), (40, 64), (3, 7), (2, 48), (20, 25), (1, 16), (1, 33)):
        x, scale = bench.input(rows, n), bench.data(n)
        bench.inputs[x] **= 3  # of unequal size: the order of sums matters
        y = bench.builder.one(op, x, bench.builder.const(scale))
        (expected[y],) = expecting(op.in_c)(bench.inputs[x], scale)
    program = compile_graph(
        bench.builder.graph("floats", list(bench.inputs), list(expected)), load(name, "zig")
    )
    assert kernels(program, "vfp") == {"rms_norm_f32": 7}
    found = drive(program, tmp_path, optimize, LEVEL[optimize]).run(program, bench.inputs)
    for y, value in expected.items():
        np.testing.assert_array_equal(found[y], value)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("name", "optimize"), [("cortex-m4", "speed"), ("cortex-m7", "size")])
def test_sums(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    """Of whole eights and rests, alone, in place and as parts of a result."""
    bench = Bench(Random(10), np.random.default_rng(10))
    add = bench.builder.add
    for n in (7, 8, 9, 16, 23, 64):
        a, b = bench.input(n), bench.input(n)
        (y,) = add(Add(), a, b)
        bench.outputs += add(Add(), *add(Add(), y, a), b)  # in place, of the first operand
        bench.outputs += add(Concat(0), y, *add(Add(), b, *add(Add(), a, a)))
    bench.outputs += add(Add(), a, bench.builder.const(np.float32(3)))
    program = compile_graph(
        bench.builder.graph("floats", list(bench.inputs), bench.outputs), load(name, compiler)
    )
    assert kernels(program, "vfp") == {"add_f32_contiguous": 30}
    assert kernels(program, "ref")["add_f32"] == 1  # with one number for all
    driver = drive(program, tmp_path, optimize, LEVEL[optimize])
    extreme = {name: np.where(data > 1, np.nan, data) for name, data in bench.inputs.items()}
    for sample in (bench.inputs, extreme):
        found, expected = driver.run(program, sample), simulate.run(program.graph, sample)
        for output in bench.outputs:
            np.testing.assert_array_equal(found[output], expected[output], err_msg=output)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", TARGETS)
def test_networks_of_floats(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name, "zig"))
    layers = [line for line in program.lines if line.macs]
    assert sum(kernels(program, "vfp").values()) >= len(layers), "a layer is left to the plain kernels"
    check(program, drive(program, tmp_path, "speed", "-O2"), [simulate.random_inputs(graph, 0)])
