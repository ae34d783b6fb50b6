"""Layers of rows that are quantized in each run, on emulated boards: the bits of the simulator."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.boards import check, drive, load
from support.called import kernels

from edgekit.codegen.printing.render import Optimize
from edgekit.codegen.program import compile_graph
from edgekit.core.builder import Builder
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.types import DType, Type

LARGEST = 512  # weights of a group, of which sums times 256 have 31 bits


@pytest.mark.parametrize(
    ("name", "optimize", "level"), [("cortex-m4", "size", "-Os"), ("cortex-m7", "speed", "-O2")]
)
def test_sums_of_pairs(name: str, optimize: Optimize, level: str, tmp_path: Path) -> None:
    """Blocks of eight outputs and rests, one group and several, a shorter last one; and the largest sums."""
    builder, numbers = Builder(), np.random.default_rng(5)
    given, outputs = {}, []
    shapes = [*product((1, 7, 8, 17), ((4, 4), (36, 16), (24, 1000))), (3, (LARGEST, LARGEST))]
    for i, (words, (inputs, group)) in enumerate(shapes):
        x = builder.input(f"x{i}", Type(DType.F32, (2, inputs)))
        w = numbers.integers(-127, 128, (words, inputs))
        given[x] = numbers.normal(size=(2, inputs)).astype(np.float32)
        if inputs == LARGEST:
            w[0], w[1], given[x][0], given[x][1] = -127, 127, 1, -1
        scale = numbers.uniform(0.01, 0.02, (words, -(-inputs // group)))
        scale = scale.astype(np.float16 if i % 2 else np.float32)
        bias = builder.const(numbers.normal(size=words).astype(np.float32))
        rows = builder.add(QuantizeRows(), x)
        layer = DynamicDense(group, *((0.0, 6.0) if i % 3 == 0 else ()))
        outputs += builder.add(layer, *rows, builder.const(w.astype(np.int8)), builder.const(scale), bias)
    program = compile_graph(builder.graph("layers", list(given), outputs), load(name, "zig"))
    assert {k.name for k in program.kernels if k.function.endswith("__dsp")} == {
        "dynamic_dense_s8_f16",
        "dynamic_dense_s8_f32",
    }
    check(program, drive(program, tmp_path, optimize, level), [given])


def test_weights_that_leave_pairs_take_portable_code() -> None:
    builder = Builder()
    x = builder.input("x", Type(DType.F32, (1, 8)))
    w, scale = builder.const(np.full((2, 8), -128, np.int8)), builder.const(np.ones((2, 1), np.float32))
    rows = builder.add(QuantizeRows(), x)
    y = builder.add(DynamicDense(8), *rows, w, scale, builder.const(np.zeros(2, np.float32)))
    program = compile_graph(builder.graph("layer", [x], y), load("cortex-m7", "zig"))
    assert not kernels(program, "dsp")
