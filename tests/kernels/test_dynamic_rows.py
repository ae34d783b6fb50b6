"""Layers of rows that are quantized in each run, on processors with vectors: the bits of the simulator."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.each_target import DYNAMIC_ROWS, drive, load, run_both, whole_and_in_parts
from support.tools import require

from edgekit.codegen.compilation.wasm import wants_exact
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.dynamic_rows import DynamicDense
from edgekit.core.target import Target
from edgekit.core.types import Array, DType, Type

FLOATS = (DType.F32, DType.F16, DType.BF16)


def layers(*dtypes: DType) -> tuple[Graph, dict[str, Array]]:
    """Rows: one, some, tiles and a rest. Groups: one and several, a shorter last one. Outputs: blocks and
    rests. The first rows and weights are the least that there are, and the largest."""
    builder, numbers = Builder(), np.random.default_rng(5)
    given: dict[str, Array] = {}
    outputs: list[str] = []
    groups = ((8, 8), (40, 16), (64, 32), (104, 64), (168, 168))
    cases = product((1, 2, 4, 8, 13), groups, dtypes)
    for i, (rows, (inputs, group), dtype) in enumerate(cases):
        words = (1, 7, 16, 32, 35, 64)[i % 6]
        least, most = -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
        q = numbers.integers(-128, 128, (rows, inputs)).astype(np.int8)
        w = numbers.integers(least, most + 1, (words, inputs))
        q[0], w[0], w[-1] = -128, least, most if words > 1 else least
        x = builder.input(f"x{i}", Type(DType.S8, q.shape))
        s = builder.input(f"s{i}", Type(DType.F32, (rows,)))
        given[x], given[s] = q, numbers.uniform(0.001, 0.1, rows).astype(np.float32)
        scale = numbers.uniform(0.01, 0.02, (words, -(-inputs // group))).astype(FLOATS[i // 2 % 3].numpy)
        bias = builder.const(numbers.normal(size=words).astype(np.float32))
        layer = DynamicDense(group, *((-0.5, 6.0) if i % 3 == 0 else ()))
        outputs += builder.add(layer, x, s, builder.const(w.astype(dtype.numpy)), builder.const(scale), bias)
    return builder.graph("layers", list(given), outputs), given


@pytest.mark.parametrize("name", DYNAMIC_ROWS)
def test_rows_of_bytes_and_nibbles(name: str, tmp_path: Path) -> None:
    """As a whole, and in parts in the wrong order."""
    graph, given = layers(DType.S8, DType.S4)
    programs = whole_and_in_parts(graph, load(name))
    for program in programs:
        called = {k.function for k in program.kernels if k.name.startswith("dynamic_dense")}
        assert len(called) == 6
        assert all(function.endswith(f"__{DYNAMIC_ROWS[name]}") for function in called)
    assert any(line.call.parts for line in programs[1].lines)
    check(graph, given, *run_both(programs, given, tmp_path, ("-O2",)))


@pytest.mark.parametrize("bits", [128, 512])
def test_vectors_of_risc_v_of_other_lengths(bits: int, tmp_path: Path) -> None:
    """The binary is the same: a block of outputs is several vectors, or a part of one."""
    target = load("riscv64-rvv")
    runner = target.runner.replace("vlen=256", f"vlen={bits}")
    assert f"vlen={bits}" in runner
    graph, given = layers(DType.S8, DType.S4)
    programs = whole_and_in_parts(graph, targets.with_runner(target, runner))
    check(graph, given, *run_both(programs, given, tmp_path, ("-O2",)))


def in_engine(runner: str) -> Target:
    if runner != "wasmtime":
        require(runner)
    return targets.with_runner(load("wasm32-relaxed"), runner)


@pytest.mark.parametrize("runner", ["wasmtime", "chromium"])
def test_nibbles_are_exact_in_every_engine(runner: str, tmp_path: Path) -> None:
    """Weights of 4 bits are seven-bit factors of relaxed products: no engine is asked how it takes others."""
    graph, given = layers(DType.S4)
    program = compile_graph(graph, in_engine(runner))
    assert not wants_exact(program)
    check_alone(program, given, tmp_path)


@pytest.mark.parametrize("runner", ["node", "chromium"])
def test_bytes_where_an_engine_takes_them_as_unsigned(runner: str, tmp_path: Path) -> None:
    graph, given = layers(DType.S8)
    program = compile_graph(graph, in_engine(runner))
    assert wants_exact(program)
    try:
        check_alone(program, given, tmp_path)
    except EdgeKitError as error:
        if error.code != "E0503":  # that products are not exact on this processor
            raise


def check_alone(program: Program, given: Mapping[str, Array], folder: Path) -> None:
    check(program.graph, given, drive(program, folder, ("-O2",)).run(program, given))


def check(graph: Graph, given: Mapping[str, Array], *results: Mapping[str, Array]) -> None:
    expected = simulate.run(graph, given)
    for output, found in product(graph.outputs, results):
        np.testing.assert_array_equal(found[output], expected[output], err_msg=output)
