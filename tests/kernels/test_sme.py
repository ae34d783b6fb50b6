"""Kernels of SME at all lengths of registers: integers as simulated, floats as NEON rounds them."""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.called import kernels
from support.generated import STRICT, written
from support.integer_bench import Bench, Seeded
from support.sme import LENGTHS, LONGER, NAME, build, check, check_reals, load

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import BACKWARDS
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.transpose import Transpose
from edgekit.core.target import Optimize, with_runner
from edgekit.core.types import DType, Quant, Type

LEAST_MACS, LEAST_REAL_MACS = 1 << 20, 1 << 18
# Around the numbers of rows and outputs that tiles have at each length.
ROWS = (4, 5, 15, 16, 17, 33, 64, 67)
KERNELS, PATCHES = ((1, 1), (3, 3), (3, 3), (5, 2), (1, 3)), ((3, 4), (8, 8), (1, 4))
OUTPUTS = (1, 3, 15, 16, 17, 31, 33, 48, 63, 64, 65, 129, 160)


def rows(b: Bench) -> None:
    """As many inputs as make the layer large enough, and up to four more."""
    count, outputs = b.pick(ROWS[2:]), b.pick(OUTPUTS[2:])
    inputs = -(-LEAST_MACS // (count * outputs)) + b.size(4)
    w, bias = b.weights(DType.S8, outputs, inputs)
    b.result(Dense(*b.limits()), b.input(count, inputs), w, bias, quant=b.quant(-2, 6))


def windows(
    b: Bench, least: int, kernels: Sequence[tuple[int, int]]
) -> tuple[Conv2d, tuple[int, ...], tuple[int, ...]]:
    """A convolution of so many products at least, the shape of its image, and that of its weights. Rows
    of pixels fill tiles or do not, rows of windows are multiples of four bytes or are not."""
    kernel = b.pick(kernels)
    strides, dilations = b.pick(((1, 1), (1, 1), (2, 2), (2, 1))), b.pick(((1, 1), (1, 1), (2, 2), (1, 2)))
    depth, outputs, batch = b.pick((3, 8, 13, 16, 36)), b.pick(OUTPUTS[2:]), b.pick((1, 1, 2))
    out_w = b.pick((7, 16, 18, 33))
    out_h = -(-least // (kernel[0] * kernel[1] * depth * outputs * batch * out_w))
    top, left, bottom, right = (b.pick((0, k // 2, k - 1)) for k in (*kernel, *kernel))
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    height = max(1, (out_h - 1) * strides[0] + spans[0] - top - bottom)
    width = max(1, (out_w - 1) * strides[1] + spans[1] - left - right)
    op = Conv2d(strides, (top, left, bottom, right), dilations, 1, *b.limits())
    return op, (batch, height, width, depth), (outputs, *kernel, depth)


def convolutions(b: Bench) -> None:
    op, image, weights = windows(b, LEAST_MACS, KERNELS)
    w, bias = b.weights(DType.S8, *weights)
    b.result(op, b.input(*image), w, bias, quant=b.quant(-2, 6))


def matrices(b: Bench, least: int) -> tuple[MatMul, tuple[int, ...], tuple[int, ...]]:
    """Computed matrices, whose product takes so many at least, as rows and columns or as rows and rows."""
    batch, count, columns = b.pick((1, 2)), b.pick(ROWS), b.pick(OUTPUTS[2:])
    inner = -(-least // (batch * count * columns)) + b.size(4)
    if b.is_rare(2):
        return MatMul((), (0, 2, 1)), (batch, count, inner), (batch, columns, inner)
    return MatMul(), (batch, count, inner), (b.pick((1, batch)), inner, columns)


def attentions(b: Bench) -> None:
    """Products of computed matrices, with zero points of both."""
    b.rounding = b.pick(("E", "tflm"))
    op, first, second = matrices(b, LEAST_REAL_MACS)
    b.result(op, b.input(*first), b.input(*second), quant=b.quant(b.pick((0, 4)), 5))


def planes(b: Bench) -> None:
    """Of an image with channels first; rows of windows are multiples of four."""
    op, (batch, height, width, depth), weights = windows(b, LEAST_MACS, PATCHES)
    w, bias = b.weights(DType.S8, *weights)
    x = b.builder.one(Transpose((0, 2, 3, 1)), b.input(batch, depth, height, width))
    b.result(replace(op, dilations=(op.dilations[0], 1)), x, w, bias, quant=b.quant(-2, 6))


def large_ratios(b: Bench) -> None:
    """Rule E with products of 64 bits, rule T with shifts to the left."""
    b.rounding, low = b.pick((("E", -14), ("tflm", -6)))
    w, bias = b.weights(DType.S8, 67, 1, 1, 980)
    x = b.input(1, 2, 8, 980, quant=b.quant(-2, -1))
    b.result(Conv2d(), x, w, bias, quant=b.quant(low, low + 1))


def halves(b: Bench) -> None:
    """Rule T where one sum of eight lies between two integers: all exponents are negative, or one is not."""
    b.rounding = "tflm"
    data = b.integers((65, 1, 1, 980), DType.S8) // 64 * 64
    scales = np.full(65, 2.0**-9)
    scales[0] = b.pick((2.0**-9, 2.0))
    w = b.constant(np.maximum(data, -64).astype(np.int8), Quant(tuple(scales), (0,) * 65, 0, "tflm"))
    x = b.input(1, 3, 6, 980, quant=Quant((1.0,), (0,), None, "tflm"))
    b.result(Conv2d(), x, w, b.constant(np.zeros(65, np.int32)), quant=Quant((1.0,), (0,), None, "tflm"))


def real_input(b: Bench, *shape: int) -> str:
    name = b.builder.input(f"x{len(b.inputs)}", Type(DType.F32, shape))
    b.inputs[name] = b.choices.generator().normal(size=shape).astype(np.float32)
    return name


def real_constant(b: Bench, *shape: int) -> str:
    """Of weights, outputs first, so small that sums are about 1."""
    spread = np.prod(shape[1:]) ** -0.5
    return b.constant(b.choices.generator().normal(scale=spread, size=shape).astype(np.float32))


def real_convolutions(b: Bench) -> None:
    """With a sum behind every second one."""
    op, image, weights = windows(b, LEAST_REAL_MACS, KERNELS)
    x, w, bias = real_input(b, *image), real_constant(b, *weights), real_constant(b, weights[0])
    if b.is_rare(2):
        b.result(op, x, w, bias)
        return
    y = b.builder.one(replace(op, lo=-np.inf, hi=np.inf), x, w, bias)
    b.result(Add(), y, real_input(b, *b.builder.type(y).shape))


def real_planes(b: Bench) -> None:
    op, (batch, height, width, depth), weights = windows(b, LEAST_REAL_MACS, (*KERNELS, *PATCHES))
    x = b.builder.one(Transpose((0, 2, 3, 1)), real_input(b, batch, depth, height, width))
    b.result(op, x, real_constant(b, *weights), real_constant(b, weights[0]))


def real_attentions(b: Bench) -> None:
    op, first, second = matrices(b, LEAST_REAL_MACS)
    b.result(op, real_input(b, *first), real_input(b, *second))


def real_rows(b: Bench) -> None:
    count, outputs = b.pick(ROWS), b.pick(OUTPUTS[2:])
    inputs = -(-LEAST_REAL_MACS // (count * outputs)) + b.size(4)
    weights = real_constant(b, outputs, inputs), real_constant(b, outputs)
    b.result(Dense(*b.limits()), real_input(b, count, inputs), *weights)


INTEGERS: tuple[Callable[[Bench], None], ...] = (
    *(rows, convolutions, convolutions),
    *(planes, large_ratios, halves, attentions),
)
REALS: tuple[Callable[[Bench], None], ...] = (
    *(real_rows, real_convolutions, real_convolutions),
    *(real_attentions, real_planes),
)
INTEGER_KERNELS = {"dense_s8", "dense_s8_tfl", "dense_s8_once"}
INTEGER_KERNELS |= {
    "conv2d_s8",
    "conv2d_s8_wide",
    "conv2d_s8_tfl",
    "conv2d_s8_tfl_right_shift",
    "conv2d_s8_planes",
}
INTEGER_KERNELS |= {
    "matmul_s8_plain",
    "matmul_s8_tfl",
    "matmul_nt_s8_plain",
    "matmul_nt_s8_tfl",
}
REAL_KERNELS = {
    "dense_f32",
    "conv2d_f32",
    "conv2d_f32_planes",
    "conv2d_add_f32",
    "matmul_f32",
    "matmul_nt_f32",
}


def integers(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        bench.case(INTEGERS[i % len(INTEGERS)])
    return bench


def reals(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        REALS[i % len(REALS)](bench)
    return bench


@pytest.mark.parametrize(
    ("optimize", "level", "count"), [("size", "-O1", 60), ("size", "-Os", 12), ("speed", "-O2", 12)]
)
def test_integers_of_any_shape(optimize: Optimize, level: str, count: int, tmp_path: Path) -> None:
    bench = integers(2026, count)
    program = compile_graph(bench.graph(), load())
    taken = kernels(program, "sme")
    assert sum(taken.values()) == count, [line.kernel.function for line in program.lines]
    assert count < 60 or taken.keys() >= INTEGER_KERNELS, taken
    lengths = (*LENGTHS, LONGER) if count == 60 else LENGTHS
    check(program, build(program, tmp_path, optimize, level), bench.inputs, *lengths)


@pytest.mark.parametrize(
    ("optimize", "level", "count"), [("size", "-O1", 24), ("size", "-Os", 8), ("speed", "-O2", 8)]
)
def test_floats_of_any_shape(optimize: Optimize, level: str, count: int, tmp_path: Path) -> None:
    bench = reals(30, count)
    program = compile_graph(bench.graph(), load())
    taken = kernels(program, "sme")
    assert sum(taken.values()) == count, [line.kernel.function for line in program.lines]
    assert count < 24 or taken.keys() == REAL_KERNELS
    driver = build(program, tmp_path, optimize, level)
    check_reals(program, driver, bench.inputs, *LENGTHS, LONGER)
    extreme = {name: data.copy() for name, data in bench.inputs.items()}
    for i, data in enumerate(extreme.values()):
        data.reshape(-1)[:: max(7, data.size // 3)] = (np.nan, np.inf, -np.inf)[i % 3]
    check_reals(program, driver, extreme)


def test_floats_have_the_bits_of_neon(tmp_path: Path) -> None:
    """But for products with a transposed matrix, whose sums NEON adds up by lanes."""
    bench = Bench(Seeded(31))
    for family in (real_rows, *[real_convolutions] * 5):
        family(bench)
    graph, found = bench.graph(), []
    for isa in (("neon", "ref"), ("sme", "neon", "ref")):
        program = compile_graph(graph, replace(load(), isa=isa))
        assert kernels(program, isa[0]).total() == 6
        folder = tmp_path / isa[0]
        folder.mkdir()
        driver = build(
            program, folder, "size", "-O0", "-fno-sanitize=undefined"
        )  # NEON's tiles take a minute
        found.append(driver.run(program, bench.inputs))
    for output in graph.outputs:
        assert found[0][output].tobytes() == found[1][output].tobytes(), graph.producer(output)


def test_small_layers_stay_with_other_kernels() -> None:
    bench = Bench(Seeded(3))
    for count, inputs, outputs in ((16, 255, 256), (16, 256, 256), (3, 3000, 256)):
        w, bias = bench.weights(DType.S8, outputs, inputs)
        bench.result(Dense(), bench.input(count, inputs), w, bias, quant=bench.quant(0, 6))
        weights = real_constant(bench, outputs, inputs // 4), real_constant(bench, outputs)
        bench.result(Dense(), real_input(bench, count, inputs // 4), *weights)
    program = compile_graph(bench.graph(), targets.load(NAME))
    found = [line.kernel.function.rpartition("__")[2] for line in program.lines]
    assert found == ["i8mm", "neon", "sme", "sme", "i8mm", "neon"]


@pytest.mark.parametrize("dtype", [DType.S8, DType.F32])
def test_results_over_their_operands(dtype: DType, tmp_path: Path) -> None:
    """A chain of layers, whose results the planner places as near to their operands as kernels allow."""
    bench = Bench(Seeded(4))
    x = bench.input(67, 129) if dtype is DType.S8 else real_input(bench, 67, 129)
    for outputs, inputs in ((130, 129), (160, 130), (131, 160)):
        if dtype is DType.S8:
            w, bias = bench.weights(DType.S8, outputs, inputs)
        else:
            w, bias = real_constant(bench, outputs, inputs), real_constant(bench, outputs)
        (x,) = bench.builder.add(Dense(), x, w, bias, quant=bench.quant(0, 6) if dtype is DType.S8 else None)
    program = compile_graph(bench.builder.graph("chain", list(bench.inputs), [x]), load())
    assert kernels(program, "sme").total() == 3
    places = [{o.pointer.name: o.place.offset for o in line.operands} for line in program.lines]
    assert 0 < places[1]["x"] - places[1]["y"] < 67 * 130 * dtype.bytes, places
    (check if dtype is DType.S8 else check_reals)(program, build(program, tmp_path), bench.inputs)


@pytest.mark.parametrize("dtype", [DType.S8, DType.F32])
def test_parts_of_several_cores(dtype: DType, tmp_path: Path) -> None:
    bench = integers(5, len(INTEGERS)) if dtype is DType.S8 else reals(5, len(REALS))
    program = compile_graph(bench.graph(), load(cores=3))
    driver = build(program, tmp_path).with_threads(BACKWARDS)
    (check if dtype is DType.S8 else check_reals)(program, driver, bench.inputs)
    assert kernels(program, "sme").total() == len(bench.outputs)


# A caller with numbers in ZA, to be saved by the function that it calls: TPIDR2_EL0 leads to a pointer and a
# number of rows.
_CALLER = """
#include <stdint.h>
#include <stdio.h>
#include "integers.h"

static uint64_t arena[INTEGERS_ARENA_SIZE / 8 + 2];
static int8_t x[INTEGERS_X0_SIZE], y[INTEGERS_Y0_SIZE];
static uint8_t kept[64 * 64], saved[64 * 64];
static struct { void *to; uint16_t rows; uint8_t zero[6]; } block;

int main(int count, char **words)
{
    uint64_t bytes, left;
    (void)count, (void)words;
    __asm__ volatile("rdsvl %0, #1" : "=r"(bytes));
    for (uint64_t i = 0; i < bytes * bytes; i++)
        kept[i] = (uint8_t)(i * 7 + i / 64);
    block.to = saved;
    block.rows = (uint16_t)bytes;
    __asm__ volatile("smstart za\\n"
                     "mov x9, %0\\n"
                     "mov w12, #0\\n"
                     "1: ldr za[w12, 0], [x9]\\n"
                     "add x9, x9, %1\\n"
                     "add w12, w12, #1\\n"
                     "cmp w12, %w1\\n"
                     "b.lo 1b\\n"
                     "msr TPIDR2_EL0, %2\\n"
                     : : "r"(kept), "r"(bytes), "r"(&block) : "memory", "cc", "x9", "x12");
    integers_run(x, y, arena);
    __asm__ volatile("mrs %0, TPIDR2_EL0" : "=r"(left));
    if (left)
        return 10;
    for (uint64_t i = 0; i < bytes * bytes; i++)
        if (saved[i] != kept[i])
            return 11;
    return 0;
}
"""


def test_what_a_caller_left_in_za_is_saved(tmp_path: Path) -> None:
    bench = Bench(Seeded(6))
    rows(bench)
    program = compile_graph(bench.graph(), load())
    names = written([program], tmp_path, "size")
    port_x, port_y = program.inputs[0].c, program.outputs[0].c
    text = _CALLER.replace("X0_SIZE", f"{port_x.upper()}_SIZE").replace("Y0_SIZE", f"{port_y.upper()}_SIZE")
    (tmp_path / "caller.c").write_text(text)
    compiler = toolchain.find(program.target)
    ours = [*runner.compile_flags(program.target), *names, "caller.c", "-o", "caller"]
    runner.link(program.target, compiler, ["-O1", "-I.", *STRICT, *ours], tmp_path)
    for bits in LENGTHS:
        words = program.target.runner.replace("length=64", f"length={bits // 8}")
        done = runner.run(with_runner(program.target, words), tmp_path / "caller", ())
        assert done.code == 0, (bits, done)


@pytest.mark.parametrize(("release", "is_right"), [("7.2.22 (Debian 1:7.2+dfsg)", False), ("10.0.2", True)])
def test_emulators_that_multiply_wrongly_are_named(
    release: str, is_right: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "qemu-aarch64"
    program.write_text(f"#!/bin/sh\necho qemu-aarch64 version '{release}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert subprocess.run(["qemu-aarch64"], check=True, capture_output=True).stdout
    reason = runner.why_not_verified(targets.load(NAME))
    assert (reason == "") == is_right
    assert is_right or "qemu-aarch64 10 or later, this one is 7" in reason
    assert runner.why_not_here(targets.load(NAME)) == ""
