"""Kernels of RISC-V with vectors: a program gives the integers of the simulator, however long vectors are."""

import copy
from pathlib import Path

import numpy as np
import pytest
from support import integer_families as families
from support import more_integer_families as more
from support.called import kernels
from support.each_target import load
from support.generated import STRICT, units, written
from support.integer_bench import Bench, Seeded
from support.tools import require_shared

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.printing.render import Optimize
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import with_runner
from edgekit.core.types import Array, DType

NAME = "riscv64-rvv"
LENGTHS = (128, 256, 512)


def many_outputs(b: Bench) -> None:
    """As many as two, four or eight registers hold, and one more or less; pixels of all tiles and rests."""
    outputs, kernel, channels = b.pick((15, 16, 17, 32, 33, 64, 65, 100, 130)), b.pick((1, 3)), b.size(9)
    w, bias = b.weights(DType.S8, outputs, kernel, kernel, channels)
    x = b.input(1, kernel + b.size(3), kernel + b.size(26), channels)
    op = Conv2d((1, b.size(2)), (b.size(2) - 1, b.size(2) - 1, 0, kernel - 1), (1, 1), 1, *b.limits())
    b.result(op, x, w, bias, quant=b.quant(-2, 6))


def many_rows(b: Bench) -> None:
    """Matrices of as many outputs, and of rows that are taken four at a time or one by one."""
    outputs, inputs = b.pick((15, 32, 33, 64, 65, 130)), b.size(20)
    w, bias = b.weights(DType.S8, outputs, inputs)
    b.result(Dense(*b.limits()), b.input(b.size(9), inputs), w, bias, quant=b.quant(-2, 6))


RANDOM = (
    many_outputs,
    many_rows,
    families.convolutions,
    families.grouped_convolutions,
    families.channels_first_convolutions,
    families.depthwise_convolutions,
    families.dense_layers,
    families.sums,
    families.products,
    families.means,
    families.averages,
    families.reals,
    more.norms,
)


def build(program: Program, folder: Path, optimize: Optimize) -> Driver:
    """Compiled with strict warnings."""
    names = units(written([program], folder, optimize), folder)
    return Driver([program], names, folder, toolchain.find(program.target), ["-O1", *STRICT])


def check(program: Program, driver: Driver, sample: dict[str, Array]) -> None:
    """The same executable on processors with vectors of all lengths."""
    expected = simulate.run(program.graph, sample)
    for bits in LENGTHS:
        target = load(NAME)
        longer = copy.copy(driver)
        longer.target = with_runner(target, target.runner.replace("vlen=256", f"vlen={bits}"))
        assert f"vlen={bits}" in longer.target.runner
        found = longer.run(program, sample)
        for output in program.graph.outputs:
            assert np.array_equal(found[output], expected[output]), (bits, program.graph.producer(output))


def random_layers(seed: int, count: int) -> Bench:
    bench = Bench(Seeded(seed))
    for i in range(count):
        bench.case(RANDOM[i % len(RANDOM)])
    return bench


@pytest.mark.parametrize(("optimize", "count"), [("size", 104), ("speed", 39)])
def test_integers_of_any_shape(optimize: Optimize, count: int, tmp_path: Path) -> None:
    bench = random_layers(2026, count)
    program = compile_graph(bench.graph(), load(NAME))
    taken = {name for name in kernels(program, "rvv") if name.startswith("conv2d_s8_tfl")}
    assert all(any(width in name for name in taken) for width in ("_oc16", "_oc64", "_right_shift")), taken
    check(program, build(program, tmp_path, optimize), bench.inputs)


def test_a_network_of_int8(tmp_path: Path) -> None:
    graph = simplify(convert(require_shared("models/mlperf_tiny/kws_ref_model.tflite")))
    program = compile_graph(graph, load(NAME))
    layers = [line for line in program.lines if line.macs]
    assert layers
    assert all(line.kernel.function.endswith("__rvv") for line in layers)
    check(program, build(program, tmp_path, "speed"), simulate.random_inputs(graph, 1))
