"""Where layers are cut into parts, and what parts of a call read and write."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from support.each_target import TARGETS, load
from support.edge_families import FAMILIES, long_lines
from support.integer_bench import Bench, Seeded, drawn

from edgekit.codegen.kernels import contracts
from edgekit.codegen.lowering.splits import ranges, splits, window, work
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ops import Call, Part
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.target import Target
from edgekit.core.types import DType, Type

HOST = targets.load("host")


def two(macs: int = 1) -> Target:
    return replace(HOST, cores=2, part_macs=macs)


@pytest.mark.parametrize(
    ("extent", "block", "count", "expected"),
    [
        (10, 1, 2, [(0, 5), (5, 10)]),
        (7, 1, 3, [(0, 2), (2, 4), (4, 7)]),
        (100, 64, 4, [(0, 64), (64, 100)]),
        (64, 64, 4, [(0, 64)]),
        (1, 1, 2, [(0, 1)]),
    ],
)
def test_ranges_are_equal_blocks(
    extent: int, block: int, count: int, expected: list[tuple[int, int]]
) -> None:
    assert ranges(extent, block, count) == expected


def windows(in_h: int, out_h: int, kernel: int, stride: int, pad: int, dilation: int) -> dict[str, int]:
    sizes = {"in_h": in_h, "in_w": 5, "in_c": 3, "out_h": out_h, "k_h": kernel}
    return sizes | {"stride_h": stride, "pad_top": pad, "dilation_h": dilation}


@pytest.mark.parametrize(("kernel", "stride", "pad", "dilation"), [(3, 1, 1, 1), (5, 2, 2, 1), (3, 1, 2, 2)])
def test_a_part_of_an_image_has_the_rows_that_its_windows_read(
    kernel: int, stride: int, pad: int, dilation: int
) -> None:
    in_h = 24
    out_h = (in_h + 2 * pad - (kernel - 1) * dilation - 1) // stride + 1

    def rows(h: int, top: int, size: int) -> list[int]:
        taps = (h * stride - top + i * dilation for i in range(kernel))
        return [row for row in taps if 0 <= row < size]

    params = windows(in_h, out_h, kernel, stride, pad, dilation)
    for start, end in ranges(out_h, 1, 5):
        skipped, part = window(params, start, end)
        first, rest = divmod(skipped, 15)
        assert rest == 0
        for h in range(start, end):
            here = rows(h - start, int(str(part["pad_top"])), int(str(part["in_h"])))
            assert [first + row for row in here] == rows(h, pad, in_h)


def net(shape: Sequence[int], channels: int = 8) -> Builder:
    b = Builder()
    x = b.input("x", Type(DType.F32, tuple(shape)))
    w = b.const(np.ones((channels, 3, 3, shape[-1]), np.float32))
    b.one(Conv2d(pads=(1, 1, 1, 1)), x, w, b.const(np.zeros(channels, np.float32)))
    return b


def compiled(b: Builder, target: Target) -> Program:
    last = next(reversed(b.values))
    return compile_graph(b.graph("net", ["x"], [last]), target)


def test_small_layers_stay_whole() -> None:
    program = compiled(net((1, 32, 32, 4)), HOST)
    cost = work(program.lines[0].call)
    for least, parts in ((cost // 2, 2), (cost // 2 + 1, 0)):
        line = compiled(net((1, 32, 32, 4)), two(least)).lines[0]
        assert len(line.call.parts) == parts


def test_a_result_lies_over_its_operand_only_where_parts_read_what_they_write() -> None:
    def elementwise() -> Builder:
        b = Builder()
        b.input("x", Type(DType.F32, (1, 4096)))
        return b

    b = elementwise()
    y = b.one(Tanh(), b.one(Tanh(), "x"))
    b.one(Tanh(), y)
    assert (
        compiled(b, two()).arena.size == compiled(b, HOST).arena.size
    )  # each in the place of the one before


def test_the_result_of_windows_lies_over_no_image_that_parts_read() -> None:
    """Where one part writes, windows of another still read the rows beside theirs."""
    whole, parted = (compiled(net((1, 32, 32, 8)), target).lines[0].call for target in (HOST, two()))
    assert whole.overlap is not None
    assert parted.parts
    assert parted.overlap is None


def test_each_part_has_working_memory_of_its_own() -> None:
    target = replace(targets.load("x86-64-avx2"), cores=3, part_macs=1)
    call = compiled(net((1, 48, 48, 8)), target).lines[0].call
    assert len(call.parts) == 3
    assert all(part.scratch % target.align == 0 for part in call.parts)
    assert call.scratch == sum(part.scratch for part in call.parts) > 0


def test_contracts_name_their_own_operands_and_parameters() -> None:
    tagged = [name for name in contracts.headers() if contracts.splits(name)]
    assert len(tagged) > 40
    for name in tagged:
        for split in splits(name):
            assert split.axis in contracts.fields(contracts.header(name)) | {"pixels"}
        assert "@split" not in contracts.header(name)


def test_without_cores_nothing_is_said_of_parts() -> None:
    files = render(compiled(net((1, 32, 32, 4)), HOST), "speed")
    assert not [path for path, text in files.items() if b"ek_pool" in text or b"_parallel" in text]


def test_all_parts_write_all_of_a_result_once() -> None:
    for line in compiled(net((1, 32, 32, 4)), two()).lines:
        starts = [part.shifts[-1] for part in line.call.parts]
        assert starts == sorted(set(starts))


def product(matrices: int, rows: int) -> tuple[Part, ...]:
    b = Builder()
    for name, shape in (("x", (matrices, rows, 64)), ("y", (matrices, 64, 80))):
        b.input(name, Type(DType.F32, shape))
    z = b.one(MatMul(), "x", "y")
    return compile_graph(b.graph("net", ["x", "y"], [z]), two()).lines[0].call.parts


def test_matrices_are_cut_by_rows_where_parts_of_whole_ones_are_unequal() -> None:
    rows = product(3, 197)
    assert [part.params["rows"] for part in rows] == [98, 99]
    assert rows[1].shifts == (98 * 64, 0, 98 * 80)
    assert [part.params["n"][-1:] for part in product(4, 197)] == [[2], [2]]
    assert [part.params["n"][-1:] for part in product(3, 3)] == [[1], [2]]


def test_what_all_outputs_share_is_not_cut() -> None:
    """Rule E has one exponent for all outputs of a layer, others one for each."""
    bench = Bench(Seeded(1))
    long_lines(bench)
    program = compile_graph(bench.graph(), replace(targets.load("cortex-m4"), cores=4, part_macs=1))
    found = 0
    for line in program.lines:
        for arg, shifts in zip(
            line.call.args, zip(*(p.shifts for p in line.call.parts), strict=True), strict=False
        ):
            if arg.type.size == 1:
                found += 1
                assert set(shifts) == {0}
    assert found


def dense_call(rows: int, outputs: int, target: Target, inputs: int = 288) -> Call:
    b = Builder()
    x = b.input("x", Type(DType.F32, (rows, inputs)))
    b.one(Dense(), x, b.const(np.ones((outputs, inputs), np.float32)), b.const(np.zeros(outputs, np.float32)))
    return compiled(b, target).lines[0].call


def test_parts_share_the_smaller_of_input_and_weights() -> None:
    """Few rows are read by all parts, each with its columns of the weights; of many rows each has its own."""
    few, many = dense_call(16, 768, two()), dense_call(768, 16, two())
    assert [part.columns for part in many.parts] == [None, None]
    columns = [part.columns for part in few.parts]
    assert [(c.start, c.count, c.rows, c.stride) for c in columns if c] == [
        (0, 384, 16, 768),
        (384, 384, 16, 768),
    ]
    assert [part.shifts for part in few.parts] == [(0, 0, 0, 0), (0, 384 * 288, 384, 384)]
    assert few.inplace == ()
    assert few.scratch == 16 * 768 * 4  # where the columns are computed


def test_one_row_is_written_where_it_belongs() -> None:
    parts = dense_call(1, 768, two()).parts
    assert [part.params["outputs"] for part in parts] == [384, 384]
    assert [part.columns for part in parts] == [None, None]


def test_small_images_of_many_channels_are_split_by_outputs() -> None:
    """Seven rows make no halves, and the weights are most of what is read."""
    for size, has_columns in ((7, True), (64, False)):
        call = compiled(net((1, size, size, 64), 64), two()).lines[0].call
        assert len(call.parts) == 2
        assert all(bool(part.columns) == has_columns for part in call.parts)


@pytest.mark.parametrize("name", TARGETS)
def test_columns_are_split_on_every_instruction_set(name: str) -> None:
    """Which the tests of edges run, with all numbers of threads."""
    program = compile_graph(drawn(FAMILIES, 1)[0], replace(load(name), cores=4, part_macs=1))
    split = {line.call.kernel for line in program.lines for part in line.call.parts if part.columns}
    assert {"dense_int", "conv2d_int"} <= split
