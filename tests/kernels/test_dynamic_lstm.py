"""Long short-term memory with dynamic quantization, on processors with vectors: the simulator's results."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.each_target import drive, load, with_kernel

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ops.dynamic_quantize import DynamicQuantizeLstm
from edgekit.core.types import Array, DType, Type

SETS = with_kernel("dynamic_quantize_lstm")
# Of results, which are sums of two products of numbers below 1; sums of integers are exact.
TOLERANCE = 4e-6


@pytest.mark.parametrize("name", SETS)
def test_states_of_whole_blocks(name: str, tmp_path: Path) -> None:
    """States of one sign and of both, weights with zero points; one step, and several both ways."""
    builder, numbers = Builder(), np.random.default_rng(11)
    given: dict[str, Array] = {}
    outputs: list[str] = []

    def operand(x: Array) -> str:
        found = builder.input(f"x{len(given)}", Type(DType.F32, x.shape))
        given[found] = x.astype(np.float32)
        return found

    for i, (size, batch, steps) in enumerate(product((16, 32, 48, 64), (1, 3), (1, 4))):
        r = numbers.integers(-128, 128, (4 * size, size)).astype(np.int8)
        r[0], r[1] = -128, 127
        zero = numbers.integers(-20, 20, 4 * size).astype(np.int32)
        scale = numbers.uniform(1e-4, 3e-3, 4 * size).astype(np.float32)
        h = numbers.uniform((-1, 0, -1)[i % 3], (1, 1, -0.2)[i % 3], (batch, size))
        x, c = numbers.normal(size=(steps, batch, 4 * size)), numbers.normal(size=(batch, size))
        constants = [builder.const(each) for each in (r, scale, zero)]
        layer = DynamicQuantizeLstm(reverse=i % 4 > 1)
        outputs += builder.add(layer, operand(x), *constants, operand(h), operand(c))
    program = compile_graph(builder.graph("layers", list(given), outputs), load(name))
    called = {k.function for k in program.kernels if k.name.startswith("dynamic_quantize_lstm")}
    assert called == {f"ek_dynamic_quantize_lstm__{SETS[name]}"}
    found, expected = (
        drive(program, tmp_path, ("-O2",)).run(program, given),
        simulate.run(program.graph, given),
    )
    for output in (port.name for port in program.outputs):
        np.testing.assert_allclose(found[output], expected[output], rtol=0, atol=TOLERANCE, err_msg=output)


@pytest.mark.parametrize(("name", "size"), [("x86-64-avx2", 40), ("x86-64-avx512", 24), ("riscv64-rvv", 32)])
def test_other_states_take_portable_c(name: str, size: int) -> None:
    builder = Builder()
    x, h, c = (
        builder.input(f"x{i}", Type(DType.F32, shape))
        for i, shape in enumerate(((2, 1, 4 * size), (1, size), (1, size)))
    )
    r, scale = np.ones((4 * size, size), np.int8), np.ones(4 * size, np.float32)
    constants = [builder.const(each) for each in (r, scale, np.zeros(4 * size, np.int32))]
    outputs = builder.add(DynamicQuantizeLstm(), x, *constants, h, c)
    program = compile_graph(builder.graph("layer", [x, h, c], outputs), load(name))
    assert {k.function.rpartition("__")[2] for k in program.kernels if "lstm" in k.name} == {"ref"}
