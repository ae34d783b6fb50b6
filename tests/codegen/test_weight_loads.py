"""Bytes of weights that runs load: what kernel files say of them is what an emulator counts."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.each_target import load
from support.edge_families import FAMILIES
from support.integer_bench import drawn
from support.row_networks import random_row_network

import edgekit
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.elf import symbols
from edgekit.codegen.cost import counting
from edgekit.codegen.cost.bench import compiled
from edgekit.codegen.cost.weight_loads import WEIGHTS, loaded_bytes, total_loads
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Program, compile_graph

BOARDS = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55")


def counted(program: Program, folder: Path) -> dict[str, int]:
    """Bytes that a run loads of each constant."""
    executable = compiled(program, folder, toolchain.find(program.target), "size")
    at = symbols(executable.read_bytes())
    found = sorted((at[constant.c], constant.data.nbytes, constant.c) for constant in program.constants)
    watched = [(start, start + size) for start, size, _ in found]
    loaded = counting.count(program.target, executable, watched=watched).loaded
    return {name: count for (_, _, name), count in zip(found, loaded, strict=True)}


def stated(program: Program) -> dict[str, int]:
    """The same by kernel files, of weights; layers whose kernels do not say are left out."""
    found: Counter[str] = Counter()
    for line in program.lines:
        loads = loaded_bytes(line)
        for operand in line.operands:
            if operand.place.kind == "constant" and operand.pointer.name in WEIGHTS and loads is not None:
                found[operand.place.name] += loads
    return found


def check(program: Program, folder: Path) -> int:
    """Compares all weights; how many there are."""
    expected, found = stated(program), counted(program, folder)
    uses = Counter(line.kernel.name for line in program.lines)
    single = [line for line in program.lines if uses[line.kernel.name] == 1]
    alone = {operand.place.name for line in single for operand in line.operands}
    shared = {name: bytes for name, bytes in expected.items() if name not in alone}
    assert {name: found[name] for name in shared} == pytest.approx(shared, rel=0.005)
    # Compilers know the shapes of a kernel with one layer, and leave out what lies beyond borders.
    assert all(found[name] <= 1.005 * expected[name] for name in expected.keys() & alone)
    return len(expected)


@pytest.mark.parametrize("name", BOARDS)
def test_kernels_load_their_weights_as_often_as_their_files_say(name: str, tmp_path: Path) -> None:
    graph, _, _ = drawn(FAMILIES, 1)
    program = compile_graph(graph, replace(load(name), copies=0))  # what is specialised may load less
    assert check(program, tmp_path) > 100
    silent = {line.kernel.name for line in program.lines if loaded_bytes(line) is None}
    assert not [kernel for kernel in silent if "resample" not in kernel]


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m55"])
def test_blocks_of_rows_load_weights_once_more_each(name: str, tmp_path: Path) -> None:
    target, looped = replace(load(name), least_ram=True), 0
    for seed in range(4):
        program = compile_graph(random_row_network(seed), target)
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert check(program, folder)
        looped += any(line.rows for line in program.lines)
    assert looped


def test_the_report_says_what_a_run_loads(tmp_path: Path) -> None:
    graph = random_row_network(0)
    report = edgekit.build(graph, tmp_path / "out", target="cortex-m4")
    program = fit(graph, load("cortex-m4"))
    assert report.weight_load_bytes == total_loads(program.lines)
    assert report.weight_load_bytes == sum(layer.weight_load_bytes or 0 for layer in report.layers)
    assert report.weight_load_bytes > report.weight_bytes
