"""Kernels of x86-64, where this processor can run them: integers as simulated, floats as close as stated."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support import integer_families as families
from support.integer_bench import Bench, Family, Seeded
from support.tools import require, require_shared

from edgekit import simulate
from edgekit import target as targets
from edgekit.builder import Builder
from edgekit.codegen import runner, toolchain
from edgekit.codegen.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import Optimize, render, sources
from edgekit.codegen.selftest import tolerance
from edgekit.codegen.verify import compare
from edgekit.converters.from_tflite import convert
from edgekit.ir import Array, DType, Graph, Type
from edgekit.ops.conv2d import Conv2d
from edgekit.ops.dense import Dense
from edgekit.passes.simplify import simplify
from edgekit.target import Target

TARGETS = ("x86-64-avx512", "x86-64-avx2")
INTEGER_TARGETS = ("x86-64-avx512",)  # AVX2 has kernels for floats only: integers are on portable C
COMPILERS = ("gcc", "clang")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DEK_GUARD=0", "-Wno-type-limits")
LEVEL = {"size": ("-Os", *SANITIZERS), "speed": ("-O2",)}
INTEGERS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")
FLOATS = ("pretrainedResnet", "kws_ref_model_float32", "vww_96_float", "ad01_fp32")


def wide_convolutions(b: Bench) -> None:
    """Of more outputs than kernels take at a time, and lines of pixels of all lengths."""
    kernel, channels = b.pick(((1, 1), (3, 3), (2, 5))), b.size(9)
    x = b.input(b.size(2), kernel[0] + b.size(5), kernel[1] + b.size(40), channels)
    w, bias = b.weights(DType.S8, b.size(140), *kernel, channels)
    b.result(Conv2d((b.size(2), b.size(2)), (0, 1, 1, 0), (1, 1), 1), x, w, bias, quant=b.quant(0, 6))


def wide_depthwise_convolutions(b: Bench) -> None:
    """Of more channels than a vector has, on lines of all lengths."""
    channels, kernel = b.size(70), (b.size(6), b.size(4))
    x = b.input(1, 6 + b.size(5), 4 + b.size(20), channels)
    w, bias = b.weights(DType.S8, channels, *kernel, 1)
    b.result(Conv2d((b.size(2), b.size(2)), (2, 1, 1, 2), (1, 1), channels), x, w, bias, quant=b.quant(0, 6))


FAMILIES: tuple[Family, ...] = (
    families.convolutions,
    wide_convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    wide_depthwise_convolutions,
    families.dense_layers,
    families.sums,
)


def load(name: str, compiler: str = "gcc") -> Target:
    """A target with one compiler; a case is skipped where the processor cannot run it."""
    require(compiler)
    target = replace(targets.load(name), compilers=(compiler,))
    if reason := runner.why_not_here(target):
        pytest.skip(reason)
    return target


def drive(program: Program, folder: Path, optimize: Optimize) -> Driver:
    files = render(program, optimize)
    write(files, folder)
    compiler = toolchain.find(program.target)
    flags = [*STRICT, *LEVEL[optimize], *program.target.cflags]
    return Driver([program], sources(files, optimize), folder, compiler, flags)


def floats(seed: int, count: int) -> Graph:
    """Convolutions, depthwise ones and dense layers of random shapes."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    builder = Builder()
    inputs, outputs = [], []
    for i in range(count):
        height, width = random.randint(3, 12), random.randint(3, 40)
        kind, channels, results = i % 4, random.choice((1, 2, 3, 8, 17, 35)), random.randint(1, 100)
        kernel = (random.randint(1, 3), random.randint(1, 3))
        pads = (random.randint(0, 2), random.randint(0, 2), random.randint(0, 2), random.randint(0, 2))
        strides, dilations = (random.randint(1, 2), random.randint(1, 2)), (1, random.randint(1, 2))
        dilations = (1, 1) if width < 5 else dilations
        bounds = random.choice(((-np.inf, np.inf), (0.0, 6.0)))
        weights: tuple[int, ...]
        shape: tuple[int, ...] = (random.randint(1, 2), height, width, channels)
        if kind == 0:
            shape, weights = (random.randint(1, 20), channels), (results, channels)
            op: Conv2d | Dense = Dense(*bounds)
        elif kind == 1:
            weights, results = (channels, *kernel, 1), channels
            op = Conv2d(strides, pads, dilations, channels, *bounds)
        else:
            groups = 2 if kind == 3 else 1
            shape, results = (*shape[:3], channels * groups), results * groups
            weights = (results, *kernel, channels)
            op = Conv2d(strides, pads, dilations, groups, *bounds)
        inputs.append(x := builder.input(f"x{i}", Type(DType.F32, shape)))
        w = builder.const(numbers.normal(size=weights).astype(np.float32))
        b = builder.const(numbers.normal(size=results).astype(np.float32))
        outputs.append(builder.add(op, x, w, b)[0])
    return builder.graph("floats", inputs, outputs)


def check(program: Program, driver: Driver, samples: Sequence[dict[str, Array]]) -> None:
    for sample in samples:
        found, expected = driver.run(program, sample), simulate.run(program.graph, sample)
        for port in program.outputs:
            error, _, exact = compare(found[port.name], expected[port.name])
            is_float = port.type.dtype.is_float
            assert exact or (is_float and error <= tolerance(port.type.dtype, expected[port.name])), port.name


def called(program: Program) -> set[str]:
    return {line.kernel.function for line in program.lines if not line.kernel.function.endswith("__ref")}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("name", INTEGER_TARGETS)
def test_integers_of_any_shape(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    bench = Bench(Seeded(len(name + compiler + optimize)))
    for i in range(42):
        bench.case(FAMILIES[i % len(FAMILIES)])
    program = compile_graph(bench.graph(), load(name, compiler))
    assert called(program)
    check(program, drive(program, tmp_path, optimize), [bench.inputs])


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("name", TARGETS)
def test_floats_of_any_shape(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    graph = floats(len(name + compiler + optimize), 24)
    program = compile_graph(graph, load(name, compiler))
    assert called(program)
    check(program, drive(program, tmp_path, optimize), [simulate.random_inputs(graph, 1)])


@pytest.mark.parametrize("network", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("name", TARGETS)
def test_networks(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name))
    check(program, drive(program, tmp_path, "speed"), [simulate.random_inputs(graph, s) for s in (0, 1)])


def test_processors_that_lack_something_are_named() -> None:
    target = replace(targets.load("host"), cpu_flags=("sse2", "no_such_flag"))
    assert "no_such_flag" in runner.why_not_here(target)
    assert "sse2" not in runner.why_not_here(replace(target, cpu_flags=("no_such_flag",)))
