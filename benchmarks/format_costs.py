"""Measures what layers take in each format on a class of machines, for targets/formats.

`python -m benchmarks.format_costs x86-64-avx2 aarch64` writes the tables of these targets: nanoseconds where
this machine runs the code itself, else the instructions that an emulator counts. A target that neither runs
has a file that says which other one it is `like`. Layers are of ordinary shapes; of each kind two numbers are
fitted to all: what a multiplication takes, and an element of the result.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import nnls

from edgekit.codegen.cost import counting
from edgekit.codegen.cost.layer_costs import countable, layer_counts, layer_times
from edgekit.codegen.execution import runner
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.format_costs import FOLDER, format_of, is_conversion, kinds, work
from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Gelu, HardSwish, PRelu, Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Gru, Lstm
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.simulate import random_inputs
from edgekit.core.target import Target
from edgekit.core.types import DType, Type
from edgekit.quantize.mixed_precision.formats import Formats, could_be_wide
from edgekit.quantize.post_training import calibrated
from edgekit.quantize.settings import Settings

HEAD = "# What a multiplication takes, and an element of the result: see benchmarks/format_costs.py.\n"
TARGETS = (
    *("x86-64", "x86-64-avx2", "x86-64-avx512", "aarch64", "aarch64-dotprod", "aarch64-i8mm", "aarch64-sme"),
    *("armv7-neon", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55"),
    *("riscv32", "riscv64", "riscv64-rvv", "wasm32", "wasm32-simd", "wasm32-relaxed"),
)
INT8 = Formats()
SETTINGS = Settings(calibrate="minmax", strict_int8=True)


@dataclass
class Layers:
    """A graph in which every layer has an input of its own."""

    builder: Builder = field(default_factory=Builder)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def x(self, *shape: int) -> str:
        self.inputs.append(self.builder.input(f"x{len(self.inputs)}", Type(DType.F32, shape)))
        return self.inputs[-1]

    def weights(self, *shape: int) -> str:
        size = max(int(np.prod(shape[1:])), 1)
        return self.builder.const(self.rng.standard_normal(shape).astype(np.float32) / size**0.5)

    def add(self, op: Op, *operands: str) -> None:
        self.builder.origin = f"layer{len(self.outputs)}"
        self.outputs.append(self.builder.add(op, *operands)[0])

    def graph(self) -> Graph:
        return self.builder.graph("layers", self.inputs, self.outputs)


def linear(net: Layers) -> None:
    """Layers with weights."""
    for height, width, c, n, size, op in (
        (10, 10, 16, 16, (3, 3), same(3)),
        (8, 8, 32, 32, (3, 3), same(3)),
        (14, 14, 8, 24, (3, 3), same(3)),
        (6, 6, 64, 64, (3, 3), same(3)),
        (16, 16, 3, 16, (3, 3), same(3, 2)),
        (20, 20, 1, 8, (5, 5), same(5)),
        (24, 24, 3, 8, (7, 7), same(7, 2)),
        (12, 12, 16, 32, (3, 3), same(3, 2)),
        (10, 10, 16, 16, (5, 5), same(5)),
        (1, 48, 24, 24, (1, 9), same((1, 9))),
        (12, 12, 16, 24, (3, 3), replace(same(5), dilations=(2, 2))),
        (8, 8, 24, 48, (4, 4), Conv2d((4, 4))),
        (8, 8, 32, 32, (3, 3), replace(same(3), groups=4)),
        (10, 10, 36, 12, (3, 3), replace(same(3), groups=3)),
        (10, 10, 24, 40, (1, 1), Conv2d()),
        (7, 7, 64, 64, (1, 1), Conv2d()),
        (8, 8, 96, 24, (1, 1), Conv2d()),
        (14, 14, 20, 30, (1, 1), Conv2d()),
    ):
        net.add(op, net.x(1, height, width, c), net.weights(n, *size, c // op.groups), net.weights(n))
    for height, width, c, size, op in (
        (12, 12, 16, (3, 3), same(3)),
        (12, 12, 48, (3, 3), same(3, 2)),
        (7, 7, 36, (3, 3), same(3)),
        (12, 12, 32, (5, 5), same(5)),
        (10, 10, 24, (5, 5), same(5, 2)),
        (1, 64, 24, (1, 9), same((1, 9))),
    ):
        net.add(replace(op, groups=c), net.x(1, height, width, c), net.weights(c, *size, 1), net.weights(c))
    net.add(ConvTranspose2d((12, 12), (2, 2)), net.x(1, 6, 6, 16), net.weights(16, 2, 2, 16), net.weights(16))
    for rows, inputs, outputs in ((1, 256, 64), (1, 64, 200), (16, 64, 96), (12, 128, 32)):
        net.add(Dense(), net.x(rows, inputs), net.weights(outputs, inputs), net.weights(outputs))


def same(size: int | tuple[int, int], stride: int = 1) -> Conv2d:
    """A convolution whose image has as many pixels after it as before, by stride 1."""
    height, width = (size, size) if isinstance(size, int) else size
    return Conv2d((stride, stride), (height // 2, width // 2, height // 2, width // 2))


def others(net: Layers) -> None:
    """Layers without weights, and recurrent ones."""
    net.add(MatMul(), net.x(2, 24, 32), net.x(2, 32, 24))
    net.add(MatMul(), net.x(4, 12, 48), net.x(4, 48, 12))
    for op in (Add(), Mul(), Sub()):
        net.add(op, net.x(1, 10, 10, 16), net.x(1, 10, 10, 16))
    for unary in (Sigmoid(), Tanh(), Gelu(), HardSwish()):
        net.add(unary, net.x(1, 10, 10, 16))
    net.add(PRelu(), net.x(1, 10, 10, 16), net.weights(16))
    for kind in ("max", "mean"):
        net.add(Pool2d(kind, (2, 2), (2, 2)), net.x(1, 16, 16, 16))
    net.add(Reduce("mean", (1,)), net.x(16, 40))
    net.add(LayerNorm(1e-5), net.x(16, 96), net.weights(96), net.weights(96))
    net.add(Softmax(), net.x(16, 64))
    net.add(Concat(3), net.x(1, 10, 10, 16), net.x(1, 10, 10, 16))
    net.add(Transpose((0, 2, 1)), net.x(1, 24, 40))
    net.add(Gru(), net.x(6, 1, 144), net.weights(144, 48), net.x(1, 48), net.weights(48))
    net.add(Lstm(), net.x(6, 1, 192), net.weights(192, 48), net.x(1, 48), net.x(1, 48))


def graph(*parts: Callable[[Layers], None]) -> Graph:
    net = Layers()
    for part in parts:
        part(net)
    return net.graph()


def forms() -> Iterator[Graph]:
    """Layers in floats, in int8, and with 16 bits on both sides, or on one."""
    whole, weighted = graph(linear, others), graph(linear)
    yield whole
    yield quantized(whole)
    wide = frozenset(could_be_wide(weighted, weighted.values))
    for names in (wide, wide & {*weighted.inputs}, wide - {*weighted.inputs}):
        yield quantized(weighted, Formats(wide=names))
    layers = {node.outputs[0]: DType.BF16 for node in weighted.nodes}
    yield quantized(weighted, Formats(real=frozenset(layers), weights=layers))


def quantized(network: Graph, formats: Formats = INT8) -> Graph:
    samples = [random_inputs(network, seed) for seed in (0, 1)]
    known = calibrated(network, samples, SETTINGS, lambda step: None)
    return known.tensors.quantized(known.methods, formats).graph


@dataclass(frozen=True)
class Sample:
    """A layer that was counted."""

    kind: str
    format: str
    products: int
    elements: int
    taken: float  # instructions or nanoseconds


def samples(network: Graph, target: Target) -> Iterator[Sample]:
    """The layers of a graph."""
    is_native = runner.is_native(target)
    program = compile_graph(network, replace(target, layer_hook=is_native or target.layer_hook))
    if is_native:
        numbers = [1e3 * time for time in layer_times(program, "speed")]
    else:
        numbers = [*map(float, layer_counts(program, "speed", by_registers=True))]
    taken: dict[str, float] = defaultdict(float)
    nodes = {name: node for node in network.nodes for name in node.outputs}
    last = ""
    for line, count in zip(program.lines, numbers, strict=True):
        names = [arg.name for arg in line.call.args[-line.call.results :]]
        own = next((nodes[name].outputs[0] for name in names if name in nodes), "")
        layer = own or _of_origin(network, line.origin) or last
        taken[layer] += count
        last = layer
    for name, count in taken.items():
        node = nodes[name]
        yield Sample(
            next(filter(None, kinds(network, node))), format_of(network, node), *work(network, node), count
        )


def _of_origin(network: Graph, origin: str) -> str:
    """The layer of this name, whose calls before the last one have results of their own."""
    found = (node for node in network.nodes if node.origin == origin and not is_conversion(node))
    return next((node.outputs[0] for node in found), "")


def fitted(found: Sequence[Sample]) -> list[float]:
    """What a product and an element take, by relative errors."""
    x = np.array([[s.products, s.elements] for s in found], np.float64)
    y = np.array([s.taken for s in found], np.float64)
    factors, _ = nnls(x / y[:, None], np.ones(len(y)))
    return [float(f"{factor:.3g}") for factor in factors]


def table(target: Target) -> Mapping[str, Mapping[str, list[float]]]:
    """Of a class of machines: by operator and format."""
    groups: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    for number, network in enumerate(forms(), 1):
        for sample in samples(network, target):
            groups[sample.kind, sample.format].append(sample)
        print(f"{target.name}: {number} programs counted", flush=True)
    made: dict[str, dict[str, list[float]]] = {}
    for (kind, format), found in sorted(groups.items()):
        made.setdefault(kind, {})[format] = fitted(found)
        product, element = made[kind][format]
        off = [(product * s.products + element * s.elements) / s.taken - 1 for s in found]
        print(f"{kind} {format}: {product:g}, {element:g}, off by {' '.join(f'{x:+.0%}' for x in off)}")
    return made


def text(made: Mapping[str, Mapping[str, list[float]]]) -> str:
    """As a file of targets/formats."""
    rows = (
        f"\n[{kind}]\n" + "".join(f"{format} = {numbers}\n" for format, numbers in sorted(formats.items()))
        for kind, formats in sorted(made.items())
    )
    return HEAD + "".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", default=TARGETS)
    for name in parser.parse_args().targets:
        target = targets.load(name)
        if not runner.is_native(target) or runner.why_not_here(target):
            target = countable(counting.as_counted(target))
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.toml").write_text(text(table(target)), encoding="utf-8")


if __name__ == "__main__":
    main()
