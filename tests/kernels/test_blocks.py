"""Kernels that leave out whole blocks of weights that are zero come to the integers of the simulator."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support import boards, x86
from support.blocks import with_zeros
from support.integer_bench import Bench, Seeded
from support.tools import require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.kernels.pack import pack, stream_size
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.target import Optimize
from edgekit.core.tiles import occupied, zero_blocks
from edgekit.core.types import Array, DType


def sparse(b: Bench, tile: tuple[int, int], least: float, rows: int = 0) -> None:
    """A layer, fully connected or 1x1, with some blocks, few, none, or outputs that have none."""
    share, rng = b.pick((least, 0.75, 0.9, 1.0)), b.choices.generator()
    window = () if rows or b.is_rare(2) else (1, 1)
    inputs, outputs = 4 * b.size(20) if window else 4 * b.pick((16, 33, 80, 160)), b.size(40)
    w, _ = b.weights(DType.S8, outputs, *window, inputs)
    weights = with_zeros(b.integers((outputs, *window, inputs), DType.S8, -127), tile, share, rng)
    weights[rng.random(outputs) < 0.2] = 0
    bias = b.constant(rng.integers(-(2**12), 2**12, outputs).astype(np.int32))
    operands = (b.constant(weights, b.builder.type(w).quant), bias)
    if window:
        x = b.input(b.size(2), b.size(4), 1 + b.size(5), inputs)
        op = Conv2d((b.size(2), b.size(2)), (0, 0, 0, 0), (1, 1), 1, *b.limits())
        b.result(op, x, *operands, quant=b.quant(0, 6))
    else:
        b.result(Dense(*b.limits()), b.input(rows or b.size(3), inputs), *operands, quant=b.quant(0, 6))


def layers(
    seed: int, count: int, tile: tuple[int, int], least: float = 0.6, rows: Sequence[int] = ()
) -> tuple[Graph, dict[str, Array]]:
    """Layers of a few rows, and of as many as are named."""
    bench = Bench(Seeded(seed))
    for n in (*(0 for _ in range(count)), *rows):
        bench.case(partial(sparse, tile=tile, least=least, rows=n))
    return bench.graph(), bench.inputs


@pytest.mark.parametrize("compiler", ["zig", "arm-none-eabi-gcc"])
@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_on_cortex_m4(optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    graph, inputs = layers(11 + len(compiler), 40, (1, 4))
    small = {name: 0 for node in graph.nodes for name in node.outputs if optimize == "size"}
    program = compile_graph(graph, boards.load("cortex-m4", compiler), weight_limits=small)
    names = [line.kernel.name for line in program.lines]
    for kernel in ("dense", "conv2d"):
        mine = [name for name in names if name.startswith(kernel)]
        assert sum("_blocks" in name for name in mine) > len(mine) // 2, names
    level = {"size": "-Os", "speed": "-O2"}[optimize]
    boards.check(program, boards.drive(program, tmp_path, optimize, level), [inputs])


@pytest.mark.parametrize(("compiler", "optimize"), [("gcc", "size"), ("clang", "speed")])
@pytest.mark.parametrize(("name", "tile"), [("avx2", (8, 2)), ("avxvnni", (8, 4)), ("avx512", (16, 4))])
def test_on_x86(name: str, tile: tuple[int, int], optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    graph, inputs = layers(3 + len(compiler), 30, tile, rows=(5, 7, 12, 13, 21, 22))
    program = compile_graph(graph, x86.load(f"x86-64-{name}", compiler))
    called = x86.called(program)
    for kernel in ("dense", "conv2d"):
        assert any(kernel in function and "_blocks__" in function for function in called), called
    x86.check(program, x86.drive(program, tmp_path, optimize), [inputs])


@pytest.mark.parametrize(("name", "tile"), [("simd", (8, 2)), ("relaxed", (8, 4))])
def test_in_webassembly(name: str, tile: tuple[int, int], tmp_path: Path) -> None:
    require_module("ziglang")
    require_module("wasmtime")
    graph, inputs = layers(9, 40, tile)
    program = compile_graph(graph, targets.with_runner(targets.load(f"wasm32-{name}"), "wasmtime"))
    called = x86.called(program)
    for kernel in ("dense", "conv2d"):
        ending = f"_blocks__{name}".replace("simd", "wasm")
        assert any(kernel in function and function.endswith(ending) for function in called), called
    files = render(program, "speed")
    write(files, tmp_path)
    flags = ["-O2", *program.target.cflags, *boards.STRICT]
    compiler = toolchain.find(program.target)
    driver = Driver([program], list(sources(files)), tmp_path, compiler, flags)
    boards.check(program, driver, [inputs])


def test_blocks_are_taken_where_they_pay() -> None:
    rng = np.random.default_rng(0)
    for share, expected in ((0.3, False), (0.55, False), (0.75, True), (0.9, True)):
        bench = Bench(Seeded(1))
        w, bias = bench.weights(DType.S8, 64, 128)
        data = with_zeros(np.full((64, 128), 5, np.int8), (1, 4), share, rng)
        x = bench.input(1, 128)
        bench.result(
            Dense(), x, bench.constant(data, bench.builder.type(w).quant), bias, quant=bench.quant(0, 6)
        )
        (line,) = compile_graph(bench.graph(), targets.load("cortex-m4")).lines
        assert ("_blocks" in line.kernel.name) is expected, (share, line.kernel.name)


def test_layout() -> None:
    """Each row: half the number of its blocks, rounded up, then places and weights."""
    weights = np.zeros((3, 8), np.int8)
    weights[0, 4:] = (1, 2, 3, 4)
    weights[2] = range(10, 18)
    found = pack("blocks O/1! I/4! o1 i4 : s8", weights)
    assert found.dtype == np.int32
    rows = [[1, 4, 0x04030201, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0x0D0C0B0A, 4, 0x11100F0E]]
    assert found.tolist() == [word for row in rows for word in row]
    wide = pack("blocks O/1! I/4! o1 i4(0213) : s16 x2", weights)
    assert wide[:4].tolist() == [1, 4, 2 | 6 << 16, 4 | 8 << 16]


@pytest.mark.parametrize("tag", ["O/1! I/4! o1 i4 : s8", "O/1! I/4! o1 i4(0213) : s16 x2", "O/8! I/2! o8 i2"])
@pytest.mark.parametrize("share", [0.0, 0.9, 1.0])
def test_the_size_of_a_stream_is_known_without_packing(tag: str, share: float) -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(-9, 9, (19, 24), np.int8) * (rng.random((19, 24)) >= share).astype(np.int8)
    assert stream_size(f"blocks {tag}", weights) == pack(f"blocks {tag}", weights).size


def test_shares() -> None:
    weights = np.zeros((5, 1, 1, 6), np.int8)
    assert zero_blocks(weights, 2, 4) == 100
    weights[4, 0, 0, 5] = 1
    assert occupied(weights, 2, 4).tolist() == [[False, False], [False, False], [False, True]]
    assert zero_blocks(weights, 2, 4) == 83
    assert zero_blocks(None, 1, 4) == zero_blocks(np.zeros((0, 3), np.int8), 1, 4) == 0
