"""Kernels for the DSP instructions of Cortex-M, on emulated boards: the integers of the simulator, always."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support import more_integer_families as more
from support import rivals
from support.board_families import (
    ELEMENTWISE,
    enlarged,
    long_sums,
    other_formats,
    residuals,
    wide_channels,
)
from support.boards import check, drive, load
from support.called import kernels
from support.integer_bench import Bench, Family, Seeded
from support.tools import require_shared

from edgekit.codegen.program import compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.quantize import Dequantize
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Quant

TARGETS = ("cortex-m4", "cortex-m7", "cortex-m33")
COMPILERS = ("zig", "arm-none-eabi-gcc")
LEVEL = {"size": "-Os", "speed": "-O2"}
NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


def three_by_three(b: Bench) -> None:
    """Depthwise convolutions as networks have them, two in a row: the second may lie over its input."""
    channels, shape = b.width(), (b.size(2), b.size(13), b.size(13))
    x = b.input(*shape, channels)
    for is_last in (False, True):
        _, height, width, _ = b.builder.type(x).shape
        top, left, bottom, right = (b.pick((0, 1, 1, 2)) for _ in range(4))
        pads = (top, left, max(bottom, 3 - height - top), max(right, 3 - width - left))
        stride = b.size(2)
        op = Conv2d((stride, stride), pads, (1, 1), channels, *b.limits())
        w, bias = b.weights(DType.S8, channels, 3, 3, 1)
        if is_last:
            b.result(op, x, w, bias, quant=b.quant(0, 6))
        else:
            (x,) = b.builder.add(op, x, w, bias, quant=b.quant(0, 6))


def windows(b: Bench) -> None:
    """Convolutions of many sums, with all the widths of blocks and words."""
    height, width = b.pick(((1, 1), (1, 1), (3, 3), (1, 4), (10, 4)))
    channels, pads = b.size(20), (b.size(3) - 1, b.size(3) - 1, b.size(3) - 1, b.size(3) - 1)
    x = b.input(1, height + b.size(5), width + b.size(5), channels)
    w, bias = b.weights(DType.S8, b.size(35), height, width, channels)
    op = Conv2d((b.size(2), b.size(2)), b.pick((pads, (0, 0, 0, 0))), (1, 1), 1, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def tiles(b: Bench) -> None:
    """Windows of 3 by 3 cells, of whole words: tiles of 2 by 2 results, some beyond the image, and a sum."""
    pads = (b.size(3) - 1, b.size(3) - 1, b.size(3) - 1, b.size(3) - 1)
    x = b.input(b.size(2), 2 + b.size(8), 2 + b.size(8), 4 * b.size(6))
    w, bias = b.weights(DType.S8, b.size(12), 3, 3, b.builder.type(x).shape[3])
    op, quant = Conv2d((1, 1), pads, (1, 1), 1, *b.limits()), b.quant(0, 6)
    if b.pick((False, True)):
        (y,) = b.builder.add(op, x, w, bias, quant=quant)
        b.result(Add(), y, b.input(*b.builder.type(y).shape), quant=b.quant(0, 6))
    else:
        b.result(op, x, w, bias, quant=quant)


def channels(b: Bench) -> None:
    """Depthwise convolutions with windows of any size, whose last cells end within a word."""
    width, kernel = b.pick((1, 3, 4, 7, 8, 17)), b.pick(((5, 5), (3, 3), (2, 2), (1, 5), (4, 1)))
    x = b.input(b.size(2), kernel[0] + b.size(5), kernel[1] + b.size(5), width)
    w, bias = b.weights(b.pick((DType.S8, DType.S4)), width, *kernel, 1)
    top, left, bottom, right = (b.size(3) - 1 for _ in range(4))
    op = Conv2d((b.size(2), b.size(3)), (top, left, bottom, right), (1, 1), width, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def points(b: Bench) -> None:
    """Windows of one pixel, of whole words."""
    x = b.input(b.size(2), b.size(4), b.size(5), 4 * b.size(9))
    w, bias = b.weights(DType.S8, b.size(20), 1, 1, b.builder.type(x).shape[3])
    b.result(Conv2d((b.size(2), 1), (0, 0, 0, 0), (1, 1), 1, *b.limits()), x, w, bias, quant=b.quant(0, 6))


def planes_to_16_bits(b: Bench) -> None:
    """Of an image in planes of channels, as first layers read it; also bounded from above alone."""
    b.rounding = "E"
    channels, outputs = b.size(4), b.size(20)
    image = b.input(1, channels, 3 + b.size(5), 3 + b.size(5))
    (x,) = b.builder.add(Transpose((0, 2, 3, 1)), image)
    w, bias = b.weights(DType.S8, outputs, 3, 3, channels)
    op = Conv2d((b.size(2), b.size(2)), (1, 1, 1, 1), (1, 1), 1, *b.pick(((-np.inf, 9.0), (0.0, np.inf))))
    b.result(replace(op, dtype=DType.S16), x, w, bias, quant=b.quant(0, 6, DType.S16))


def planes_of_16_bits(b: Bench) -> None:
    """Of an image of int16 in planes of channels, with room for its sums in 30 bits."""
    b.rounding = "E"
    image = b.input(1, 2, 3 + b.size(5), 3 + b.size(5), dtype=DType.S16)
    (x,) = b.builder.add(Transpose((0, 2, 3, 1)), image)
    w, _ = b.weights(DType.S8, b.size(20), 3, 3, 2)
    bias = b.constant(np.zeros(b.builder.type(w).shape[0], np.int32))
    of_y = b.pick((DType.S8, DType.S16))
    op = Conv2d((b.size(2), b.size(2)), (1, 1, 1, 1), dtype=None if of_y is DType.S16 else of_y)
    b.result(op, x, w, bias, quant=b.quant(dtype=of_y))


def pixels_to_16_bits(b: Bench) -> None:
    """Of an image of some pixels, or that has no second one."""
    b.rounding = "E"
    x = b.input(1, 1, b.pick((1, 5)), 4 * b.size(9))
    w, bias = b.weights(DType.S8, b.size(20), 1, 1, b.builder.type(x).shape[3])
    op = Conv2d((1, 1), (0, 0, 0, 0), dtype=DType.S16)
    b.result(op, x, w, bias, quant=b.quant(0, 6, DType.S16))


def one_pixel_of_16_bits(b: Bench) -> None:
    """To 8 bits, with room for its sums in 30 bits."""
    b.rounding = "E"
    x = b.input(1, 1, 1, 4 * b.size(9), dtype=DType.S16)
    w, _ = b.weights(DType.S8, b.size(20), 1, 1, b.builder.type(x).shape[3])
    bias = b.constant(np.zeros(b.builder.type(w).shape[0], np.int32))
    b.result(Conv2d((1, 1), (0, 0, 0, 0), dtype=DType.S8), x, w, bias, quant=b.quant(0, 6))


def long_rows(b: Bench) -> None:
    """Sums that leave the 24 bits in which two weights of 8 bits are unpacked at once."""
    x = b.input(b.size(2), 1500 + b.size(4))
    w, bias = b.weights(DType.S8, b.size(20), b.builder.type(x).shape[1])
    b.result(Dense(*b.limits()), x, w, bias, quant=b.quant(0, 6))


def low_bits(b: Bench) -> None:
    """Layers where the last bit of a high product decides: sums are few times as large as results."""
    kinds = (((1, 1, 4), 1), ((3, 3, 1), 1), ((3, 3, 1), 9), ((2, 2, 1), 9), ((3,), 0), ((3,), 0))
    b.rounding = ("tfl", "tflm")[len(b.outputs) % 2]
    shape, groups = kinds[len(b.outputs) % len(kinds)]
    count = groups if groups > 1 else 5 + b.size(6)
    numbers = b.choices.generator()
    quant = Quant(tuple(numbers.uniform(0.13, 0.49, count).tolist()), (0,) * count, 0, b.rounding)
    w = b.constant(numbers.integers(-3, 4, (count, *shape)).astype(np.int8), quant)
    bias = b.constant(numbers.integers(-20, 21, count).astype(np.int32))
    x_shape = (7, shape[0]) if not groups else (1, 7, 7, groups if groups > 1 else shape[-1])
    x = b.input(*x_shape, quant=Quant((1.0,), (0,), None, b.rounding))
    op = Conv2d(groups=groups, lo=0.0) if groups else Dense(lo=0.0)
    b.result(op, x, w, bias, quant=Quant((1.0,), (-128,), None, b.rounding))


def rows(b: Bench) -> None:
    """Fully connected layers by TFLite's rules, of any number of fours in the last turn of a loop."""
    b.rounding = b.pick(("tfl", "tflm"))
    x = b.input(1, b.size(80))
    w, bias = b.weights(DType.S8, b.size(20), b.builder.type(x).shape[1])
    b.result(Dense(*b.limits()), x, w, bias, quant=b.quant(0, 6))


