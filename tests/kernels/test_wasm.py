"""Kernels of WebAssembly against the simulator, in wasmtime, Node and Chromium: random shapes, whole networks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support.integer_bench import Bench, Family, Seeded
from support.tools import require, require_module, require_shared

from edgekit import simulate
from edgekit import target as targets
from edgekit.builder import Builder
from edgekit.codegen import toolchain
from edgekit.codegen.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import Optimize, render, sources
from edgekit.converters.from_tflite import convert
from edgekit.ir import Array, DType, Graph, Quant, Type, Value
from edgekit.ops.arithmetic import Add
from edgekit.ops.conv2d import Conv2d
from edgekit.ops.dense import Dense
from edgekit.passes.simplify import simplify
from edgekit.target import Target

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off")
LEVEL = {"size": "-Os", "speed": "-O2"}
VECTORS = ("wasm32-simd", "wasm32-relaxed")
NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


def images(b: Bench) -> None:
    """Convolutions with more pixels and channels than a tile has, and any borders."""
    kernel, channels = b.pick(((1, 1), (3, 3), (2, 5))), b.pick((1, 3, 4, 16, 21))
    x = b.input(b.size(2), kernel[0] + b.size(6), kernel[1] + b.size(9), channels)
    w, bias = b.weights(DType.S8, b.size(20), *kernel, channels)
    pads = (b.size(3) - 1, b.size(3) - 1, b.size(3) - 1, b.size(3) - 1)
    b.result(Conv2d((b.size(2), b.size(2)), pads, (1, 1), 1, *b.limits()), x, w, bias, quant=b.quant(0, 6))


def spectrograms(b: Bench) -> None:
    """Depthwise convolutions of one channel into many."""
    kernel, outputs = (b.size(10), b.size(5)), b.size(20)
    x = b.input(1, kernel[0] + b.size(8), kernel[1] + b.size(8), 1)
    w, bias = b.weights(DType.S8, outputs, *kernel, 1)
    pads = (b.size(4) - 1, b.size(3) - 1, b.size(4) - 1, b.size(3) - 1)
    b.result(Conv2d((b.size(2), b.size(2)), pads, (1, 1), 1, *b.limits()), x, w, bias, quant=b.quant(0, 6))


def taps(b: Bench) -> None:
    """Depthwise convolutions with up to two groups of rows, and any number of channels."""
    kernel, channels, dilation = (b.size(6), b.size(4)), b.size(40), b.size(2)
    x = b.input(b.size(2), kernel[0] * dilation + b.size(4), kernel[1] * dilation + b.size(7), channels)
    w, bias = b.weights(DType.S8, channels, *kernel, 1)
    pads = (b.size(3) - 1, b.size(3) - 1, b.size(3) - 1, b.size(3) - 1)
    op = Conv2d((b.size(2), b.size(2)), pads, (dilation, dilation), channels, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(0, 6))


def long_sums(b: Bench) -> None:
    """Of all elements, of which there are more than a vector, at scales near that of the result."""
    shape, quant = (b.size(3), b.size(60)), b.quant(-3, 3)
    near = [Quant((quant.scale[0] * 2 ** b.choices.real(-2, 2),), (b.size(9),), None, "tfl") for _ in range(2)]
    b.rounding = "tfl"
    inputs = [b.input(*shape, quant=q) for q in near]
    b.result(Add(), *inputs, quant=Quant(quant.scale, quant.zero, None, "tfl"))


FAMILIES: tuple[Family, ...] = (
    images,
    spectrograms,
    taps,
    families.convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    families.averages,
    long_sums,
    families.sums,
)


def load(name: str, runner: str = "wasmtime") -> Target:
    """The target, run by one of what runs it."""
    require_module("ziglang")
    if runner == "wasmtime":
        require_module("wasmtime")
    else:
        require(runner)
    return targets.with_runner(targets.load(name), runner)


def drive(program: Program, folder: Path, optimize: Optimize) -> Driver:
    files = render(program, optimize)
    write(files, folder)
    compiler, flags = toolchain.find(program.target), [LEVEL[optimize], *program.target.cflags, *STRICT]
    return Driver([program], list(sources(files, optimize)), folder, compiler, flags)


def check(program: Program, driver: Driver, samples: Sequence[Mapping[str, Array]]) -> None:
    for sample in samples:
        found, expected = driver.run(program, sample), simulate.run(program.graph, sample)
        for output in program.graph.outputs:
            assert np.array_equal(found[output], expected[output]), output


def kernels(program: Program) -> set[str]:
    """The functions that a program calls, but those that are no vectors' own."""
    functions = {line.kernel.function.removeprefix("ek_") for line in program.lines}
    return {f for f in functions if not f.endswith("__ref")}


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("name", VECTORS)
def test_integers_of_any_shape(name: str, optimize: Optimize, tmp_path: Path) -> None:
    bench = Bench(Seeded(2026 + len(optimize)))
    for i in range(60 if optimize == "size" else 20):
        bench.case(FAMILIES[i % len(FAMILIES)])
    program = compile_graph(bench.graph(), load(name))
    isa = name.removeprefix("wasm32-").replace("simd", "wasm")
    wanted = {f"{kernel}__{isa}" for kernel in ("conv2d_s8_tfl", "conv2d_s8", "depthwise2d_s8", "dense_s8_once")}
    assert wanted | {"add_s8_tfl__wasm", "avgpool2d_s8_tfl__wasm"} <= kernels(program), kernels(program)
    check(program, drive(program, tmp_path, optimize), [bench.inputs])
