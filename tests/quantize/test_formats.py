"""Operands of different formats: simulator and C agree bit for bit, on integers and on 16-bit floats."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.tools import require

from edgekit.codegen.kernels.pack import pack
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.quantize import Requantize
from edgekit.core.target import Optimize
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.onnx_backend import compile_programs

STRICT = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
# An operator, the shape of its image, and that of its weights.
LAYERS: tuple[tuple[Linear, tuple[int, ...], tuple[int, ...]], ...] = (
    (Conv2d((1, 1), (1, 1, 1, 1)), (1, 5, 6, 7), (19, 3, 3, 7)),
    (Conv2d((2, 1), (1, 1, 1, 1), (1, 1), 17), (1, 5, 6, 17), (34, 3, 3, 1)),
    (Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 2), (1, 5, 5, 6), (10, 3, 3, 3)),
    (Dense(), (3, 300), (21, 300)),
)


class Bench:
    """A graph in the making, and numbers for its inputs."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.random = np.random.default_rng(2026)
        self.inputs: dict[str, Array] = {}
        self.outputs: list[str] = []

    def input(self, data: Array, quant: Quant | None = None) -> str:
        name = self.builder.input("x", Type(DType.of(data.dtype), data.shape, quant))
        self.inputs[name] = data
        return name

    def constant(self, data: Array, quant: Quant | None = None) -> str:
        name = self.builder.fresh("w")
        self.builder.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def integers(self, dtype: DType, shape: tuple[int, ...], zero: int = 0) -> str:
        low, high = limits(dtype)
        data = self.random.integers(low, high + 1, shape).astype(dtype.numpy)
        data.reshape(-1)[:2] = low, high
        scale = 0.03 if dtype.bits == 8 else 0.0001
        return self.input(data, Quant((scale,), (zero,)))

    def weights(self, dtype: DType, shape: tuple[int, ...]) -> str:
        most = limits(dtype)[1]
        data = self.random.integers(-most, most + 1, shape).astype(np.int8).astype(dtype.numpy)
        scales = tuple(float(np.float32(s)) for s in self.random.uniform(0.001, 0.01, shape[0]))
        return self.constant(data, Quant(scales, (0,) * shape[0], 0))

    def layer(self, op: Linear, x: str, w: str, quant: Quant | None) -> None:
        count = self.builder.type(w).shape[0]
        bias = self.random.integers(-2000, 2000, count).astype(np.int32)
        self.outputs += self.builder.add(op, x, w, self.constant(bias), quant=quant)

    def check(self, folder: Path, optimize: Optimize, flags: tuple[str, ...] = STRICT) -> list[str]:
        """Compare simulator and C; the names of the kernels."""
        graph = self.builder.graph("formats", list(self.inputs), self.outputs)
        program = compile_graph(graph, targets.load("host"))
        driver, errors = compile_programs([program], folder, optimize, flags)
        assert not errors
        found, expected = driver.run(program, self.inputs), simulate.run(graph, self.inputs)
        for name in self.outputs:
            assert len(np.unique(expected[name].astype(float))) > 1, name
            assert np.array_equal(found[name], expected[name]), name
        return [line.kernel.name for line in program.lines]


def limits(dtype: DType) -> tuple[int, int]:
    bits = dtype.bits
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.is_signed else (0, (1 << bits) - 1)


def integer_formats() -> Iterator[tuple[DType, DType, DType]]:
    yield from product((DType.S8, DType.S16), (DType.S8, DType.S4), (DType.S8, DType.S16))


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_integers_of_8_and_16_bits_with_weights_of_8_and_4(optimize: Optimize, tmp_path: Path) -> None:
    require("gcc")
    bench = Bench()
    for (x, w, y), (op, image, weights) in product(integer_formats(), LAYERS):
        small = y is DType.S8
        quant = Quant((float(np.float32(0.1 if small else 0.0005)),), (3 if small else 0,))
        made = replace(op, dtype=None if x is y else y)  # type: ignore[type-var]  # all are dataclasses
        name = bench.integers(x, image, int(bench.random.integers(-128, 128)) if x is DType.S8 else 0)
        bench.layer(made, name, bench.weights(w, weights), quant)
    kernels = bench.check(tmp_path, optimize)
    assert {"conv2d_s8", "conv2d_s16_s4_s8", "dense_s16_s8_s16", "depthwise2d_s8_s4_s8"} <= set(kernels)


