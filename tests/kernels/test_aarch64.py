"""Kernels of 64-bit ARM, under its emulator, against the simulator: random shapes and whole networks."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support import more_integer_families as more
from support import rivals
from support.board_families import long_slopes
from support.called import kernels
from support.generated import written
from support.integer_bench import Bench, Family, Seeded
from support.least_weights import least_weights
from support.tools import require, require_shared

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add, Clip
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array, DType, Quant, Type

TARGETS = ("aarch64", "aarch64-dotprod", "aarch64-i8mm")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off")
LEVEL = {"size": "-Os", "speed": "-O2"}
FAMILIES: tuple[Family, ...] = (
    families.convolutions,
    families.grouped_convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    families.sums,
    families.long_rows,
    families.products,
    long_slopes,
    families.functions,
    families.softmaxes,
    families.attentions,
    more.phases,
    more.wide_matrices,
)
NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


def load(name: str) -> Target:
    """A target with the plain compiler, which links in a moment."""
    require("qemu-aarch64")
    require("aarch64-linux-gnu-gcc")
    target = targets.load(name)
    return replace(target, compilers=tuple(c for c in target.compilers if "gcc" in c))


def drive(programs: Sequence[Program], folder: Path, optimize: Optimize) -> Driver:
    names = written(programs, folder, optimize)
    compiler = toolchain.find(programs[0].target)
    return Driver(programs, names, folder, compiler, [LEVEL[optimize], *STRICT])


def integers(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        bench.case(FAMILIES[i % len(FAMILIES)])
    return bench


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("name", TARGETS)
def test_integers_of_any_shape(name: str, optimize: Optimize, tmp_path: Path) -> None:
    target = load(name)
    bench = integers(2026, 120 if optimize == "size" else 40)
    graph = bench.graph()
    program = compile_graph(graph, target)
    isa = name.replace("aarch64", "neon").removeprefix("neon-")
    assert any(f.startswith("matmul") for f in kernels(program, isa))
    assert any(f.startswith("prelu") for f in kernels(program, "neon"))
    found = drive([program], tmp_path, optimize).run(program, bench.inputs)
    expected = simulate.run(graph, bench.inputs)
    for output in bench.outputs:
        assert np.array_equal(found[output], expected[output]), output


@pytest.mark.parametrize("least", [-127, -128])
@pytest.mark.parametrize("name", TARGETS)
def test_two_products_never_leave_16_bits(name: str, least: int, tmp_path: Path) -> None:
    graph, sample = least_weights(least)
    program = compile_graph(graph, load(name))
    assert not kernels(program, "ref")
    found = drive([program], tmp_path, "speed").run(program, sample)
    expected = simulate.run(graph, sample)
    for output in graph.outputs:
        assert np.array_equal(found[output], expected[output]), output


# An operator, the shape of its image, and that of its weights.
LAYERS: tuple[tuple[Linear, tuple[int, ...], tuple[int, ...]], ...] = (
    (Conv2d(pads=(1, 1, 1, 1)), (1, 9, 11, 7), (19, 3, 3, 7)),
    (Conv2d((2, 2), (0, 1, 1, 0), lo=0.0, hi=6.0), (2, 9, 10, 4), (16, 3, 2, 4)),
    (Conv2d(), (1, 5, 7, 13), (5, 1, 1, 13)),
    (Conv2d(dilations=(2, 2)), (1, 7, 7, 3), (10, 2, 2, 3)),
    (Conv2d(pads=(1, 1, 1, 1), groups=2), (1, 5, 5, 6), (10, 3, 3, 3)),
    (Conv2d(pads=(1, 1, 1, 1), groups=21), (1, 6, 7, 21), (21, 3, 3, 1)),
    (Conv2d((2, 2), (2, 2, 2, 2), groups=3), (1, 8, 9, 3), (6, 5, 5, 1)),
    (Conv2d((1, 1), (1, 1, 1, 1), groups=8, lo=0.0), (2, 3, 1, 8), (8, 3, 3, 1)),
    (Conv2d((2, 2), (0, 0, 1, 1), groups=4), (1, 9, 12, 4), (4, 3, 3, 1)),
    (Conv2d((1, 2), (2, 2, 2, 2), groups=5, hi=1.0), (1, 4, 5, 5), (5, 3, 3, 1)),
    (Conv2d((2, 1), (1, 0, 0, 2), groups=6), (1, 8, 2, 6), (6, 3, 3, 1)),
    (Conv2d((1, 1), (1, 1, 1, 1), (2, 2), groups=4), (1, 8, 8, 4), (4, 3, 3, 1)),
    (Conv2d((3, 3), groups=4), (1, 9, 9, 4), (4, 3, 3, 1)),
    (Conv2d(pads=(1, 1, 1, 1)), (1, 3, 3, 15), (45, 3, 3, 15)),
    (Conv2d(pads=(0, 2, 0, 2)), (2, 1, 3, 1), (14, 1, 3, 1)),
    (Conv2d(pads=(1, 1, 1, 1), groups=2), (1, 5, 7, 10), (8, 3, 3, 5)),
    (Conv2d((1, 2), (0, 1, 0, 1), groups=3), (2, 3, 8, 12), (60, 1, 2, 4)),
    (Conv2d(groups=2, lo=0.0), (1, 5, 5, 26), (40, 1, 1, 13)),
    (Conv2d(pads=(1, 1, 1, 1)), (1, 3, 4, 9), (27, 3, 3, 9)),
    (Dense(lo=-1.0), (6, 33), (21, 33)),
    (Dense(), (1, 8), (3, 8)),
)


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_floats_with_weights_of_32_16_and_8_bits(optimize: Optimize, tmp_path: Path) -> None:
    target = load("aarch64")
    builder, random = Builder(), np.random.default_rng(2026)
    inputs: dict[str, Array] = {}
    outputs: list[str] = []
    for dtype, (op, image, weights) in product((DType.F32, DType.BF16, DType.S8), LAYERS):
        x = builder.input(f"x{len(inputs)}", Type(DType.F32, image))
        inputs[x] = random.normal(size=image).astype(np.float32)
        w = builder.const(
            (random.normal(size=weights) * (40 if dtype is DType.S8 else 1)).astype(dtype.numpy)
        )
        if dtype is DType.S8:
            scales = Quant(tuple((1 + np.arange(weights[0]) % 3) / 64), (0,) * weights[0], 0)
            builder.values[w] = replace(builder.values[w], type=Type(dtype, weights, scales))
        bias = builder.const(random.normal(size=weights[0]).astype(np.float32))
        (y,) = builder.add(op, x, w, bias)
        if isinstance(op, Conv2d) and op.lo == -op.hi:
            addend = builder.input(f"x{len(inputs)}", builder.type(y))
            inputs[addend] = random.normal(size=builder.type(y).shape).astype(np.float32)
            outputs += builder.add(Add(), *builder.add(op, x, w, bias), addend)
        outputs.append(y)
    for shape in ((3, 17), (1, 4), (1, 3)):
        x = builder.input(f"x{len(inputs)}", Type(DType.F32, shape))
        inputs[x] = random.normal(size=shape).astype(np.float32)
        inputs[x].reshape(-1)[:2] = np.nan, np.inf
        limits = builder.const(np.float32(-1)), builder.const(np.float32(0.5))
        outputs += builder.add(Clip(), x, *limits)
        for addend in (x, builder.const(random.normal(size=shape[1:]).astype(np.float32)), limits[0]):
            outputs += builder.add(Add(), x, addend)
    for rows, inner, columns in ((5, 7, 3), (4, 16, 16), (9, 24, 65), (1, 5, 30)):
        for perm, other in (((0, 1, 2), (2, inner, columns)), ((0, 2, 1), (2, columns, inner))):
            factors = []
            for size in ((2, rows, inner), other):
                factors.append(builder.input(f"x{len(inputs)}", Type(DType.F32, size)))
                inputs[factors[-1]] = random.normal(size=size).astype(np.float32)
            outputs += builder.add(MatMul((), perm), *factors)
    graph = builder.graph("floats", list(inputs), outputs)
    with rivals.in_turns():
        program = compile_graph(graph, target)
    found, expected = drive([program], tmp_path, optimize).run(program, inputs), simulate.run(graph, inputs)
    for name in outputs:
        scale = np.abs(expected[name][np.isfinite(expected[name])]).max()
        assert np.allclose(found[name], expected[name], rtol=0, atol=1e-5 * scale, equal_nan=True), name
    kernels = {line.kernel.function for line in program.lines}
    names = {"conv2d_f32_tile", "conv2d_f32_bf16_unpacked_bf16", "conv2d_f32_bf16_bf16", "dense_f32"}
    names |= {"conv2d_add_f32_tile", "conv2d_add_f32_bf16_unpacked_bf16", "conv2d_add_f32_bf16_bf16"}
    names |= {"conv2d_scaled_f32_s8", "conv2d_scaled_f32_s8_unpacked", "dense_scaled_f32_s8"}
    names |= {"depthwise2d_f32_k3x3", "depthwise2d_f32_bf16_k3x3_bf16", "matmul_f32", "matmul_nt_f32"}
    assert {f"ek_{name}__neon" for name in names} <= kernels


@pytest.mark.parametrize("dtype", [DType.BF16, DType.F16])
def test_weights_of_16_bits_give_what_they_give_as_floats(dtype: DType, tmp_path: Path) -> None:
    """Subnormal numbers of 16 bits, too."""
    builder, random = Builder(), np.random.default_rng(2027)
    inputs: dict[str, Array] = {}
    pairs: list[tuple[str, ...]] = []
    for op, image, shape in LAYERS:
        x = builder.input(f"x{len(inputs)}", Type(DType.F32, image))
        inputs[x] = random.normal(size=image).astype(np.float32)
        weights = random.normal(size=shape) * random.choice((1, 1, 2.0**-15, 2.0**-24), shape)
        weights = weights.astype(dtype.numpy)
        bias = builder.const(random.normal(size=shape[0]).astype(np.float32))
        both = (builder.const(weights), builder.const(weights.astype(np.float32)))
        pairs.append(tuple(builder.add(op, x, w, bias)[0] for w in both))
    program = compile_graph(
        builder.graph("both", list(inputs), [y for pair in pairs for y in pair]), load("aarch64")
    )
    found = drive([program], tmp_path, "speed").run(program, inputs)
    for (narrow, wide), layer in zip(pairs, LAYERS, strict=True):
        assert np.array_equal(found[narrow], found[wide]), layer


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", TARGETS)
def test_networks_of_int8(name: str, network: str, tmp_path: Path) -> None:
    target = load(name)
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, target)
    driver = drive([program], tmp_path, "speed")
    for seed in range(3):
        sample = simulate.random_inputs(graph, seed)
        found, expected = driver.run(program, sample), simulate.run(graph, sample)
        for output in graph.outputs:
            assert np.array_equal(found[output], expected[output])
