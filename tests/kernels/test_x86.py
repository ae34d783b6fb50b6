"""Float kernels of x86-64, here or on an emulated processor: as close to the simulator as stated."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from support import rivals
from support.nets import Net
from support.tools import require, require_shared
from support.x86 import called, check, drive, load

from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.compilation.toolchain import find
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.kernels.sources import instantiate
from edgekit.codegen.lowering.lower import lower
from edgekit.codegen.program import compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.ops.activations import PRelu
from edgekit.core.ops.arithmetic import Add, Clip
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Quant, Type, Value

TARGETS = ("x86-64-avx512", "x86-64-avx2")
NETWORKS = ("ad01_fp32", "pretrainedResnet", "kws_ref_model_float32", "vww_96_float")
WEIGHTS = (DType.F32, DType.F32, DType.BF16, DType.F16)


@dataclass
class Layers:
    """Layers side by side, of shapes and numbers that a seed gives."""

    seed: int
    builder: Builder = field(default_factory=Builder)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random, self.numbers = Random(self.seed), np.random.default_rng(self.seed)

    def size(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def pair(self, least: int, most: int) -> tuple[int, int]:
        return self.size(least, most), self.size(least, most)

    def bounds(self) -> tuple[float, float]:
        return self.random.choice(((-np.inf, np.inf), (0.0, 60.0)))

    def layer(
        self,
        op: Conv2d | Dense,
        shape: Sequence[int],
        weights: Sequence[int],
        dtypes: Sequence[DType] = WEIGHTS,
    ) -> None:
        x = self.builder.input(f"x{len(self.inputs)}", Type(DType.F32, tuple(shape)))
        numbers = self.numbers.normal(size=weights).astype(self.random.choice(dtypes).numpy)
        w = self.builder.const(numbers)
        b = self.builder.const(self.numbers.normal(size=weights[0]).astype(np.float32))
        self.inputs.append(x)
        self.outputs.append(self.builder.add(op, x, w, b)[0])

    def bytes(self, op: Conv2d | Dense, shape: Sequence[int], weights: Sequence[int]) -> None:
        """A layer whose weights are integers, with scales of outputs."""
        x = self.builder.input(f"x{len(self.inputs)}", Type(DType.F32, tuple(shape)))
        scales = tuple(self.numbers.uniform(0.001, 0.02, weights[0]).tolist())
        w = self.builder.fresh("w")
        data = self.numbers.integers(-127, 128, weights).astype(np.int8)
        self.builder.values[w] = Value(Type(DType.S8, data.shape, Quant(scales, (0,) * len(scales), 0)), data)
        b = self.builder.const(self.numbers.normal(size=weights[0]).astype(np.float32))
        self.inputs.append(x)
        self.outputs.append(self.builder.add(op, x, w, b)[0])

    def sum(self, image: Sequence[int], kernel: tuple[int, int], depth: int, results: int) -> None:
        """A convolution, to whose result an input is added; with bounds or without."""
        groups = self.random.choice((1, 1, 2))
        op = Conv2d((1, 1), (*self.pair(0, 2), *self.pair(0, 2)), groups=groups)
        lo, hi = self.bounds()
        weights = (WEIGHTS[self.size(0, 2)],)
        self.layer(op, (self.size(1, 2), *image, depth * groups), (results * groups, *kernel, depth), weights)
        y = self.outputs.pop()
        self.inputs.append(self.builder.input(f"x{len(self.inputs)}", self.builder.type(y)))
        (y,) = self.builder.add(Add(), *self.random.sample((y, self.inputs[-1]), 2))
        if hi < np.inf:
            (y,) = self.builder.add(Clip(), y, *(self.builder.const(np.float32(n)) for n in (lo, hi)))
        self.outputs.append(y)

    def convolution(
        self, image: Sequence[int], kernel: tuple[int, int], depth: int, results: int, groups: int = 1
    ) -> None:
        """Of any stride, padding and dilation; those of dense networks most of the time."""
        pads = (*self.pair(0, 2), *self.pair(0, 2))
        strides = self.random.choice(((1, 1), (2, 2), self.pair(1, 3)))
        dilations = (1, self.random.choice((1, 1, 2))) if image[1] > 8 else (1, 1)
        op = Conv2d(strides, pads, dilations, groups, *self.bounds())
        shape = (self.size(1, 2), *image, depth * groups)
        self.layer(op, shape, (results * groups, *kernel, depth))

    def graph(self) -> Graph:
        return self.builder.graph("floats", self.inputs, self.outputs)


def wide(layers: Layers) -> None:
    """Of more outputs than kernels take at a time, on lines of all lengths; also in groups."""
    image, groups = (layers.size(3, 9), layers.size(3, 40)), layers.random.choice((1, 1, 2))
    layers.convolution(image, layers.pair(1, 3), layers.size(1, 35), layers.size(5, 140), groups)


def of_three_vectors(layers: Layers) -> None:
    """Of as many outputs as three vectors of AVX2 have; also in groups."""
    image, groups = (layers.size(3, 9), layers.size(3, 40)), layers.random.choice((1, 1, 2))
    layers.convolution(image, layers.pair(1, 3), layers.size(1, 35), 24, groups)


def narrow(layers: Layers) -> None:
    """Of few outputs."""
    image = layers.size(3, 9), layers.size(3, 40)
    layers.convolution(image, layers.pair(1, 3), layers.size(1, 9), layers.size(1, 9))


def of_nine(layers: Layers, stride: int = 1, least: int = 8, size: int = 6) -> None:
    """Of 3 by 3 cells and stride 1, which Winograd's algorithm is for."""
    channels, results = layers.size(least, 50), layers.size(8, 80)
    pads = (*layers.pair(0, 2), *layers.pair(0, 2))
    op = Conv2d((stride, stride), pads, (1, 1), 1, *layers.bounds())
    shape = (layers.size(1, 2), layers.size(size, 20), layers.size(size, 40), channels)
    layers.layer(op, shape, (results, 3, 3, channels))


