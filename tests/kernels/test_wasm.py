"""Kernels of WebAssembly against the simulator, in wasmtime, Node and Chromium: shapes and networks."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support import rivals
from support.blocks import with_zeros
from support.board_families import long_slopes
from support.edge_families import long_lines
from support.generated import written
from support.integer_bench import Bench, Family, Seeded
from support.more_integer_families import (
    batches_of_matrices,
    dilated_convolutions,
    softmaxes_by_rule_e,
    wide_matrices,
)
from support.tools import require, require_module, require_shared

from edgekit.codegen.compilation import toolchain, wasm
from edgekit.codegen.compilation.wasm import wants_exact
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array, DType, Quant, Type, Value

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


def tiles(b: Bench) -> None:
    """Convolutions that plain vectors compute at points: of 3 by 3 cells, with whole and cut tiles, and so
    many results that transformed weights pay."""
    channels, pads = 8 + 8 * b.size(2), (b.size(3) - 1, b.size(3) - 1, b.size(3) - 1, b.size(3) - 1)
    x = b.input(b.size(2), 11 + b.size(6), 11 + b.size(6), channels)
    w, bias = b.weights(DType.S8, 15 + b.size(9), 3, 3, channels)
    b.result(Conv2d((1, 1), pads, (1, 1), 1, *b.limits()), x, w, bias, quant=b.quant(0, 6))


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


def shared_scales(b: Bench) -> None:
    """Fully connected layers with one scale for all outputs, of which some are more than wait."""
    (rows, inputs), outputs = b.pick(((1, 30), (5, 9), (2, 70))), b.pick((12, 40, 403))
    x = b.input(rows, inputs, quant=Quant((0.5,), (b.size(9),), None, b.rounding))
    data = b.integers((outputs, inputs), DType.S8, -127)
    w = b.constant(data, Quant((b.scale(-4, -2),), (0,), None, b.rounding))
    bias = b.constant(b.choices.generator().integers(-999, 999, outputs).astype(np.int32))
    b.result(Dense(*b.limits()), x, w, bias, quant=b.quant(4, 6))


def long_sums(b: Bench) -> None:
    """Of all elements, of which there are more than a vector, at scales near that of the result."""
    shape, quant = (b.size(3), b.size(60)), b.quant(-3, 3)
    near = [
        Quant((quant.scale[0] * 2 ** b.choices.real(-2, 2),), (b.size(9),), None, "tfl") for _ in range(2)
    ]
    b.rounding = "tfl"
    inputs = [b.input(*shape, quant=q) for q in near]
    b.result(Add(), *inputs, quant=Quant(quant.scale, quant.zero, None, "tfl"))


FAMILIES: tuple[Family, ...] = (
    images,
    tiles,
    spectrograms,
    taps,
    shared_scales,
    families.convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    families.averages,
    long_sums,
    families.sums,
    families.products,
    families.long_rows,
    wide_matrices,
    long_slopes,
    dilated_convolutions,
    dilated_convolutions,
    batches_of_matrices,
    softmaxes_by_rule_e,
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
    compiler, flags = toolchain.find(program.target), [LEVEL[optimize], *program.target.cflags, *STRICT]
    return Driver([program], written([program], folder, optimize), folder, compiler, flags)


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
    for family in FAMILIES * (3 if optimize == "size" else 1):
        bench.case(family)
    with rivals.in_turns() if optimize == "size" else nullcontext():
        program = compile_graph(bench.graph(), load(name))
    isa = name.removeprefix("wasm32-").replace("simd", "wasm")
    found = {f.partition("_s8")[0] for f in kernels(program) if f.endswith(f"__{isa}")}
    assert {"conv2d", "depthwise2d"} <= found, kernels(program)
    variants = ("_one_scale",) if isa == "relaxed" else ("_one_scale", "_winograd")
    assert all(any(f.endswith(f"{v}__{isa}") for f in kernels(program)) for v in variants), kernels(program)
    assert any("_groups" in f for f in kernels(program)), kernels(program)
    assert {"matmul", "prelu", "softmax"} <= {
        f.split("_")[0] for f in kernels(program) if f.endswith("__wasm")
    }
    check(program, drive(program, tmp_path, optimize), [bench.inputs])


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", VECTORS)
def test_networks_of_int8(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name))
    layers = [line for line in program.lines if line.macs]
    assert layers
    assert not any(line.kernel.function.endswith("__ref") for line in layers), (
        "a layer is left to plain kernels"
    )
    check(
        program, drive(program, tmp_path, "speed"), [simulate.random_inputs(graph, seed) for seed in range(2)]
    )


def _extremes() -> tuple[Graph, dict[str, Array]]:
    """Layers with the largest sums: all inputs and weights at one end, or in turns."""
    b = Builder()
    layers: tuple[tuple[tuple[int, ...], Conv2d], ...] = (
        ((5, 3, 3, 24), Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 1)),
        ((5, 3, 3, 24), Conv2d((2, 2), (1, 1, 1, 1), (1, 1), 1)),
        ((24, 3, 3, 1), Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 24)),
    )
    of_x, of_w = Quant((0.5,), (3,), None, "tfl"), Quant((0.5,), (0,), None, "tfl")
    outputs: list[str] = []
    sample = {}
    for i, (low, high) in enumerate(((-128, -128), (127, 127), (-128, 127))):
        x = b.input(f"x{i}", Type(DType.S8, (1, 4, 4, 24), of_x))
        sample[x] = np.resize(np.array([low, high], np.int8), (1, 4, 4, 24))
        for shape, op in layers:
            for weight in (-127, 127):
                w, bias = b.fresh("w"), b.fresh("b")
                b.values[w] = Value(Type(DType.S8, shape, of_w), np.full(shape, weight, np.int8))
                b.values[bias] = Value(Type(DType.S32, shape[:1]), np.arange(shape[0], dtype=np.int32))
                scale = Quant((300.0 if op.groups == 1 else 30.0,), (-3,), None, "tfl")
                outputs += b.add(op, x, w, bias, quant=scale)
    return b.graph("extremes", list(sample), outputs), sample


@pytest.mark.parametrize(
    ("name", "runner"),
    [
        ("wasm32", "node"),
        ("wasm32-simd", "node"),
        ("wasm32-simd", "chromium"),
        ("wasm32-relaxed", "chromium"),
    ],
)
def test_engines_agree_at_the_ends(name: str, runner: str, tmp_path: Path) -> None:
    graph, sample = _extremes()
    program = compile_graph(graph, load(name, runner))
    try:
        check(program, drive(program, tmp_path, "speed"), [sample])
    except EdgeKitError as error:
        # Whether relaxed products are exact is up to the processor: where not, that is said.
        if error.code != "E0503" or name != "wasm32-relaxed":
            raise


def test_products_of_unsigned_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Chromium takes second factors of relaxed products as unsigned on x86. Sums of two products of these
    inputs fit into 16 bits: results are exact even where the engine saturates them."""
    monkeypatch.setattr(wasm, "wants_exact", lambda program: False)
    bench = Bench(Seeded(1))
    long_lines(bench)
    w, bias = bench.weights(DType.S8, 9, 3, 2, 1)
    bench.result(Conv2d(), bench.input(1, 5, 6, 1), w, bias, quant=bench.quant(0, 6))
    numbers = bench.integers((16, 128), DType.S8, -127)
    for rows, data in ((2, numbers % 20), (5, with_zeros(numbers, (16, 4), 0.8, bench.choices.generator()))):
        w = bench.constant(data, Quant((0.1,), (0,), None, bench.rounding))
        bias = bench.constant(np.arange(16, dtype=np.int32))
        bench.result(Dense(), bench.input(rows, 128), w, bias, quant=bench.quant(0, 6))
    program = compile_graph(bench.graph(), load("wasm32-relaxed", "chromium"))
    called = kernels(program)
    for kernel in ("conv2d", "conv2d_s8_blocks", "dense", "dense_s8_blocks", "depthwise2d", "_overflow_safe"):
        assert any(kernel in f and f.endswith("__relaxed") for f in called), (kernel, called)
    sample = {name: np.minimum(x, 0) for name, x in bench.inputs.items()}
    check(program, drive(program, tmp_path, "size"), [sample])


