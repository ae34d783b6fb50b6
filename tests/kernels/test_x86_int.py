"""Integer kernels of x86-64, here or on an emulated processor: to the bit what the simulator computes."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from support import integer_families as families
from support import rivals
from support.board_families import long_slopes
from support.integer_bench import Bench, Family, Seeded
from support.more_integer_families import (
    batches_of_matrices,
    dilated_convolutions,
    softmaxes_by_rule_e,
    wide_matrices,
)
from support.tools import require_shared
from support.x86 import SANITIZED, called, check, drive, load

from edgekit.codegen.lowering import call_rules
from edgekit.codegen.program import compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.ops.activations import HardSwish, Sigmoid
from edgekit.core.ops.arithmetic import Add, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType

TARGETS = ("x86-64-avx512", "x86-64-avxvnni", "x86-64-avx2")
NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


def wide_convolutions(b: Bench) -> None:
    """Of more outputs than kernels take at a time, and lines of pixels of all lengths."""
    kernel, channels = b.pick(((1, 1), (3, 3), (2, 5))), b.size(9)
    x = b.input(b.size(2), kernel[0] + b.size(5), kernel[1] + b.size(40), channels)
    w, bias = b.weights(DType.S8, b.size(140), *kernel, channels)
    b.result(Conv2d((b.size(2), b.size(2)), (0, 1, 1, 0), (1, 1), 1), x, w, bias, quant=b.quant(0, 6))


def wide_groups(b: Bench) -> None:
    """Of groups with more and fewer outputs than a vector has, on lines of all lengths."""
    groups, kernel = 1 + b.size(5), b.pick(((1, 1), (3, 3), (2, 5)))
    x = b.input(b.size(2), kernel[0] + b.size(8), kernel[1] + b.size(20), groups * b.size(40))
    w, bias = b.weights(DType.S8, groups * b.size(50), *kernel, b.builder.type(x).shape[3] // groups)
    pads = b.size(2) - 1, b.size(3) - 1, b.size(2) - 1, b.size(3) - 1
    op = Conv2d((b.size(2), b.size(2)), pads, (1, 1), groups, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def wide_depthwise_convolutions(b: Bench) -> None:
    """Of more channels than a vector has, or with whole pixels in vectors, on lines of all lengths."""
    channels, kernel = b.pick((b.size(150), b.pick((4, 8, 16, 32, 64)))), (b.size(6), b.size(4))
    x = b.input(1, 6 + b.size(15), 4 + b.size(20), channels)
    w, bias = b.weights(DType.S8, channels, *kernel, 1)
    strides, dilations = (b.size(3), b.size(3)), (1, b.size(2))
    b.result(Conv2d(strides, (2, 1, 1, 2), dilations, channels), x, w, bias, quant=b.quant(0, 6))


def layers_without_negative_results(b: Bench) -> None:
    """Whose zero is the least integer: results of one sign are rounded by lines of their own."""
    b.rounding = b.pick(("E", "tfl", "tflm"))
    quant = b.quant(-6, 0)
    quant = type(quant)(quant.scale, (-128,), None, b.rounding)
    if b.is_rare(2):
        x = b.input(1, 3 + b.size(9), 3 + b.size(9), b.size(40))
        w, bias = b.weights(DType.S8, b.size(70), 3, 3, b.builder.type(x).shape[3])
        b.result(Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 1, 0.0), x, w, bias, quant=quant)
    else:
        x = b.input(b.size(3), b.size(300))
        w, bias = b.weights(DType.S8, b.size(300), b.builder.type(x).shape[1])
        b.result(Dense(0.0), x, w, bias, quant=quant)


def wide_sums(b: Bench) -> None:
    """Of rows with whole vectors and rests."""
    shape = b.size(3), b.size(300)
    b.result(b.pick((Add(), Sub())), b.input(*shape), b.input(*shape), quant=b.quant(-3, 3))


def wide_functions(b: Bench) -> None:
    """By table, of whole vectors and less."""
    b.result(b.pick((Sigmoid(), HardSwish())), b.input(b.size(3), b.size(300)), quant=b.quant(-9, 2))


def wide_averages(b: Bench) -> None:
    b.rounding = b.pick(("tfl", "tflm"))
    kernel = b.size(5), b.size(300)
    x = b.input(1, kernel[0] + b.size(4), kernel[1] + b.size(4), 15 + b.size(40))
    before = b.size(kernel[0]) - 1, b.size(kernel[1]) - 1
    pads = *before, b.size(kernel[0]) - 1, b.size(kernel[1]) - 1
    strides = b.size(3), b.size(3 + kernel[1] // 8)  # few of the widest windows: each is thousands of sums
    op = Pool2d("mean", kernel, strides, pads)
    b.result(op, x, quant=b.builder.type(x).quant)


FAMILIES: tuple[Family, ...] = (
    families.convolutions,
    wide_convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    wide_depthwise_convolutions,
    families.dense_layers,
    families.sums,
    layers_without_negative_results,
    wide_sums,
    wide_averages,
    wide_matrices,
    wide_matrices,
    wide_functions,
    long_slopes,
    long_slopes,
    wide_groups,
    wide_groups,
    dilated_convolutions,
    dilated_convolutions,
    batches_of_matrices,
    softmaxes_by_rule_e,
)


MINGW = "x86_64-w64-mingw32-gcc"
# Compilers take long for tiles of vectors under sanitizers: there, layers are specialised, so few remain.
WAYS: Mapping[str, tuple[Optimize, str, tuple[str, ...]]] = {
    "size": ("size", "gcc", ("-Os",)),
    "speed": ("speed", "clang", ("-O2",)),
    "sanitized": ("speed", "clang", ("-O1", *SANITIZED)),
    "windows": ("speed", MINGW, ("-O2",)),
}
EACH = [*product(TARGETS, ("size", "speed", "sanitized")), ("windows-x86-64-avx2", "windows")]


@pytest.mark.parametrize(("name", "way"), EACH)
def test_integers_of_any_shape(name: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    optimize, compiler, level = WAYS[way]
    target = load(name, compiler)
    if optimize == "size":  # the rules themselves, where nothing simpler is the same
        shortcuts = (call_rules.float_requantization, call_rules.sum_as_products)
        rules = tuple(rule for rule in call_rules.RULES if rule not in shortcuts)
        monkeypatch.setattr(call_rules, "RULES", rules)
    bench = Bench(Seeded(len(name + compiler) + len(level)))
    for family in FAMILIES * (1 if level[1:] else 2):
        bench.case(family)
    with rivals.in_turns():
        program = compile_graph(bench.graph(), target)
    functions = called(program)
    assert {"matmul", "prelu", "softmax", "table"} <= {function.split("_")[1] for function in functions}
    assert any(function.startswith("ek_conv2d_s8") and "_groups" in function for function in functions)
    check(program, drive(program, tmp_path, optimize, level), [bench.inputs])


@pytest.mark.parametrize("turned", [(), (0, 2, 1)])
@pytest.mark.parametrize("name", TARGETS)
def test_a_product_alone(name: str, turned: tuple[int, ...], tmp_path: Path) -> None:
    """No other kernel of the library includes the vectors that it needs."""
    bench = Bench(Seeded(3))
    a, b = bench.input(2, 9, 24), bench.input(2, *((10, 24) if turned else (24, 10)))
    bench.result(MatMul((), turned), a, b, quant=bench.quant())
    program = compile_graph(bench.graph(), load(name))
    check(program, drive(program, tmp_path, "size"), [bench.inputs])


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", TARGETS)
def test_networks(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name))
    check(program, drive(program, tmp_path, "speed"), [simulate.random_inputs(graph, s) for s in (0, 1)])
