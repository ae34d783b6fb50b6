"""Kernels of RISC-V with vectors of all lengths: integers as simulated, floats but for their rounding."""

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support import more_integer_families as more
from support import rivals
from support.board_families import long_slopes
from support.called import kernels
from support.each_target import load
from support.generated import STRICT, written
from support.integer_bench import Bench, Seeded
from support.tools import require_shared

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize, with_runner
from edgekit.core.types import Array, DType, Quant, Type

NAME = "riscv64-rvv"
LENGTHS = (128, 256, 512)


def many_outputs(b: Bench) -> None:
    """As many as two, four or eight registers hold, and one more or less; pixels of all tiles and rests."""
    outputs, kernel, channels = b.pick((15, 16, 17, 32, 33, 64, 65, 100, 130)), b.pick((1, 3)), b.size(9)
    w, bias = b.weights(DType.S8, outputs, kernel, kernel, channels)
    x = b.input(1, kernel + b.size(3), kernel + b.size(26), channels)
    op = Conv2d((1, b.size(2)), (b.size(2) - 1, b.size(2) - 1, 0, kernel - 1), (1, 1), 1, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(-2, 6))


def many_rows(b: Bench) -> None:
    """Matrices of as many outputs, and of rows that are taken four at a time or one by one."""
    outputs, inputs = b.pick((15, 32, 33, 64, 65, 130)), b.size(20)
    w, bias = b.weights(DType.S8, outputs, inputs)
    b.result(Dense(*b.limits()), b.input(b.size(9), inputs), w, bias, quant=b.quant(-2, 6))


RANDOM = (
    many_outputs,
    many_rows,
    families.convolutions,
    families.grouped_convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    families.sums,
    families.products,
    long_slopes,
    families.means,
    families.averages,
    families.reals,
    more.norms,
)


def real_layer(b: Bench, op: Linear, x: str, *weights: int) -> None:
    """Weights of any type that has kernels, and sometimes a sum behind it."""
    numbers, dtype = b.choices.generator(), b.pick((DType.F32, DType.F32, DType.BF16, DType.S8))
    data = numbers.normal(size=weights) * (40 if dtype is DType.S8 else 1)
    scales = Quant(tuple(numbers.uniform(0.01, 0.02, weights[0]).tolist()), (0,) * weights[0], 0)
    w = b.constant(data.astype(dtype.numpy), scales if dtype is DType.S8 else None)
    bias = b.constant(numbers.normal(size=weights[0]).astype(np.float32))
    if dtype is DType.S8 or not isinstance(op, Conv2d) or not b.is_rare(3):
        b.result(op, x, w, bias)
        return
    y = b.builder.one(replace(op, lo=-np.inf, hi=np.inf), x, w, bias)
    b.result(Add(), y, real_input(b, *b.builder.type(y).shape))


def real_input(b: Bench, *shape: int) -> str:
    name = b.builder.input(f"x{len(b.inputs)}", Type(DType.F32, shape))
    b.inputs[name] = b.choices.generator().normal(size=shape).astype(np.float32)
    return name


def real_convolution(b: Bench, groups: int, depth: int, outputs: int, *, planes: bool = False) -> None:
    """Over an image that is little larger than the window, or so padded that windows miss it."""
    kernel, dilations, strides = ((b.size(3), b.size(3)) for _ in range(3))
    top, left, bottom, right = (b.size(4) - 1 for _ in range(4))
    least = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    height, width = max(1, least[0] + b.size(3) - top), max(1, least[1] + b.size(28) - left)
    pads = (top, left, max(bottom, least[0] - height - top), max(right, least[1] - width - left))
    shape = (b.size(2), height, width, groups * depth)
    if planes:
        x = b.builder.one(Transpose((0, 2, 3, 1)), real_input(b, shape[0], shape[3], *shape[1:3]))
    else:
        x = real_input(b, *shape)
    op = Conv2d(strides, pads, dilations, groups, *b.limits())
    real_layer(b, op, x, outputs * groups, *kernel, depth)


def real_convolutions(b: Bench) -> None:
    real_convolution(b, 1, b.size(9), b.pick((1, 7, 15, 16, 17, 32, 33, 64, 65, 100, 130)))


def real_planes(b: Bench) -> None:
    real_convolution(b, 1, b.size(4), b.pick((16, 20, 40)), planes=True)


def real_groups(b: Bench) -> None:
    real_convolution(b, 1 + b.size(3), b.size(4), b.pick((1, 9, 17, 40)))


def real_channels(b: Bench) -> None:
    real_convolution(b, b.pick((2, 8, 15, 16, 17, 31, 64, 65)), 1, 1)


def real_points(b: Bench) -> None:
    channels, outputs = b.size(20), b.pick((3, 16, 17, 32, 33, 80))
    real_layer(b, Conv2d(), real_input(b, b.size(2), b.size(4), b.size(7), channels), outputs, 1, 1, channels)


def real_rows(b: Bench) -> None:
    inputs, outputs = b.size(20), b.pick((3, 15, 16, 17, 32, 33, 64, 65, 130))
    real_layer(b, Dense(*b.limits()), real_input(b, b.pick((1, 2, 3, 5, 14)), inputs), outputs, inputs)


def real_products(b: Bench) -> None:
    """Matrices as they lie, or the second one transposed: dot products of whole vectors, and with a rest."""
    rows, inner, columns = b.size(9), b.pick((1, 7, 8, 16, 40, 64, 70)), b.pick((1, 2, 9, 32, 33, 70))
    perm, other = b.pick((((0, 1, 2), (inner, columns)), ((0, 2, 1), (columns, inner))))
    b.result(MatMul((), perm), real_input(b, 2, rows, inner), real_input(b, 2, *other))


