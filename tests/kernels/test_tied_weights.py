"""Tables that are layers, too: stored once, as the layer's kernel reads them, and looked up there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import boards, tied_tables, x86

from edgekit.codegen.lowering.tied_weights import RowBlocks, row_blocks
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.target import Optimize
from edgekit.core.types import DType, Type

LOOKUPS = ("gather_rows", "gather_groupwise", "gather_groupwise_symmetric")


def constants(program: Program, kernels: tuple[str, ...]) -> Iterator[set[str]]:
    """The matrices that calls of these kernels read."""
    for line in program.lines:
        if line.call.kernel.startswith(kernels):
            matrices = [a.value.data is not None and a.type.rank == 2 for a in line.call.args]
            yield {o.place.name for o, is_matrix in zip(line.operands, matrices, strict=False) if is_matrix}


@pytest.mark.parametrize(
    ("name", "optimize"),
    [("cortex-m7", "size"), ("x86-64-avx2", "size"), ("x86-64", "speed")],
)
def test_rows_are_looked_up_as_layers_read_them(name: str, optimize: Optimize, tmp_path: Path) -> None:
    tables = tied_tables.tables()
    if name != "x86-64-avx2":
        tables.plain(35, 2, DType.F16)
    support: Any = boards if name.startswith("cortex") else x86
    program = compile_graph(tables.graph(), support.load(name, "zig" if support is boards else "gcc"))
    lookups, layers = constants(program, LOOKUPS), constants(program, ("dense", "dynamic_dense"))
    assert list(lookups) == list(layers)
    assert program.repeated_weights == {}
    level = ("-O2",) if support is boards else ()
    driver = support.drive(program, tmp_path, optimize, *level)
    found, expected = driver.run(program, tables.inputs), simulate.run(program.graph, tables.inputs)
    for rows, products in zip(tables.outputs[::2], tables.outputs[1::2], strict=True):
        np.testing.assert_array_equal(found[rows], expected[rows], err_msg=rows)
        np.testing.assert_allclose(found[products], expected[products], rtol=1e-5, atol=1e-5)


def test_a_layout_in_another_order_is_a_second_copy(tmp_path: Path) -> None:
    """Halves of 16 outputs alternate where AVX2 reads weights of 16 bits."""
    tables = tied_tables.Tables()
    tables.plain(64, 1, DType.BF16)
    program = compile_graph(tables.graph(), x86.load("x86-64-avx2"))
    assert list(program.repeated_weights.values()) == [64 * tied_tables.WIDTH * 2]
    driver = x86.drive(program, tmp_path, "size")
    rows = tables.outputs[0]
    expected = simulate.run(program.graph, tables.inputs)[rows]
    np.testing.assert_array_equal(driver.run(program, tables.inputs)[rows], expected)


def test_equal_numbers_are_one_table() -> None:
    builder = Builder()
    data = np.arange(64, dtype=np.float32).reshape(16, 4)
    x, at = builder.input("x", Type(DType.F32, (1, 4))), builder.input("at", Type(DType.S32, (1, 1)))
    outputs = builder.add(Gather(0), builder.const(data), at)
    outputs += builder.add(Dense(), x, builder.const(data.copy()), builder.const(np.zeros(16, np.float32)))
    program = compile_graph(builder.graph("two", [x, at], outputs), boards.load("cortex-m7", "zig"))
    assert program.weight_bytes == data.nbytes + 16 * 4


@pytest.mark.parametrize(
    ("tag", "rows", "found"),
    [
        ("O/4! I o4", 8, RowBlocks(4, 4)),
        ("O/4! I o4", 9, RowBlocks(4, 4)),
        ("O/16 I o16", 37, RowBlocks(16, 5)),
        ("O/16!8 I o16", 37, RowBlocks(16, 8)),
        ("O/16!4 I o16", 41, RowBlocks(16, 12)),
        ("O/16!8 I o16(zip8)", 37, None),
        ("O/8! I/2! o8 i2", 37, RowBlocks(8, 8, 2)),
        ("O/8! I o8 : +8 u4", 8, None),
        ("O I", 8, None),
        ("O/4! I/16! i16/2(021346578a9bcedf) o4/2 i2 o2 : carry s8", 9, RowBlocks(4, 4, carry=1)),
        ("O/8! I/4! o8 i4", 9, RowBlocks(8, 8, 4)),
        ("O/16! I/8! o16 i8", 9, RowBlocks(16, 16, 8)),
    ],
)
def test_which_layouts_put_rows_side_by_side(tag: str, rows: int, found: RowBlocks | None) -> None:
    assert row_blocks(tag, rows) == found
