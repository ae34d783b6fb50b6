"""A run takes the same instructions whatever its data are, and the script that says so can tell when not."""

import pytest
from support.command_line import DIGITS
from support.tools import require, require_module

from benchmarks.reliability.data_independence import reasons, section, spread
from edgekit import api
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import DType, Quant, Type


def test_runs_of_int8_take_the_same_instructions_for_all_inputs() -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    graph = api.quantize_model(DIGITS / "digits.onnx", DIGITS / "calib.npz", calibrate="minmax", io="int8")[0]
    found = spread(graph, targets.load("cortex-m4"), 32)
    assert found.inputs == 32
    assert found.least == found.most > 100_000
    assert found.layers == ()


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m0plus"])
def test_shares_by_the_rule_of_tflite_take_the_same_instructions(name: str) -> None:
    """Exponentials that count and that do not, sums of all sizes: rows of equal numbers, and of extremes."""
    require("qemu-system-arm")
    require_module("ziglang")
    builder = Builder()
    quant = Quant((0.2,), (0,), None, "tfl")
    x, long = (builder.input(f"x{n}", Type(DType.S8, (1, n), quant)) for n in (10, 703))
    shares = Quant((1 / 256,), (-128,), None, "tfl")
    y, z = (builder.add(Softmax(), rows, quant=shares)[0] for rows in (x, long))
    wide = builder.add(Softmax(wide=True), x, quant=Quant((2.0**-16,), (-(2**15),), None, "tfl"))[0]
    found = spread(builder.graph("net", [x, long], [y, z, wide]), targets.load(name), 32)
    assert found.layers == ()
    assert found.least == found.most


def test_layers_that_vary_are_named() -> None:
    """Sums of floats branch on their operands where there is no floating point."""
    require("qemu-system-arm")
    require_module("ziglang")
    builder = Builder()
    x, y = (builder.input(name, Type(DType.F32, (1, 50))) for name in ("x", "y"))
    builder.origin = "sum"
    z = builder.one(Add(), x, y)
    found = spread(builder.graph("net", [x, y], [z]), targets.load("cortex-m0plus"), 16)
    assert found.least < found.most
    (layer,) = found.layers
    assert (layer.origin, layer.kernel) == ("sum", "ek_add_f32__ref")
    assert (layer.least, layer.most) == (found.least, found.most)
    assert layer.why == "floating point in software"
    assert "ek_add_f32__ref" in section([found])


def test_comparisons_and_divisions_are_told_apart() -> None:
    """The largest of a window is a branch where instructions have no conditions; a share is a division."""
    require_module("ziglang")
    builder = Builder()
    quant = Quant((0.2,), (0,))
    x, rows = (builder.input(n, Type(DType.S8, s, quant)) for n, s in (("x", (1, 4, 4, 3)), ("r", (1, 5))))
    y = builder.add(Pool2d("max", (2, 2), (2, 2)), x, quant=quant)[0]
    z = builder.add(Softmax(), rows, quant=Quant((1 / 256,), (-128,)))[0]
    program = compile_graph(builder.graph("net", [x, rows], [y, z]), targets.load("cortex-m0plus"))
    pool, shares = (line.c for line in program.lines)
    found = reasons(program, "speed")
    assert found[pool] == "branches on data"
    assert found[shares] == "division in software"