FAMILIES: tuple[Family, ...] = (
    three_by_three,
    windows,
    channels,
    residuals,
    families.convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    long_sums,
    families.sums,
)


def integers(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        bench.case(FAMILIES[i % len(FAMILIES)])
    for _ in range(12):
        bench.case(rows)
    for _ in range(12):
        bench.case(low_bits)
    for _ in range(72):
        bench.case(tiles)
    return bench


ALONE: tuple[Family, ...] = (pixels_to_16_bits, one_pixel_of_16_bits, long_rows)
OTHERS: tuple[Family, ...] = (
    families.attentions,
    families.softmaxes,
    more.matrices,
    more.norms,
    more.filters,
    more.recurrent_layers,
    enlarged,
    wide_channels,
)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("name", "optimize"), [("cortex-m4", "size"), ("cortex-m33", "speed")])
def test_integers_of_any_shape(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    bench = integers(2027 + len(name + compiler), 160 if optimize == "size" else 100)
    with rivals.in_turns():
        program = compile_graph(bench.graph(), load(name, compiler))
    called = kernels(program, "dsp")
    names = ["conv2d_s8_tfl", "conv2d_s8", "depthwise2d_s8_tfl", "depthwise2d_s8", "depthwise2d_s8_tfl_m1"]
    names += ["depthwise2d_s8_m1", "conv2d_s8_tfl_pairs", "conv2d_s8_pairs", "conv2d_add_affine_s8_tfl_pairs"]
    names += ["conv2d_s8_winograd", "conv2d_s8_tfl_winograd", "conv2d_add_affine_s8_tfl_winograd"]
    assert set(names) <= {name.replace("_up", "") for name in called}, called
    assert {"conv2d_s8_tfl_up_pairs", "depthwise2d_s8_tfl_up", "depthwise2d_s8_tfl_up_m1"} <= set(called), (
        called
    )
    assert {"dense_s8_once_up", "dense_s8_tfl_up"} <= set(called), called
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_small_weights_and_wide_numbers(compiler: str, tmp_path: Path) -> None:
    bench = Bench(Seeded(7 + len(compiler)))
    families = (windows, channels, residuals, *FAMILIES[4:8], other_formats, other_formats, other_formats)
    for i in range(110):
        bench.case(families[i % len(families)])
    for family in (*(points, planes_to_16_bits, rows, rows) * 4, *(planes_of_16_bits,) * 6, *ALONE * 3):
        bench.case(family)
    graph = bench.graph()
    everything = {name: 0 for node in graph.nodes for name in node.outputs}
    program = compile_graph(graph, load("cortex-m4", compiler), weight_limits=everything)
    assert program.weight_bytes < compile_graph(graph, program.target).weight_bytes
    called = kernels(program, "dsp")
    endings = {name.split("_")[-1] for name in called}
    assert any(name.endswith("_long_bytes") for name in called), called
    assert "conv2d_s8_s8_s16_pixel_s8_s16" in called
    assert {"bytes", "nibbles", "s16", "s8"} <= endings, kernels(program, "dsp")
    large = {
        line.call.kernel
        for line in program.lines
        if line.call.rule == "e_wide" and "__dsp" in line.kernel.function
    }
    assert {"conv2d_int", "dense_int", "depthwise2d_int"} <= large, large
    # Rules that are the same code are one function: what counts instructions looks for it by name.
    assert {line.kernel.symbol for line in program.lines} == {kernel.symbol for kernel in program.kernels}
    check(program, drive(program, tmp_path, "size", LEVEL["size"]), [bench.inputs])


@pytest.mark.parametrize(("compiler", "optimize"), [("zig", "speed"), ("arm-none-eabi-gcc", "size")])
def test_elementwise_operators_and_pools(compiler: str, optimize: Optimize, tmp_path: Path) -> None:
    bench = Bench(Seeded(2 + len(compiler)))
    for i in range(75 if optimize == "speed" else 165):
        bench.case(ELEMENTWISE[i % len(ELEMENTWISE)])
    for dtype in (DType.S8, DType.S16):
        bench.result(Dequantize(), bench.input(bench.size(), bench.size(40), dtype=dtype))
    program = compile_graph(bench.graph(), load("cortex-m4", compiler))
    expected = ["affine_s8_plain", "mul_s8_plain", "meanpool2d_s8_plain", "meanpool2d_border_s8"]
    expected += ["avgpool2d_s8_tfl", "maxpool2d_s8", "table_s8_plain"]
    expected += ["quantize_s8", "quantize_tfl_s8", "mul_s8_plain_scalar", "affine_s8_plain_scalar"]
    expected += ["quantize_s16", "requantize_s16_s8", "prelu_s8_plain"]
    expected += ["dequantize_s8", "dequantize_s16", "total_s8_plain"]
    assert set(expected) <= set(kernels(program, "dsp")), kernels(program, "dsp")
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


def test_matrices_norms_and_filters(tmp_path: Path) -> None:
    bench = Bench(Seeded(3))
    for i in range(80):
        bench.case(OTHERS[i % len(OTHERS)])
    program = compile_graph(bench.graph(), load("cortex-m4", "arm-none-eabi-gcc"))
    expected = ["matmul_s8", "matmul_nt_s8", "norm_s8", "resample_s8", "depthwise2d_s16"]
    expected += ["lstm_int", "gru_int", "rnn_int"]
    for start in (*expected, "conv_transpose2d_s8", "conv_transpose2d_s8_tfl"):
        assert any(name.startswith(start) for name in kernels(program, "dsp")), start
    assert {"softmax_s8_plain", "softmax_s8_tfl_plain"} <= kernels(program, "dsp").keys()
    check(program, drive(program, tmp_path, "speed", LEVEL["speed"]), [bench.inputs])


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("name", "optimize"), [("cortex-m4", "speed"), ("cortex-m55", "size")])
def test_rows_of_bytes_that_move(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    """Of whole sixteens and fours and rests, from and to any address."""
    bench = Bench(Seeded(4))
    for n in (4, 5, 7, 15, 16, 17, 23, 37, 64):
        quant = bench.quant()
        x, y = bench.input(1, 3, n, 2, quant=quant), bench.input(1, 3, n, 3, quant=quant)
        bench.result(Concat(3), x, y, quant=quant)  # two and three bytes: by the portable kernel
        bench.result(Concat(2), x, bench.input(1, 3, 5, 2, quant=quant), quant=quant)
        bench.result(Slice((0, 0, 1, 0), (1, 1, 1, 1), (1, 3, n - 1, 2)), x, quant=quant)
        bench.result(Transpose((0, 2, 1, 3)), bench.input(1, 3, 4, n, quant=quant), quant=quant)
    program = compile_graph(bench.graph(), load(name, compiler))
    assert kernels(program, "dsp")["copy_s8_rows"] > 20
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", TARGETS)
def test_networks_of_int8(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name, "zig"))
    layers = [line for line in program.lines if line.macs]
    assert sum(kernels(program, "dsp").values()) >= len(layers), "a layer is left to the plain kernels"
    check(
        program, drive(program, tmp_path, "speed", "-O3"), [simulate.random_inputs(graph, s) for s in (0, 1)]
    )