def of_nine_strided(layers: Layers) -> None:
    """The same at every second pixel."""
    of_nine(layers, 2, 32, 13)


def depthwise(layers: Layers) -> None:
    """Of few channels or many, on rows of all lengths."""
    channels = layers.random.choice((1, 2, 3, 4, 8, 12, 16, 24, 33, 70))
    image, kernel = (layers.size(3, 12), layers.size(4, 40)), (layers.size(1, 3), layers.size(1, 4))
    layers.convolution(image, kernel, 1, 1, channels)


def depthwise_of_few(layers: Layers) -> None:
    """Of so few channels that a vector holds several pixels."""
    image, channels = (layers.size(3, 12), layers.size(4, 40)), layers.random.choice((1, 2, 4))
    layers.convolution(image, (layers.size(1, 3), layers.size(1, 4)), 1, 1, channels)


def spread(layers: Layers) -> None:
    """Of one channel to many."""
    layers.convolution((layers.size(4, 12), layers.size(4, 20)), layers.pair(1, 4), 1, layers.size(2, 80))


def dense(layers: Layers) -> None:
    """Of one row or many."""
    inputs, results = layers.size(1, 300), layers.size(1, 150)
    rows = layers.random.choice((1, layers.size(2, 20)))
    layers.layer(Dense(*layers.bounds()), (rows, inputs), (results, inputs))


def of_bytes(layers: Layers) -> None:
    """Of more outputs than kernels take at a time, or fewer; also in groups."""
    groups, depth, results = layers.random.choice((1, 1, 2)), layers.size(2, 35), layers.size(2, 140)
    op = Conv2d(layers.pair(1, 2), (*layers.pair(0, 2), *layers.pair(0, 2)), (1, 1), groups, *layers.bounds())
    shape = (layers.size(1, 2), layers.size(3, 9), layers.size(3, 40), depth * groups)
    layers.bytes(op, shape, (results * groups, *layers.pair(1, 3), depth))


def of_bytes_to_three_vectors(layers: Layers) -> None:
    layers.bytes(Conv2d(), (1, layers.size(3, 9), layers.size(3, 9), 5), (24, 2, 3, 5))


def dense_of_bytes(layers: Layers) -> None:
    inputs, results = layers.size(1, 300), layers.size(1, 150)
    rows = layers.random.choice((1, layers.size(2, 20)))
    layers.bytes(Dense(*layers.bounds()), (rows, inputs), (results, inputs))


def sums(layers: Layers) -> None:
    """Of many outputs, with an addend."""
    image = layers.size(3, 9), layers.size(3, 40)
    layers.sum(image, layers.pair(1, 3), layers.size(1, 35), layers.size(9, 100))


def sums_of_three_vectors(layers: Layers) -> None:
    layers.sum((layers.size(3, 9), layers.size(3, 40)), (1, 1), layers.size(1, 35), 24)


def sums_of_nine(layers: Layers) -> None:
    layers.sum((layers.size(6, 20), layers.size(6, 20)), (3, 3), layers.size(8, 50), layers.size(9, 80))


FAMILIES = (
    wide,
    of_three_vectors,
    narrow,
    of_nine,
    of_nine_strided,
    depthwise,
    depthwise_of_few,
    spread,
    dense,
    sums,
    sums_of_three_vectors,
    sums_of_nine,
    of_bytes,
    of_bytes_to_three_vectors,
    dense_of_bytes,
)


def one_of_each_kernel(name: str) -> Layers:
    """Layers that are drawn until there is one for each kernel: those that take no other one are left out."""
    kept = Layers(0)
    for seed, family in seeds_of_kernels(name):
        kept.random, kept.numbers = Random(seed), np.random.default_rng(seed)
        family(kept)
    return kept


