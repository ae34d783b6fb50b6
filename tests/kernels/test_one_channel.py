"""Long filters over one channel: as convolutions where those are cheaper, to the bit what is simulated."""

from pathlib import Path

import numpy as np
import pytest
from support.called import kernels
from support.each_target import drive, load, with_kernel
from support.integer_bench import Bench, drawn

from edgekit.codegen.program import compile_graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import DType

TARGETS = with_kernel("conv2d_int")
CONVOLVED = {"aarch64", "armv7-neon", "cortex-m55", "riscv64-rvv", "wasm32-simd"}
LONG = ((33, 2), (64, 2), (64, 5))  # terms and strides
OTHERS = ((3, 1), (5, 2), (9, 1))


def filters(b: Bench) -> None:
    for b.rounding in ("E", "tfl"):
        for terms, stride in (*LONG, *OTHERS):
            x = b.input(1, 1, 90, 1)
            before = terms // 2
            op = Conv2d(strides=(1, stride), pads=(0, before, 0, terms - 1 - before))
            b.result(op, x, *b.weights(DType.S8, 1, 1, terms, 1), quant=b.quant(0, 6))


@pytest.mark.parametrize("name", TARGETS)
def test_integers_are_those_of_the_simulator(name: str, tmp_path: Path) -> None:
    graph, inputs, expected = drawn((filters,), 1)
    program = compile_graph(graph, load(name))
    used = kernels(program, TARGETS[name])
    long = sum(count for kernel, count in used.items() if kernel.startswith("conv2d"))
    if name in CONVOLVED:
        assert long >= 2 * len(LONG), used
    results = drive(program, tmp_path).run(program, inputs)
    for output, y in expected.items():
        np.testing.assert_array_equal(results[output], y)
