"""Programs that use every kernel: the cases of the operators, and int8 networks of one layer of each kind."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import numpy as np
from support.op_cases import as_graph
from support.rotary_and_swiglu import both
from support.tied_tables import tables
from support.tools import ROOT

from edgekit.codegen.program import Program, compile_graph
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import PRelu, Sigmoid
from edgekit.core.ops.arithmetic import Add, Clip, Mul
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.quantize import Dequantize, Quantize, Requantize
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.target import Target
from edgekit.core.types import DType, Quant, Type, Value


def programs(target: Target) -> list[Program]:
    """The names differ, so that they can be written into one folder."""
    return [compile_graph(graph, target) for graph in graphs()]


def graphs() -> Iterator[Graph]:
    for module in pkgutil.iter_modules([str(ROOT / "tests" / "ops" / "cases")]):
        cases = importlib.import_module(f"ops.cases.{module.name}").CASES
        yield as_graph(cases, f"ops_{module.name}")[0]
    yield tables().graph()
    yield both()
    for rounding in ("E", "tfl"):
        yield int8(rounding)


def int8(rounding: str) -> Graph:
    """Every operator that has integers of its own, with one of the two ways to round."""
    b = Builder()
    quant = Quant((0.05,), (3,), None, rounding)

    def constant(data: np.ndarray, quant: Quant | None) -> str:
        name = b.fresh("w")
        b.values[name] = Value(Type(DType.of(data.dtype), data.shape, quant), data)
        return name

    def layer(outputs: int, *shape: int) -> tuple[str, str]:
        scales = Quant((0.01,) * outputs, (0,) * outputs, 0, rounding)
        weights = constant(
            np.arange(outputs * np.prod(shape), dtype=np.int8).reshape(outputs, *shape), scales
        )
        return weights, constant(np.arange(outputs, dtype=np.int32), None)

    def add(op: object, *names: str, quant: Quant = quant) -> str:
        return b.add(op, *names, quant=quant)[0]  # type: ignore[arg-type]  # any operator

    def numbers(*counts: int) -> list[str]:
        return [b.const(np.linspace(0.5, 1, n, dtype=np.float32)) for n in counts]

    x = b.input("x", Type(DType.S8, (1, 6, 6, 4), quant))
    x_turned = b.one(Transpose((0, 1, 3, 2)), x)
    filtered = b.const(np.array([[0, 1], [4, 5]], np.int32)), b.const(np.full((2, 2), 0.5, np.float32))
    rows = b.input("rows", Type(DType.S8, (3, 20), quant))
    outputs = [
        add(Conv2d(), x, *layer(5, 3, 3, 4)),
        add(Conv2d(groups=4), x, *layer(4, 3, 3, 1)),
        add(Dense(), rows, *layer(7, 20)),
        add(Add(), x, x),
        add(Add(), x, add(Conv2d(), x, *layer(4, 1, 1, 4))),  # in one kernel
        add(Mul(), x, x),
        add(Clip(), x, b.const(np.float32(-1)), b.const(np.float32(1))),
        add(Pool2d("mean", (2, 2), (2, 2)), x),
        add(Pool2d("max", (2, 2), (2, 2)), x),
        add(Sigmoid(), x),
        add(Softmax(), rows, quant=Quant((1 / 256,), (-128,), None, rounding)),
        add(Requantize(), x, quant=Quant((0.1,), (-3,), None, rounding)),
        add(ConvTranspose2d((12, 12), (2, 2)), x, *layer(5, 2, 2, 4)),
        add(MatMul(), x, x_turned),
        add(MatMul(perm_b=(0, 1, 3, 2)), x, x),
        add(LayerNorm(1e-5), x, *numbers(4, 4)),
        add(RmsNorm(1e-5), x, *numbers(4)),
        add(Resample(1), x, *filtered),
        add(Reduce("sum", (1,)), x),
        add(PRelu(), x, *numbers(4)),
        b.one(Dequantize(), x),
        add(FlipSign(), x, quant=Quant((0.05,), (131,), None, rounding)),
    ]
    outputs.append(add(Quantize(), outputs[-2]))
    if rounding == "E":  # TFLite's rule has other kernels for these
        outputs.append(add(Pool2d("mean", (3, 3), pads=(1, 1, 1, 1)), x))
        outputs.append(add(Requantize(DType.S16), x, quant=Quant((0.01,), (0,), None, rounding)))
    else:
        wide = Quant((1 / 65536,), (-32768,), None, rounding)
        outputs.append(add(Softmax(wide=True), rows, quant=wide))
    return b.graph(f"int8_{rounding}".lower(), ["x", "rows"], outputs)