@cache
def seeds_of_kernels(name: str) -> Sequence[tuple[int, Callable[[Layers], None]]]:
    found: list[tuple[int, Callable[[Layers], None]]] = []
    seen, target = set[str](), targets.load(name)
    for seed, family in product(range(60), FAMILIES):
        one = Layers(seed)
        family(one)
        steps = (step for layer in lower(one.graph(), target) for step in layer.steps)
        functions = {instantiate(step, target).function for step in steps if isinstance(step, Call)}
        if new := {function for function in functions if not function.endswith("__ref")} - seen:
            seen |= new
            found.append((seed, family))
    return found


def lines_of_all_lengths(layers: Layers) -> None:
    """Each of which is one tile, or two, of one vector of outputs and of two; and of channels."""
    for length, outputs in product(range(1, 18), (8, 16)):
        layers.layer(Conv2d(), (1, 1, length, 5), (outputs, 1, 1, 5), (DType.F32,))
    for length in range(1, 18):
        op = Conv2d(pads=(0, 0, 0, 1), groups=40)
        layers.layer(op, (1, 2, length, 40), (40, 1, 2, 1), (DType.F32,))


# Tiles are few where code is to be small, and all of them take any shape where only the level says so: the
# networks below are for a higher one, at which compilers take two to three times as long for all tiles.
WAYS: Mapping[str, tuple[Optimize, str, str]] = {
    "size": ("size", "gcc", "-Os"),
    "tiles": ("size", "clang", "-O1"),
    "speed": ("speed", "clang", "-O1"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TARGETS)
def test_layers_of_any_shape(name: str, way: str, tmp_path: Path) -> None:
    """One of each family; at `size`, where layers share kernels, one of each kernel."""
    optimize, compiler, level = WAYS[way]
    target = load(name, compiler)
    layers = Layers(len(name + compiler) + 1) if way == "speed" else one_of_each_kernel(name)
    more = FAMILIES if way == "speed" else [lines_of_all_lengths] if way == "tiles" else []
    for family in more:
        family(layers)
    graph = layers.graph()
    with rivals.in_turns() if way == "speed" else nullcontext():
        program = compile_graph(graph, target)
    assert {line.kernel.function for line in program.lines} == called(program)
    check(program, drive(program, tmp_path, optimize, [level]), [simulate.random_inputs(graph, 1)])


@pytest.mark.parametrize("name", TARGETS)
def test_kernels_are_for_their_shapes(name: str) -> None:
    """Each special kernel fits some layer, in all the types that weights have."""
    layers = Layers(1)
    for family in FAMILIES * 40:
        family(layers)
    with rivals.in_turns():
        program = compile_graph(layers.graph(), replace(targets.load(name), cpu_flags=()))
    taken = {function.removesuffix(f"__{name.rpartition('-')[2]}") for function in called(program)}
    few = 4 if name == "x86-64-avx2" else 8  # half a vector of channels
    for kernel in ("conv2d_f32", "conv2d_f32_winograd", f"conv2d_f32_oc{few}", "dense_f32"):
        assert f"ek_{kernel}" in taken
    for kernel in ("depthwise2d_f32", f"depthwise2d_f32_ic{few}", "depthwise2d_f32_ic1"):
        assert f"ek_{kernel}" in taken
    assert {f"ek_conv2d_add_{kind}" for kind in ("f32", "f32_bf16_bf16", "f32_winograd")} <= taken
    for number in ("bf16", "f16"):
        for kernel in ("conv2d", "dense", "depthwise2d"):
            assert f"ek_{kernel}_f32_{number}_{number}" in taken
    assert "ek_conv2d_f32_bf16_winograd_bf16" in taken
    assert {"ek_conv2d_f32_strided", "ek_conv2d_f32_bf16_strided_bf16"} <= taken


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", TARGETS)
def test_networks(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name))
    check(program, drive(program, tmp_path, "speed"), [simulate.random_inputs(graph, s) for s in (0, 1)])


def test_processors_that_lack_something_are_named() -> None:
    target = replace(targets.load("host"), cpu_flags=("sse2", "no_such_flag"))
    assert "no_such_flag" in runner.why_not_here(target)
    assert "sse2" not in runner.why_not_here(replace(target, cpu_flags=("no_such_flag",)))


@pytest.mark.parametrize("channels", [8, 16, 24])
def test_elementwise_rows_of_few_channels_are_vectors(channels: int, tmp_path: Path) -> None:
    """gcc unrolls a row of up to 16 as a whole, if nothing says otherwise, and branches for each number."""
    require("gcc")
    net = Net()
    graph = net.done(net(PRelu(), net.x(1, 9, 9, channels), net.random(channels)))
    program = compile_graph(graph.with_name("net"), targets.load("x86-64-avx2"))
    write(generate(program, "speed"), tmp_path)
    flags = [*FLAGS, "-O3", *program.target.cflags, "-S"]
    find(program.target).run([*flags, "net.c", "-o", "net.s"], tmp_path)
    text = (tmp_path / "net.s").read_text()
    assert "vmulps" in text
    assert "comiss" not in text
