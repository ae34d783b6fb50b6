"""Kernels for Cortex-M0+ and M3, on an emulated board: the integers of the simulator, always."""

import re
from pathlib import Path

import pytest
from support import integer_families as families
from support.board_families import residuals
from support.boards import check, drive, load
from support.integer_bench import Bench, Family, Seeded
from support.tools import require_shared

from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize

LEVEL = {"size": "-Os", "speed": "-O3"}
FAMILIES: tuple[Family, ...] = (
    families.convolutions,
    families.channels_first_convolutions,
    families.grouped_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    residuals,
)


def kernels(program: Program) -> set[str]:
    """The functions that are called, without their rule."""
    names = {line.kernel.function for line in program.lines}
    return {re.sub(r"_(s8|tfl|tflm|up|once|e|plain)(?=_)", "", name) for name in names}


@pytest.mark.parametrize("compiler", ["zig", "arm-none-eabi-gcc"])
@pytest.mark.parametrize(("name", "optimize"), [("cortex-m0plus", "size"), ("cortex-m3", "speed")])
def test_integers_of_any_shape(name: str, optimize: Optimize, compiler: str, tmp_path: Path) -> None:
    bench = Bench(Seeded(6 + len(compiler)))
    for i in range(60 if optimize == "size" else 36):
        bench.case(FAMILIES[i % len(FAMILIES)])
    program = compile_graph(bench.graph(), load(name, compiler))
    best = program.target.isa[0]
    expected = {f"ek_{layer}__{best}" for layer in ("conv2d", "dense", "depthwise2d")}
    assert expected <= kernels(program), kernels(program)
    check(program, drive(program, tmp_path, optimize, LEVEL[optimize]), [bench.inputs])


@pytest.mark.parametrize("network", ["kws_ref_model", "ad01_int8"])
@pytest.mark.parametrize("name", ["cortex-m0plus", "cortex-m3"])
def test_networks_of_int8(name: str, network: str, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, load(name, "zig"))
    check(program, drive(program, tmp_path, "speed", "-O3"), [simulate.random_inputs(graph, 0)])
