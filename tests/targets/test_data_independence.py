"""A run takes the same instructions whatever its data are, and the script that says so can tell when not."""

from support.command_line import DIGITS
from support.tools import require, require_module

from benchmarks.reliability.data_independence import spread
from edgekit import api
from edgekit import target as targets
from edgekit.builder import Builder
from edgekit.ir import DType, Type
from edgekit.ops.arithmetic import Add


def test_runs_of_int8_take_the_same_instructions_for_all_inputs() -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    graph = api.quantize_model(DIGITS / "digits.onnx", DIGITS / "calib.npz", calibrate="minmax", io="int8")[0]
    found = spread(graph, targets.load("cortex-m4"), 32)
    assert found.inputs == 32
    assert found.least == found.most > 100_000
    assert found.layers == ()


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
    ((origin, kernel, low, high),) = found.layers
    assert (origin, kernel) == ("sum", "ek_add_f32__ref")
    assert (low, high) == (found.least, found.most)
