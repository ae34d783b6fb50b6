"""Kernels of 64-bit ARM, under its emulator: the integers of the simulator, for random shapes and whole networks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support.integer_bench import Bench, Family, Seeded
from support.tools import require, require_shared

from edgekit import simulate
from edgekit import target as targets
from edgekit.codegen import toolchain
from edgekit.codegen.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import Optimize, render, sources
from edgekit.converters.from_tflite import convert
from edgekit.passes.simplify import simplify
from edgekit.target import Target

TARGETS = ("aarch64", "aarch64-dotprod", "aarch64-i8mm")
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-ffp-contract=off")
LEVEL = {"size": "-Os", "speed": "-O2"}
FAMILIES: tuple[Family, ...] = (
    families.convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    families.sums,
)
NETWORKS = ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")


def load(name: str) -> Target:
    """A target with the plain compiler, which links in a moment."""
    require("qemu-aarch64")
    require("aarch64-linux-gnu-gcc")
    target = targets.load(name)
    return replace(target, compilers=tuple(c for c in target.compilers if "gcc" in c))


def drive(programs: Sequence[Program], folder: Path, optimize: Optimize) -> Driver:
    wanted: dict[str, None] = {}
    for program in programs:
        files = render(program, optimize)
        write({path: data for path, data in files.items() if not (folder / path).exists()}, folder)
        wanted |= dict.fromkeys(sources(files, optimize))
    compiler = toolchain.find(programs[0].target)
    return Driver(programs, list(wanted), folder, compiler, [LEVEL[optimize], *STRICT])


def integers(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        bench.case(FAMILIES[i % len(FAMILIES)])
    return bench


@pytest.mark.parametrize("optimize", ["size", "speed"])
@pytest.mark.parametrize("name", TARGETS)
def test_integers_of_any_shape(name: str, optimize: Optimize, tmp_path: Path) -> None:
    target = load(name)
    bench = integers(2026, 120 if optimize == "size" else 25)
    graph = bench.graph()
    program = compile_graph(graph, target)
    found = drive([program], tmp_path, optimize).run(program, bench.inputs)
    expected = simulate.run(graph, bench.inputs)
    for output in bench.outputs:
        assert np.array_equal(found[output], expected[output]), output


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("name", TARGETS)
def test_networks_of_int8(name: str, network: str, tmp_path: Path) -> None:
    target = load(name)
    graph = simplify(convert(require_shared(f"models/mlperf_tiny/{network}.tflite")))
    program = compile_graph(graph, target)
    driver = drive([program], tmp_path, "speed")
    for seed in range(3):
        sample = simulate.random_inputs(graph, seed)
        found, expected = driver.run(program, sample), simulate.run(graph, sample)
        for output in graph.outputs:
            assert np.array_equal(found[output], expected[output])