def _light_layers() -> Graph:
    """Layers whose weights are at the ends of what fits, or below, or beyond in a few places."""
    b, inputs, numbers = Builder(), 250, np.random.default_rng(9)
    x = b.input("x", Type(DType.S8, (2, inputs), Quant((0.5,), (-128,), None, "tfl")))
    pairs = np.resize(np.array([64, 64, 127, 1, -100, -28, 127, -127], np.int8), (19, inputs))
    pairs[3, 40:44], pairs[11, 80:82], pairs[18, 249:] = (127, 127, -127, -127), 127, -127
    fours = np.full((8, inputs), 32, np.int8)
    fours[1:3], fours[7, 3:9] = -32, (127, 127, 33, -127, 127, 127)
    many = numbers.integers(-20, 21, (403, inputs)).astype(np.int8)
    many[17, 100:110], many[402, :5] = 127, -127
    made: list[str] = []
    for i, (weights, scales) in enumerate(((pairs, 1), (fours, 8), (many, 1), (many[:37], 37))):
        w, bias = b.fresh("w"), b.const(np.arange(len(weights), dtype=np.int32))
        each = tuple(0.5 + i + k / 64 for k in range(scales))
        quant = Quant(each, (0,) * scales, 0 if scales > 1 else None, "tfl")
        b.values[w] = Value(Type(DType.S8, weights.shape, quant), weights)
        result = Quant((900.0 * each[0],), (7,), None, "tfl")
        made += b.add(Dense(), x, w, bias, names=(f"y{i}",), quant=result)
    return b.graph("light", [x], made)