REALS: tuple[Callable[[Bench], None], ...] = (
    real_convolutions,
    real_points,
    real_rows,
    real_channels,
    real_planes,
    real_groups,
    real_products,
)
REAL_KERNELS = {
    *(f"{layer}_f32{width}" for layer in ("conv2d", "conv2d_add") for width in ("", "_oc16", "_oc64")),
    *(
        f"{layer}_f32_bf16_bf16{width}"
        for layer in ("conv2d", "conv2d_add")
        for width in ("", "_oc16", "_oc64")
    ),
    *(f"conv2d_scaled_f32_s8{width}" for width in ("", "_oc16", "_oc64")),
    *("dense_f32", "dense_f32_oc16", "dense_f32_oc32"),
    *("dense_f32_bf16_bf16", "dense_f32_bf16_bf16_rows2", "dense_scaled_f32_s8", "dense_scaled_f32_s8_rows2"),
    *("matmul_f32", "matmul_f32_columns32", "matmul_nt_f32"),
    *("depthwise2d_f32", "depthwise2d_f32_oc16", "depthwise2d_f32_bf16_bf16", "depthwise2d_scaled_f32_s8"),
}


def build(program: Program, folder: Path, optimize: Optimize, level: str = "-O1") -> Driver:
    """Compiled with strict warnings. Kernels have less code with -Os, and other tiles."""
    names = written([program], folder, optimize)
    return Driver([program], names, folder, toolchain.find(program.target), [level, *STRICT])


def with_length(driver: Driver, bits: int) -> Driver:
    """The same executable on a processor with vectors of so many bits."""
    target = load(NAME)
    longer = copy.copy(driver)
    longer.target = with_runner(target, target.runner.replace("vlen=256", f"vlen={bits}"))
    assert f"vlen={bits}" in longer.target.runner
    return longer


def check(program: Program, driver: Driver, sample: dict[str, Array]) -> None:
    expected = simulate.run(program.graph, sample)
    for bits in LENGTHS:
        found = with_length(driver, bits).run(program, sample)
        for output in program.graph.outputs:
            assert np.array_equal(found[output], expected[output]), (bits, program.graph.producer(output))


def check_reals(program: Program, driver: Driver, sample: dict[str, Array]) -> None:
    """As close to the simulator as sums are, what is not finite exactly so. All lengths give the same bits,
    but for dot products: those are summed up in as many parts as there are lanes."""
    with np.errstate(invalid="ignore"):
        expected = simulate.run(program.graph, sample)
    found = [with_length(driver, bits).run(program, sample) for bits in LENGTHS]
    for output in program.graph.outputs:
        y, producer = expected[output], program.graph.producer(output)
        largest = np.abs(y[np.isfinite(y)]).max(initial=1.0)
        np.testing.assert_allclose(found[0][output], y, rtol=0, atol=1e-5 * largest, err_msg=str(producer))
        for longer in found[1:]:
            np.testing.assert_allclose(longer[output], y, rtol=0, atol=1e-5 * largest, err_msg=str(producer))
            is_dot = producer is not None and producer.op == MatMul((), (0, 2, 1))
            assert is_dot or longer[output].tobytes() == found[0][output].tobytes(), producer


def random_layers(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        bench.case(RANDOM[i % len(RANDOM)])
    return bench


@pytest.mark.parametrize(
    ("optimize", "level", "count"), [("size", "-O1", 104), ("size", "-Os", 39), ("speed", "-O1", 39)]
)
def test_integers_of_any_shape(optimize: Optimize, level: str, count: int, tmp_path: Path) -> None:
    bench = random_layers(2026, count)
    with rivals.in_turns():
        program = compile_graph(bench.graph(), load(NAME))
    taken = {name for name in kernels(program, "rvv") if name.startswith("conv2d_s8_tfl")}
    assert all(any(width in name for name in taken) for width in ("_oc16", "_oc64", "_right_shift")), taken
    check(program, build(program, tmp_path, optimize, level), bench.inputs)


@pytest.mark.parametrize(
    ("optimize", "level", "count"), [("size", "-O1", 126), ("size", "-Os", 42), ("speed", "-O1", 42)]
)
def test_floats_of_any_shape(optimize: Optimize, level: str, count: int, tmp_path: Path) -> None:
    bench = Bench(Seeded(30))
    for i in range(count):
        REALS[i % len(REALS)](bench)
    with rivals.in_turns():
        program = compile_graph(bench.graph(), load(NAME))
    if count == 126:
        assert kernels(program, "rvv").keys() >= REAL_KERNELS, REAL_KERNELS - kernels(program, "rvv").keys()
    extreme = {name: data.copy() for name, data in bench.inputs.items()}
    for i, data in enumerate(extreme.values()):
        data.reshape(-1)[:: max(7, data.size // 3)] = (np.nan, np.inf, -np.inf)[i % 3]
    driver = build(program, tmp_path, optimize, level)
    for sample in (bench.inputs, extreme):
        check_reals(program, driver, sample)


def test_a_network_of_int8(tmp_path: Path) -> None:
    graph = simplify(convert(require_shared("models/mlperf_tiny/kws_ref_model.tflite")))
    program = compile_graph(graph, load(NAME))
    layers = [line for line in program.lines if line.macs]
    assert layers
    assert all(line.kernel.function.endswith("__rvv") for line in layers)
    check(program, build(program, tmp_path, "speed"), simulate.random_inputs(graph, 1))
