"""Integers of quantized operators: simulator and C agree bit for bit, on random and on extreme numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.tools import require

from edgekit import simulate
from edgekit import target as targets
from edgekit.builder import Builder
from edgekit.codegen.program import compile_graph
from edgekit.ir import Array, DType, Quant, Type
from edgekit.onnx_backend import compile_programs
from edgekit.ops import Op
from edgekit.ops.activations import Gelu, HardSwish, PRelu, Sigmoid, Tanh
from edgekit.ops.arithmetic import Add, Clip, Mul, Sub
from edgekit.ops.concat import Concat
from edgekit.ops.conv2d import Conv2d
from edgekit.ops.dense import Dense
from edgekit.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.ops.matmul import MatMul
from edgekit.ops.pad import Pad
from edgekit.ops.pool2d import Pool2d
from edgekit.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.ops.reduce import Reduce
from edgekit.ops.resample import Resample
from edgekit.ops.softmax import Softmax
from edgekit.ops.transpose import Transpose

CASES = 300  # of each family


@dataclass
class Bench:
    """A graph in the making, in which every case is a node with inputs of its own."""

    builder: Builder
    random: np.random.Generator
    inputs: dict[str, Array]
    outputs: list[str]

    def quant(self, low: float = -6, high: float = 2) -> Quant:
        """Scales over many powers of two; zero points at the ends as often as between."""
        zero = int(self.random.choice([-128, 127, 0, int(self.random.integers(-128, 128))]))
        return Quant((float(np.float32(2.0 ** self.random.uniform(low, high))),), (zero,))

    def integers(self, *shape: int, low: int = -128) -> Array:
        """Any int8, or only the extreme ones."""
        if self.random.random() < 0.3:
            return self.random.choice(np.array([low, 127], np.int8), shape)
        return self.random.integers(low, 128, shape).astype(np.int8)

    def input(self, *shape: int, quant: Quant | None = None) -> str:
        name = self.builder.input(f"x{len(self.inputs)}", Type(DType.S8, shape, quant or self.quant()))
        self.inputs[name] = self.integers(*shape)
        return name

    def constant(self, data: Array, quant: Quant | None = None) -> str:
        name = self.builder.const(data, hint=f"c{len(self.builder.values)}")
        if quant is not None:  # of its own: equal constants share a name
            value = self.builder.values[name]
            name = self.builder.fresh("w")
            self.builder.values[name] = type(value)(Type(DType.S8, data.shape, quant), data)
        return name

    def result(self, op: Op, *operands: str, quant: Quant | None = None) -> None:
        self.outputs += self.builder.add(op, *operands, names=(f"y{len(self.outputs)}",), quant=quant)

    def size(self, most: int = 9) -> int:
        return int(self.random.integers(1, most + 1))

    def weights(self, x: str, *shape: int) -> tuple[str, str]:
        """Weights of each output in a scale of its own, and the bias."""
        scale = np.float32(2.0) ** self.random.uniform(-9, -3, shape[0]).astype(np.float32)
        quant = Quant(tuple(float(s) for s in scale), (0,) * shape[0], 0)
        bias = self.random.integers(-(2 ** self.size(20)), 2 ** self.size(20), shape[0]).astype(np.int32)
        return self.constant(self.integers(*shape, low=-127), quant), self.constant(bias)

    def limits(self) -> tuple[float, float]:
        return ((-np.inf, np.inf), (0.0, np.inf), (0.0, 6.0), (-0.5, 0.5))[self.random.integers(4)]


def convolutions(b: Bench) -> None:
    depthwise = b.random.random() < 0.4
    groups, channels = (b.size(20), 1) if depthwise else (b.size(3), b.size(5))
    kernel = b.size(3), b.size(3)
    x = b.input(1, kernel[0] + b.size(4), kernel[1] + b.size(4), groups * channels)
    w, bias = b.weights(x, groups * (1 if depthwise else b.size(6)), *kernel, channels)
    low, high = b.limits()
    pads = (b.size(3) - 1, b.size(3) - 1, b.size(3) - 1, b.size(3) - 1)
    b.result(Conv2d((b.size(2), b.size(2)), pads, (1, 1), groups, low, high), x, w, bias, quant=b.quant())


def dense_layers(b: Bench) -> None:
    inputs = b.size(70)
    x = b.input(b.size(3), inputs)
    w, bias = b.weights(x, b.size(40), inputs)
    b.result(Dense(*b.limits()), x, w, bias, quant=b.quant())


def sums(b: Bench) -> None:
    shape = b.size(), b.size(), b.size()
    x = b.input(*shape)
    y = b.input(*(n if b.random.random() < 0.7 else 1 for n in shape))
    b.result(Add() if b.random.random() < 0.5 else Sub(), x, y, quant=b.quant())


def products(b: Bench) -> None:
    shape = b.size(), b.size()
    b.result(Mul(), b.input(*shape), b.input(*shape), quant=b.quant())


def matrices(b: Bench) -> None:
    """Products of two computed matrices, in any order of their dimensions."""
    rows, inner, columns = b.size(5), b.size(40), b.size(20)
    batch = b.size(3), b.size(2)
    perms, shapes = [], []
    for matrix in (
        (*batch, rows, inner),
        (*(n if b.random.random() < 0.7 else 1 for n in batch), inner, columns),
    ):
        perm = tuple(int(p) for p in b.random.permutation(4)) if b.random.random() < 0.6 else (0, 1, 3, 2)
        perms.append(perm)
        shapes.append([matrix[perm.index(i)] for i in range(4)])
    b.result(MatMul(*perms), *(b.input(*shape) for shape in shapes), quant=b.quant())


def means(b: Bench) -> None:
    kernel = b.size(7), b.size(7)
    x = b.input(b.size(2), kernel[0] + b.size(4) - 1, kernel[1] + b.size(4) - 1, b.size(9))
    pad = b.size(2) - 1
    pads = (pad, 0, pad, 0)  # that count: all windows have as many cells
    b.result(Pool2d("mean", kernel, (b.size(3), b.size(3)), pads, counted=pads), x, quant=b.quant())


def maxima(b: Bench) -> None:
    x = b.input(1, b.size(5) + 2, b.size(5) + 2, b.size(5))
    quant = b.builder.type(x).quant
    b.result(Pool2d("max", (b.size(3), b.size(3)), (b.size(2), b.size(2))), x, quant=quant)


def functions(b: Bench) -> None:
    op = (Sigmoid(), Tanh(), Gelu(), HardSwish(), PRelu())[b.random.integers(5)]
    numbers = (b.constant(np.array(b.random.uniform(-1, 1), np.float32)),) * (op.arity - 1)
    b.result(op, b.input(b.size(), b.size(20)), *numbers, quant=b.quant(-9, 2))


def limits(b: Bench) -> None:
    low = b.random.uniform(-3, 0)
    ends = (b.constant(np.array(v, np.float32)) for v in (low, b.random.uniform(low, 3)))
    b.result(Clip(), b.input(b.size(), b.size(20)), *ends)


def norms(b: Bench) -> None:
    n = b.size(70) if b.random.random() < 0.9 else b.size(5000)
    x = b.input(b.size(3), n)
    if b.random.random() < 0.2:
        b.inputs[x][0] = b.inputs[x][0, 0]  # nothing varies
    scale, bias = (b.constant(b.random.normal(0, 2, n).astype(np.float32)) for _ in range(2))
    epsilon = float(b.random.choice([0.0, 1e-12, 1e-5, 1.0]))
    if b.random.random() < 0.5:
        b.result(LayerNorm(epsilon), x, scale, bias, quant=b.quant())
    else:
        b.result(RmsNorm(epsilon), x, scale, quant=b.quant())


def filters(b: Bench) -> None:
    """Interpolation, whose weights add up to 1, and filters of any weights."""
    axis = int(b.random.integers(3))
    x = b.input(b.size(3), b.size(5), b.size(40))
    n, taps = b.builder.type(x).shape[axis], b.size(4)
    results = b.size(9)
    index = b.constant(b.random.integers(0, n, (results, taps)).astype(np.int32))
    weights = b.random.normal(0, b.random.choice([0.01, 1, 30]), (results, taps))
    if b.random.random() < 0.5:
        weights = np.abs(weights) / np.abs(weights).sum(axis=1, keepdims=True)
    b.result(Resample(axis), x, index, b.constant(weights.astype(np.float32)), quant=b.quant())


def reductions(b: Bench) -> None:
    shape = [b.size(5) for _ in range(b.size(5))]
    axes = tuple(i for i in range(len(shape)) if b.random.random() < 0.5)
    kind = str(b.random.choice(["sum", "mean", "max", "min"]))
    x = b.input(*shape)
    quant = b.quant() if kind in ("sum", "mean") else b.builder.type(x).quant
    b.result(Reduce(kind, axes, bool(b.random.integers(2))), x, quant=quant)


def softmaxes(b: Bench) -> None:
    b.result(Softmax(), b.input(b.size(4), b.size(60)), quant=Quant((1 / 256,), (-128,)))


def scales(b: Bench) -> None:
    b.result(Requantize(), b.input(b.size(), b.size(20)), quant=b.quant())
    b.result(Dequantize(), b.input(b.size()))
    name = b.builder.input(f"x{len(b.inputs)}", Type(DType.F32, (7, b.size())))
    b.inputs[name] = b.random.normal(0, 30, b.builder.type(name).shape).astype(np.float32)
    b.inputs[name][:3, 0] = np.inf, -np.inf, 0.5
    b.result(Quantize(), name, quant=b.quant())


def movements(b: Bench) -> None:
    shape = b.size(), b.size(), b.size()
    quant = b.quant()
    b.result(Transpose((2, 0, 1)), b.input(*shape, quant=quant))
    b.result(Concat(1), b.input(*shape, quant=quant), b.input(shape[0], b.size(), shape[2], quant=quant))
    value = b.constant(np.array(quant.zero[0], np.int8), quant)
    b.result(Pad((1, 0, 2), (0, b.size(), 1)), b.input(*shape, quant=quant), value)


Family = Callable[[Bench], None]
FAMILIES: tuple[Family, ...] = (
    convolutions, dense_layers, matrices, sums, products, norms, filters, reductions, means, maxima,
    functions, limits, softmaxes, scales, movements
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_c_gives_the_integers_of_the_simulator(family: Family, tmp_path: Path) -> None:
    require("gcc")
    bench = Bench(Builder(), np.random.default_rng(2026), {}, [])
    for _ in range(CASES):
        family(bench)
    graph = bench.builder.graph("integers", list(bench.inputs), bench.outputs)
    program = compile_graph(graph, targets.load("host"))
    driver, errors = compile_programs([program], tmp_path, "size")
    assert not errors
    found, expected = driver.run(program, bench.inputs), simulate.run(graph, bench.inputs)
    varied = 0
    for name in bench.outputs:
        assert np.array_equal(found[name], expected[name]), name
        varied += len(np.unique(expected[name])) > 1
    assert varied > CASES // 2  # or nothing was tested
