"""Kernels of 32-bit ARM with NEON, under its emulator: integers as simulated, and floats but for rounding."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
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
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize, Target
from edgekit.core.types import DType, Quant, Type, Value

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off")
LEVEL = {"size": "-Os", "speed": "-O2"}
NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


def windows(b: Bench) -> None:
    """Convolutions whose windows are read where they are, in pieces of eight or sixteen cells, or not."""
    kernel, channels = b.pick(((1, 1), (3, 3), (1, 4), (5, 2))), b.pick((3, 8, 16, 24, 32, 40))
    x = b.input(b.size(2), kernel[0] + b.size(5), kernel[1] + b.size(6), channels)
    w, bias = b.weights(DType.S8, b.size(20), *kernel, channels)
    pads = (b.size(2) - 1, b.size(3) - 1, b.size(2) - 1, b.size(3) - 1)
    b.result(Conv2d((b.size(2), b.size(2)), pads, (1, 1), 1, *b.limits()), x, w, bias, quant=b.quant(0, 6))


def three_by_three(b: Bench) -> None:
    """Depthwise, of at least a vector of channels, with borders of any width."""
    channels, stride = b.pick((8, 9, 15, 16, 17, 24)), b.size(3)
    pads = (b.size(3) - 1, b.size(3) - 1, b.size(3) - 1, b.size(3) - 1)
    x = b.input(b.size(2), 2 + b.size(6), 2 + b.size(6), channels)
    w, bias = b.weights(DType.S8, channels, 3, 3, 1)
    op = Conv2d((stride, stride), pads, (b.size(2), 1), channels, *b.limits())
    if b.builder.type(x).shape[1] + pads[0] + pads[2] < 5:
        op = replace(op, dilations=(1, 1))
    b.result(op, x, w, bias, quant=b.quant(0, 6))


FAMILIES: tuple[Family, ...] = (
    windows,
    three_by_three,
    families.convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    families.long_rows,
    families.sums,
    families.sums,
    families.products,
    long_slopes,
    families.softmaxes,
    families.attentions,
)


def load() -> Target:
    """The target with the plain compiler, which links in a moment."""
    require("qemu-arm")
    require("arm-linux-gnueabihf-gcc")
    target = targets.load("armv7-neon")
    return replace(target, compilers=tuple(c for c in target.compilers if "gcc" in c))


def drive(program: Program, folder: Path, optimize: Optimize) -> Driver:
    compiler = toolchain.find(program.target)
    names = written([program], folder, optimize)
    return Driver([program], names, folder, compiler, [LEVEL[optimize], *STRICT])


def integers(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        bench.case(FAMILIES[i % len(FAMILIES)])
    return bench


def check(program: Program, driver: Driver, samples: Sequence[dict[str, np.ndarray]]) -> None:
    for sample in samples:
        found, expected = driver.run(program, sample), simulate.run(program.graph, sample)
        for output in program.graph.outputs:
            assert np.array_equal(found[output], expected[output]), output


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_integers_of_any_shape(optimize: Optimize, tmp_path: Path) -> None:
    bench = integers(2028 + len(optimize), 240 if optimize == "size" else 160)
    program = compile_graph(bench.graph(), load())
    names = {
        "conv2d_s8_tfl_right_shift",
        "conv2d_s8",
        "depthwise2d_s8_k3x3",
        "dense_s8_once",
        "add_s8_tfl_contiguous",
    }
    names |= {"affine_s8_plain_contiguous", "mul_s8_tfl_contiguous", "matmul_s8_plain", "matmul_nt_s8_plain"}
    names |= {"softmax_s8_plain", "affine_s8_plain_contiguous_s32", "prelu_s8_plain"}
    assert names <= kernels(program, "neon32").keys(), kernels(program, "neon32")
    check(program, drive(program, tmp_path, optimize), [bench.inputs])


@pytest.mark.parametrize("least", [-127, -128])
def test_two_products_never_leave_16_bits(least: int, tmp_path: Path) -> None:
    graph, sample = least_weights(least)
    program = compile_graph(graph, load())
    found = kernels(program, "neon32").keys()
    if least > -128:
        assert {name for name in found if "depthwise" in name} == {
            "depthwise2d_s8_tfl",
            "depthwise2d_s8_tfl_right_shift",
        }
        assert len(found) == 4
    else:
        assert found == {"depthwise2d_s8_tfl_one_product"}
    check(program, drive(program, tmp_path, "speed"), [sample])


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_of_int8(network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load())
    layers = [line for line in program.lines if line.macs]
    assert layers
    assert all(line.kernel.function.endswith("__neon32") for line in layers), (
        "a layer is left to plain kernels"
    )
    samples = [simulate.random_inputs(graph, seed) for seed in range(2)]
    check(program, drive(program, tmp_path, "speed"), samples)


def floats(shapes: Sequence[tuple[int, ...]], dtype: DType) -> tuple[Graph, dict[str, np.ndarray]]:
    """Layers of floats, weights of this type: batch, size, window, channels, outputs, groups."""
    b, numbers, sample = Builder(), np.random.default_rng(7), {}
    outputs: list[str] = []
    for i, (batch, size, kernel, channels, count, groups) in enumerate(shapes):
        image = (batch, size, size + 1, channels) if kernel else (batch, channels)
        window = (count, kernel, kernel, channels // groups) if kernel else (count, channels)
        x = b.input(f"x{i}", Type(DType.F32, image))
        sample[x] = numbers.normal(size=image).astype(np.float32)
        w, bias = b.fresh("w"), b.fresh("b")
        scales = Quant(tuple((1 + np.arange(count) % 3) / 64), (0,) * count, 0)
        weights = numbers.normal(size=window) * (40 if dtype is DType.S8 else 1)
        b.values[w] = Value(
            Type(dtype, window, scales if dtype is DType.S8 else None), weights.astype(dtype.numpy)
        )
        b.values[bias] = Value(Type(DType.F32, (count,)), numbers.normal(size=count).astype(np.float32))
        pad = kernel // 2
        is_sum, lo = i % 2 == 0 and kernel > 0, -np.inf if i % 2 == 0 else 0.0
        op = Conv2d((1 + i % 2, 1), (pad, pad, 0, pad), (1, 1), groups, lo) if kernel else Dense(-1.0, 1.0)
        (y,) = b.add(op, x, w, bias)
        if is_sum:
            addend = b.input(f"r{i}", b.type(y))
            sample[addend] = numbers.normal(size=b.type(y).shape).astype(np.float32)
            (y,) = b.add(Add(), addend, y)
        outputs.append(y)
    return b.graph("floats", list(sample), outputs), sample


LAYERS = {DType.F32: {"conv2d_f32_tile", "conv2d_add_f32_tile", "depthwise2d_f32_m1", "dense_f32"}}
LAYERS[DType.BF16] = {
    "conv2d_f32_bf16_unpacked_bf16",
    "conv2d_f32_bf16_bf16",
    "depthwise2d_f32_bf16_m1_bf16",
}
LAYERS[DType.BF16] |= {"dense_f32_bf16_bf16", "conv2d_add_f32_bf16_unpacked_bf16", "conv2d_add_f32_bf16_bf16"}
LAYERS[DType.F16] = {name.replace("bf16", "f16") for name in LAYERS[DType.BF16]}
LAYERS[DType.S8] = {"conv2d_scaled_f32_s8", "conv2d_scaled_f32_s8_unpacked", "dense_scaled_f32_s8"}


@pytest.mark.parametrize("dtype", LAYERS)
@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_floats_of_any_shape(optimize: Optimize, dtype: DType, tmp_path: Path) -> None:
    convolutions = [(1 + n % 2, 3 + n % 4, 1 + n % 3, 1 + n % 7, 1 + 3 * n, 1) for n in range(12)]
    depthwise = [(1, 5, 3, c, c, c) for c in (3, 4, 17, 24)]
    dense = [(1 + n % 5, 0, 0, 1 + 5 * n, 1 + 4 * n, 1) for n in range(8)]
    graph, sample = floats([*convolutions, *depthwise, *dense], dtype)
    with rivals.in_turns():
        program = compile_graph(graph, load())
    assert LAYERS[dtype] <= kernels(program, "neon32").keys(), kernels(program, "neon32")
    found = drive(program, tmp_path, optimize).run(program, sample)
    expected = simulate.run(graph, sample)
    for output in graph.outputs:
        assert np.allclose(found[output], expected[output], rtol=1e-5, atol=1e-5), output
