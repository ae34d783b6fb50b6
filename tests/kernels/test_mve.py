"""Kernels for Helium on an emulated Cortex-M55: the integers of the simulator, always."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support.board_families import ELEMENTWISE, MORE, long_sums, other_formats, residuals
from support.boards import check, drive, load
from support.called import kernels
from support.integer_bench import Bench, Family, Seeded
from support.tools import require_shared

from edgekit.codegen.program import compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType

COMPILERS = ("zig", "arm-none-eabi-gcc")
LEVEL = {"size": "-Os", "speed": "-O3"}
NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


def windows(b: Bench) -> None:
    """Convolutions around the widths of vectors, with pixels in pairs and alone."""
    kernel, channels = b.pick(((1, 1), (1, 1), (3, 3), (1, 4), (10, 4))), b.size(34)
    x = b.input(b.size(2), kernel[0] + b.size(4), kernel[1] + b.size(4), channels)
    w, bias = b.weights(DType.S8, b.size(9), *kernel, channels)
    top, left, bottom, right = (b.size(3) - 1 for _ in range(4))
    pads = b.pick(((0, 0, 0, 0), (top, left, bottom, right)))
    op = Conv2d((b.size(2), b.size(2)), pads, (1, 1), 1, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def channels(b: Bench) -> None:
    """Depthwise convolutions whose last cells end within a vector."""
    width, kernel = b.pick((1, 3, 7, 15, 16, 17, 32, 40)), b.pick(((3, 3), (3, 3), (2, 2), (1, 5), (4, 1)))
    height, columns = kernel[0] + b.size(5), kernel[1] + b.size(5)
    x = b.input(b.size(2), height, columns, width)
    w, bias = b.weights(DType.S8, width, *kernel, 1)
    top, left, bottom, right = (b.size(3) - 1 for _ in range(4))
    op = Conv2d((b.size(2), b.size(2)), (top, left, bottom, right), (1, 1), width, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def bands(b: Bench) -> None:
    """Depthwise convolutions of 3x3 taps, in bands of rows, whole or not; columns end within a block."""
    width, channels = b.pick((1, 2, 3, 5, 8, 9, 16, 31, 48, 95, 97)), b.pick((1, 2, 7, 16, 17))
    top, bottom = b.size(3) - 1, b.size(3) - 1
    height = max(3 - top - bottom, 0) + b.pick((b.size(3), b.size(9), 27))
    x = b.input(b.size(2), height, width, channels)
    w, bias = b.weights(DType.S8, channels, 3, 3, 1)
    op = Conv2d(pads=(top, 1, bottom, 1), groups=channels, hi=b.pick((2.5, np.inf)))
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def pairs(b: Bench) -> None:
    """Convolutions whose windows are read where they are, but at the border."""
    channels, outputs = b.pick((16, 32, 48)), b.pick((b.size(20), 16))
    x = b.input(b.size(2), 3 + b.size(4), 4 + b.size(7), channels)
    w, bias = b.weights(DType.S8, outputs, b.size(3), 3, channels)
    top, left, bottom, right = (b.size(2) - 1 for _ in range(4))
    strides, limits = (b.size(2), b.size(2)), b.limits()
    op = Conv2d(strides, (top, left, bottom, right), (1, 1), 1, *limits)
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def groups(b: Bench) -> None:
    """Convolutions in few groups, mostly of whole vectors of outputs, whose windows end within a block."""
    count, depth, kernel = b.pick((2, 4)), b.size(9), b.pick(((1, 1), (1, 1), (3, 3), (2, 3)))
    dilations = b.pick(((1, 1), (1, 1), (b.size(2), b.size(2))))
    height, width = ((k - 1) * d + b.size(7) for k, d in zip(kernel, dilations, strict=True))
    x = b.input(b.size(2), height, width, count * depth)
    w, bias = b.weights(DType.S8, count * b.pick((4, 8, 12, b.size(20))), *kernel, depth)
    top, left, bottom, right = (b.size(2) - 1 for _ in range(4))
    pads = b.pick(((0, 0, 0, 0), (top, left, bottom, right)))
    op = Conv2d((b.size(3), b.size(3)), pads, dilations, count, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def long_rows(b: Bench) -> None:
    x = b.input(b.size(3), b.size(70))
    w, bias = b.weights(DType.S8, b.size(9), b.builder.type(x).shape[1])
    b.result(Dense(*b.limits()), x, w, bias, quant=b.quant(0, 6))


FAMILIES: tuple[Family, ...] = (
    windows,
    channels,
    bands,
    pairs,
    groups,
    residuals,
    long_rows,
    families.convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    long_sums,
    families.sums,
    other_formats,
    other_formats,
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_integers_of_any_shape(optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    bench = Bench(Seeded(2027 + len(optimize + compiler)))
    for i in range(230 if optimize == "size" else 115):
        bench.case(FAMILIES[i % len(FAMILIES)])
    program = compile_graph(bench.graph(), load("cortex-m55", compiler))
    called = kernels(program, "mve")
    names = ["conv2d_s8_tfl_dot", "conv2d_s8_dot", "depthwise2d_s8_tfl_m1", "depthwise2d_s8_m1"]
    for ending in ("_pixel", "_pair", "_up_m1", "_k3x3", "_up_dot", "_chw"):
        assert any(name.endswith(ending) for name in called), called
    assert any(name.startswith("conv2d_add_affine") for name in called), called
    rules = {name.replace("_up", "") for name in called}
    assert {*names, "dense_s8_dot", "dense_s8_once_dot"} <= rules, called
    if optimize == "size":  # there are more layers
        wide = {name.replace("_wide", "") for name in called if name.endswith("_s8_s16")}
        assert {"conv2d_s8_s8_s16_dot_s8_s16", "dense_s8_s8_s16_dot_s8_s16"} <= wide, called
        assert any("_wide_" in name for name in called), called
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


@pytest.mark.parametrize(("compiler", "optimize"), [("zig", "speed"), ("arm-none-eabi-gcc", "size")])
def test_elementwise_operators_and_pools(compiler: str, optimize: Optimize, tmp_path: Path) -> None:
    bench = Bench(Seeded(2 + len(compiler)))
    for i in range(75 if optimize == "speed" else 165):
        bench.case(ELEMENTWISE[i % len(ELEMENTWISE)])
    program = compile_graph(bench.graph(), load("cortex-m55", compiler))
    expected = ["affine_s8_plain", "mul_s8_plain", "meanpool2d_s8_plain", "meanpool2d_border_s8"]
    expected += ["avgpool2d_s8_tfl", "maxpool2d_s8", "table_s8_plain"]
    expected += ["quantize_s8", "quantize_tfl_s8", "mul_s8_plain_scalar", "affine_s8_plain_scalar"]
    expected += ["quantize_s16", "requantize_s16_s8", "prelu_s8_plain"]
    assert set(expected) <= set(kernels(program, "mve")), kernels(program, "mve")
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


@pytest.mark.parametrize(("compiler", "optimize"), [("zig", "size"), ("arm-none-eabi-gcc", "speed")])
def test_matrices_norms_and_filters(compiler: str, optimize: Optimize, tmp_path: Path) -> None:
    bench = Bench(Seeded(9 + len(compiler)))
    for i in range(70):
        bench.case(MORE[i % len(MORE)])
    program = compile_graph(bench.graph(), load("cortex-m55", compiler))
    for start in (
        "matmul_s8",
        "matmul_nt_s8",
        "norm_s8",
        "resample_s8",
        "conv_transpose2d",
        "depthwise2d_s16",
    ):
        assert any(name.startswith(start) for name in kernels(program, "mve")), start
    assert {"softmax_s8_plain", "softmax_s8_tfl_plain"} <= kernels(program, "mve").keys()
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


@pytest.mark.parametrize(("compiler", "optimize"), [("zig", "speed"), ("arm-none-eabi-gcc", "size")])
def test_matrices_in_several_panels(compiler: str, optimize: Optimize, tmp_path: Path) -> None:
    """Columns are packed in panels of about 4 KB, more than one here; rows end within a block or do not."""
    bench = Bench(Seeded(3 + len(compiler)))
    shapes = ((2, 16, 261), (5, 250, 37), (3, 256, 18), (8, 64, 16), (7, 33, 130), (4, 1, 3))
    for bench.rounding, (rows, inner, columns) in product(("E", "tfl"), shapes):
        a = bench.input(2, rows, inner)
        bench.result(MatMul(), a, bench.input(2, inner, columns), quant=bench.quant(0, 4))
        bench.result(MatMul((), (0, 2, 1)), a, bench.input(2, columns, inner), quant=bench.quant(0, 4))
    program = compile_graph(bench.graph(), load("cortex-m55", compiler))
    called = kernels(program, "mve")
    assert {f"matmul_{kind}s8_plain_packed" for kind in ("", "nt_")} <= called.keys(), called
    assert {f"matmul_{kind}s8_tfl_packed" for kind in ("", "nt_")} <= called.keys(), called
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_of_int8(network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load("cortex-m55", "zig"))
    layers = [line for line in program.lines if line.macs]
    assert sum(kernels(program, "mve").values()) >= len(layers), "a layer is left to the plain kernels"
    samples = [simulate.random_inputs(graph, seed) for seed in (0, 1)]
    check(program, drive(program, tmp_path, "speed", "-O3"), samples)


def test_a_network_on_cortex_m85(tmp_path: Path) -> None:
    graph = simplify(convert(require_shared("models/mlperf_tiny/kws_ref_model.tflite")))
    program = compile_graph(graph, load("cortex-m85", "zig"))
    check(program, drive(program, tmp_path, "size", "-Os"), [simulate.random_inputs(graph, 0)])
