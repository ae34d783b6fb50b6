"""Layers of rows that are quantized in each run, on emulated boards: the bits of the simulator."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.boards import check, drive, load
from support.called import kernels

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

TARGETS: tuple[tuple[str, str, Optimize, str], ...] = (
    ("cortex-m4", "zig", "size", "-Os"),
    ("cortex-m7", "zig", "speed", "-O2"),
    ("cortex-m33", "arm-none-eabi-gcc", "size", "-O1"),
    ("cortex-m55", "arm-none-eabi-gcc", "size", "-Os"),
    ("cortex-m55", "arm-none-eabi-gcc", "speed", "-O3"),
    ("cortex-m55", "zig", "size", "-Os"),
    ("cortex-m85", "zig", "speed", "-O2"),
)
HELIUM = ("cortex-m55", "cortex-m85")
LARGEST = 512  # weights of a group, of which sums times 256 have 31 bits


@pytest.mark.parametrize(("name", "compiler", "optimize", "level"), TARGETS)
def test_rows_of_bytes_and_nibbles(
    name: str, compiler: str, optimize: Optimize, level: str, tmp_path: Path
) -> None:
    """One row, two, three; blocks of four outputs and rests; one group, several, a shorter last one; largest
    sums, and results without a normal exponent."""
    builder, numbers = Builder(), np.random.default_rng(5)
    given, outputs = {}, []
    sizes = ((4, 4), (23, 1000), (36, 16), (64, 32), (80, 32))
    shapes = [*product((1, 6, 7, 8), sizes), (3, (LARGEST, LARGEST))]
    floats = (DType.F32, DType.F16, DType.BF16)
    for i, (rows, (words, (inputs, group)), dtype) in enumerate(
        product((1, 2, 3), shapes, (DType.S8, DType.S4))
    ):
        x = builder.input(f"x{i}", Type(DType.F32, (rows, inputs)))
        extreme = -128 if name in HELIUM and inputs == LARGEST else -127  # which leaves pairs elsewhere
        least, most = (extreme, 127) if dtype is DType.S8 else (-8, 7)
        w = numbers.integers(least, most + 1, (words, inputs))
        given[x] = numbers.normal(size=(rows, inputs)).astype(np.float32)
        if inputs == LARGEST:
            w[0], w[1], given[x][0], given[x][1:] = least, most, 1, -1
        scale = numbers.uniform(0.01, 0.02, (words, -(-inputs // group)))
        bias = numbers.normal(size=words).astype(np.float32)
        if i % 4 < 2:
            scale[-1], given[x][-1], bias[-1] = scale[-1] * 1e-7, given[x][-1] * 1e-35, 0
        scale = scale.astype(floats[i // 2 % 3].numpy)
        layer = DynamicDense(group, *((0.0, 6.0) if i % 5 == 0 else ()))
        w = builder.const(w.astype(dtype.numpy))
        outputs += builder.add(
            layer, *builder.add(QuantizeRows(), x), w, builder.const(scale), builder.const(bias)
        )
    program = compile_graph(builder.graph("layers", list(given), outputs), load(name, compiler))
    called = {k.function for k in program.kernels if k.name.startswith("dynamic_dense")}
    best = {function for function in called if function.endswith("__mve" if name in HELIUM else "__dsp")}
    assert len(best) == 12
    assert sum("two_rows" in function for function in best) == 6
    assert called == best or name in HELIUM  # where groups end within vectors
    check(program, drive(program, tmp_path, optimize, level), [given])


def test_weights_that_leave_pairs_take_portable_code() -> None:
    builder = Builder()
    x = builder.input("x", Type(DType.F32, (1, 8)))
    w, scale = builder.const(np.full((2, 8), -128, np.int8)), builder.const(np.ones((2, 1), np.float32))
    rows = builder.add(QuantizeRows(), x)
    y = builder.add(DynamicDense(8), *rows, w, scale, builder.const(np.zeros(2, np.float32)))
    program = compile_graph(builder.graph("layer", [x], y), load("cortex-m7", "zig"))
    assert set(kernels(program, "dsp")) == {"quantize_rows"}


@pytest.mark.parametrize(("name", "compiler", "optimize", "level"), TARGETS)
def test_rows_of_all_magnitudes(
    name: str, compiler: str, optimize: Optimize, level: str, tmp_path: Path
) -> None:
    """Halves that are rounded, rows of 0, of subnormals, with infinities and NaN; whole fours and not."""
    builder, numbers = Builder(), np.random.default_rng(6)
    given, outputs = {}, []
    for n in (4, 7, 24):
        x = builder.input(f"x{n}", Type(DType.F32, (8, n)))
        data = numbers.normal(size=(8, n)).astype(np.float32)
        data[1], data[2], data[3] = data[1] * 1e-42, data[2] * 1e38, np.arange(n) / 2
        data[3, 0] = -127
        data[4], data[5, 1], data[6, 2], data[7] = 0, np.inf, np.nan, -(data[7] ** 2)
        data[7, 0] *= np.float32(1e-40)
        given[x] = data
        outputs += builder.add(QuantizeRows(), x)
    program = compile_graph(builder.graph("rows", list(given), outputs), load(name, compiler))
    assert kernels(program, "mve" if name in HELIUM else "dsp") == {
        "quantize_rows": 3 if name in HELIUM else 2
    }
    found, expected = (
        drive(program, tmp_path, optimize, level).run(program, given),
        simulate.run(program.graph, given),
    )
    for output in outputs:
        np.testing.assert_array_equal(found[output], expected[output], err_msg=output)
