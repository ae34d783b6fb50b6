"""Forged files of quantized graphs: scales, zero points and axes that cannot be are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.ek_files import edit, refused

from edgekit.core import ek_file, flatbuffer, simulate
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.types import DType, Quant, Type, Value

Q = Quant((0.05,), (3,))


@pytest.fixture
def int8_graph() -> Graph:
    """x -> integers q -> layer y -> sum s -> floats z."""
    b = Builder()
    x = b.input("x", Type(DType.F32, (1, 4)))
    (q,) = b.add(Quantize(), x, names=("q",), quant=Q)
    weights = Quant((0.01, 0.02, 0.03), (0, 0, 0), 0)
    for name, data, quant in (
        ("w", np.arange(12).reshape(3, 4).astype(np.int8), weights),
        ("b", np.arange(3).astype(np.int32), None),
    ):
        b.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
    (y,) = b.add(Dense(), q, "w", "b", names=("y",), quant=Q)
    (s,) = b.add(Add(), y, y, names=("s",), quant=Q)
    return b.graph("net", ["x"], [b.one(Dequantize(), s, name="z")])


@pytest.fixture
def int8_path(tmp_path: Path, int8_graph: Graph) -> Path:
    ek_file.save(int8_graph, tmp_path / "net.ek")
    return tmp_path / "net.ek"


def quant(name: str, **change: Any) -> Callable[[flatbuffer.Record], None]:
    """Change what the integers of a value stand for."""
    return lambda record: of(record, name)["quant"].update(change)


def no_quant(name: str) -> Callable[[flatbuffer.Record], None]:
    return lambda record: of(record, name).update(quant=None)


def new_quant(name: str) -> Callable[[flatbuffer.Record], None]:
    one = {"scale": [1.0], "zero": [0], "axis": -1, "rounding": "E"}
    return lambda record: of(record, name).update(quant=one)


def of(record: flatbuffer.Record, name: str) -> flatbuffer.Record:
    """The record of a value."""
    (found,) = (value for value in record["values"] if value["name"] == name)
    return found  # type: ignore[no-any-return]  # records hold anything


FORGERIES: dict[str, tuple[str, Callable[[flatbuffer.Record], None]]] = {
    "scale zero": ("q has the scale 0.0", quant("q", scale=[0.0])),
    "scale negative": ("q has the scale -0.05", quant("q", scale=[-0.05])),
    "scale NaN": ("q has the scale nan", quant("q", scale=[float("nan")])),
    "scale infinite": ("q has the scale inf", quant("q", scale=[float("inf")])),
    "one scale of many negative": ("w has the scale -1.0", quant("w", scale=[0.1, 0.1, -1.0])),
    "zero point too large": ("q has the zero point 128, which s8 cannot hold", quant("q", zero=[128])),
    "zero point too small": ("q has the zero point -129", quant("q", zero=[-129])),
    "zero point huge": ("q has the zero point 2147483647", quant("q", zero=[(1 << 31) - 1])),
    "rounding unknown": ("q is rounded by the unknown rule 'up'", quant("q", rounding="up")),
    "no scale at all": ("q has 0 scales and 0 zero", quant("q", scale=[], zero=[])),
    "zero points missing": ("w has 3 scales and 1 zero", quant("w", zero=[0])),
    "wrong axis": ("w has 3 scales and 3 zero points, not 4", quant("w", axis=1)),
    "axis not there": ("w is quantized along axis 2", quant("w", axis=2)),
    "axis negative": ("w is quantized along axis -2", quant("w", axis=-2)),
    "computed along an axis": ("q has a scale for each channel", quant("q", axis=0)),
    "weights without scale": ("its weights w have no scale", no_quant("w")),
    "weights off centre": ("zero points of 0", quant("w", zero=[0, 1, 0])),
    "bias with scale": ("its bias b should hold integers of 32", new_quant("b")),
    "result without scale": ("its result y has no scale", no_quant("y")),
    "last result without scale": ("its result s has no scale", no_quant("s")),
    "floats with scale": ("x is quantized, but f32 holds no integers", new_quant("x")),
}


def test_forging_nothing_gives_the_same_graph(int8_path: Path, int8_graph: Graph) -> None:
    edit(int8_path, lambda record: None)
    assert ek_file.load(int8_path) == int8_graph


def test_scales_that_are_too_far_apart_are_no_bug(int8_path: Path) -> None:
    edit(int8_path, quant("y", scale=[1e-30]))
    graph = ek_file.load(int8_path)
    with pytest.raises(EdgeKitError, match="E0209 scales are too far apart"):
        simulate.run(graph, simulate.random_inputs(graph, 0))


def test_products_of_scales_that_leave_float32_are_no_bug() -> None:
    """LiteRT computes this ratio in float32."""
    types = [Type(DType.S8, (2,), Quant((scale,), (0,), rounding="tfl")) for scale in (1e30, 1e30, 1e-30)]
    operands = [Arg(name, Value(t)) for name, t in zip("aby", types, strict=True)]
    with np.errstate(all="raise"), pytest.raises(EdgeKitError, match="E0209 scales are too far apart"):
        Mul().lower(operands[:2], operands[2:])


@pytest.mark.parametrize("case", FORGERIES)
def test_forged_scales_are_refused(case: str, int8_path: Path) -> None:
    words, change = FORGERIES[case]
    edit(int8_path, change)
    assert refused(int8_path, "E0401", words).hint == "convert the model again"