def test_sums_that_need_more_than_32_bits(tmp_path: Path) -> None:
    require("gcc")
    bench = Bench()
    x = bench.integers(DType.S16, (2, 4000))
    bench.inputs[x][0] = -32768
    most = bench.constant(np.full((9, 4000), 127, np.int8), Quant((0.01,) * 9, (0,) * 9, 0))
    for dtype, scale in ((DType.S16, 2.0), (DType.S8, 200.0), (DType.S16, 0.01)):
        bench.layer(Dense(dtype=dtype), x, most, Quant((scale,), (0,)))
    assert all(kernel.endswith("_long") for kernel in bench.check(tmp_path, "size"))


def test_layers_that_share_weights_have_scales_of_their_own(tmp_path: Path) -> None:
    require("gcc")
    bench = Bench()
    x = bench.integers(DType.S8, (4, 30), 5)
    weights = bench.weights(DType.S8, (6, 30))
    for scale in (0.05, 0.1, 0.4):
        bench.layer(Dense(), x, weights, Quant((scale,), (0,)))
    bench.check(tmp_path, "speed")


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_floats_of_16_bits_are_summed_in_the_order_of_the_kernels(optimize: Optimize, tmp_path: Path) -> None:
    """Bit for bit, also where only the weights are narrow: products are rounded before they are added."""
    require("gcc")
    bench = Bench()
    formats = (
        (DType.F32, DType.BF16, DType.F32),
        (DType.F32, DType.F16, DType.F32),
        (DType.BF16, DType.BF16, DType.F32),
        (DType.F16, DType.F16, DType.F16),
    )
    for types, (op, image, weights) in product(formats, LAYERS):
        shapes = (image, weights, weights[:1])
        arrays = [bench.random.normal(size=s).astype(t.numpy) for s, t in zip(shapes, types, strict=True)]
        x, w, b = bench.input(arrays[0]), bench.constant(arrays[1]), bench.constant(arrays[2])
        bench.outputs += bench.builder.add(op, x, w, b)
    kernels = bench.check(tmp_path, optimize, ("-ffp-contract=off", *STRICT))
    assert {"conv2d_f32_bf16", "dense_f32_f16", "depthwise2d_bf16_f32", "conv2d_f16"} <= set(kernels)


def test_from_one_scale_and_width_to_another(tmp_path: Path) -> None:
    require("gcc")
    bench = Bench()
    for x, y in product((DType.S8, DType.U8, DType.S16, DType.U16), repeat=2):
        for scale in (0.1, 0.003, 1.0):
            quant = Quant((scale if y.bits == 8 else scale / 100,), (5 if y.bits == 8 else 0,))
            name = bench.integers(x, (99,), 3 if x.bits == 8 else 0)
            bench.outputs += bench.builder.add(Requantize(y), name, quant=quant)
    bench.check(tmp_path, "size")


def test_weights_of_four_bits_take_half_a_byte() -> None:
    weights = np.array([[1, -2, 3], [-8, 7, 0]], np.int8).astype(DType.S4.numpy)
    packed = pack("O/16 I o16", weights)  # 1 -8 -2 7 3 0
    assert packed.tolist() == [1 | -8 << 4, (-2 & 15) | 7 << 4, 3]


def test_formats_that_do_not_go_together_are_refused() -> None:
    for x, w in ((DType.F32, DType.S8), (DType.BF16, DType.F32), (DType.S8, DType.S16)):
        builder = Builder()
        names = [
            builder.input(name, Type(t, shape))
            for name, t, shape in (("x", x, (1, 4)), ("w", w, (2, 4)), ("b", DType.S32, (2,)))
        ]
        with pytest.raises(EdgeKitError, match="differ in type"):
            builder.add(Dense(), *names)


def test_results_next_to_the_limit_of_32_bits_do_not_overflow(tmp_path: Path) -> None:
    """By TFLite's rule, where the zero point is added to what was rescaled."""
    require("gcc")
    bench = Bench()
    near, below = (1 + 2.0**-15,), (1 - 2.0**-15,)
    image = np.array([[[[1]], [[2]]]], np.int8)
    x = bench.input(image, Quant(near, (0,), None, "tfl"))
    w = bench.constant(np.array([[[[0]]], [[[1]]]], np.int8), Quant(below * 2, (0, 0), 0, "tfl"))
    bias = bench.constant(np.array([2**31 - 1, -200], np.int32))
    quant = Quant((1.0,), (127,), None, "tfl")
    bench.outputs += bench.builder.add(Conv2d(), x, w, bias, quant=quant)
    flags = (*STRICT, "-fsanitize=undefined", "-fno-sanitize-recover=all")
    assert bench.check(tmp_path, "size", flags) == ["depthwise2d_s8_tfl_wide"]