@pytest.mark.parametrize("runner", ["wasmtime", "node"])
def test_light_weights_are_exact_in_every_engine(runner: str, tmp_path: Path) -> None:
    """Also in those that saturate sums of two products, as Node does on some processors: none is refused."""
    graph = _light_layers()
    program = compile_graph(graph, load("wasm32-relaxed", runner))
    assert all("_overflow_safe" in f for f in kernels(program)), kernels(program)
    assert not wants_exact(program)
    samples = [{"x": np.full((2, 250), value, np.int8)} for value in (127, -128, 0)]
    samples += [simulate.random_inputs(graph, seed) for seed in range(7)]
    check(program, drive(program, tmp_path, "speed"), samples)


def test_floats_of_any_shape(tmp_path: Path) -> None:
    b, numbers, sample = Builder(), np.random.default_rng(7), {}
    outputs: list[str] = []
    convolutions = [(1 + n % 2, 3 + n % 4, 1 + n % 3, 1 + n % 7, 1 + 3 * n, 1) for n in range(8)]
    depthwise = [(2, 5, 3, c, c, c) for c in (3, 8, 17)]  # below an image lies the next
    dense = [(1 + n % 5, 0, 0, 1 + 5 * n, 1 + 4 * n, 1) for n in range(6)]
    for i, (batch, size, kernel, channels, count, groups) in enumerate((*convolutions, *depthwise, *dense)):
        image = (batch, size, size + 1, channels) if kernel else (batch, channels)
        window = (count, kernel, kernel, channels // groups) if kernel else (count, channels)
        x = b.input(f"x{i}", Type(DType.F32, image))
        sample[x] = numbers.normal(size=image).astype(np.float32)
        w, bias = (b.const(numbers.normal(size=s).astype(np.float32)) for s in (window, (count,)))
        pad = kernel // 2
        pads = (pad, pad, pad * (1 - i % 2), pad)
        op = Conv2d((1 + i % 2, 1), pads, (1, 1), groups, 0.0) if kernel else Dense(-1.0, 1.0)
        outputs += b.add(op, x, w, bias)
    program = compile_graph(b.graph("floats", list(sample), outputs), load("wasm32-simd"))
    assert {"conv2d_f32__wasm", "depthwise2d_f32__wasm", "dense_f32__wasm"} <= kernels(program), kernels(
        program
    )
    found, expected = (
        drive(program, tmp_path, "size").run(program, sample),
        simulate.run(program.graph, sample),
    )
    for output in outputs:
        assert np.allclose(found[output], expected[output], rtol=1e-5, atol=1e-5), output
