"""Windows of pools fitted to the image: the same results, and nothing of a size that a file may dream up."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from support.integer_bench import Bench, Seeded
from support.nets import Net
from support.op_cases import normal, run_graph_in_c
from support.random_models import Dice
from support.random_models import of as onnx_model
from support.sources import parsed
from support.tflite_writer import Operator, Tensor
from support.tflite_writer import model as tflite_model
from tflite.litert import converted

from edgekit import converters
from edgekit.codegen.program import compile_graph
from edgekit.converters import read
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d, Window
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.pool2d import ArgMaxPool2d, Pool2d
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Type

HUGE = [2**15, 2**20 - 1, 2**31 - 1, 2**40]
X = np.random.default_rng(1).normal(size=(1, 2, 7, 8)).astype(np.float32)


@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("pads", [(0, 0), (1, 0), (2, 1), (5, 3)])
def test_it_is_known_where_a_tap_is_in_the_image(pads: tuple[int, int], stride: int, dilation: int) -> None:
    for size, taps in product(range(1, 8), range(1, 5)):
        if size + sum(pads) <= (taps - 1) * dilation:
            continue  # no place for the window
        window = Window((1, taps), (1, stride), (0, pads[0], 0, pads[1]), (1, dilation))
        wanted = window.patches(np.ones((1, 1, size, 1)), 0)[0, 0, :, 0, :, 0]
        found = np.zeros_like(wanted)
        for tap, places in enumerate(window.inside(1, size)):
            found[places, tap] = 1
        np.testing.assert_array_equal(found, wanted, str(window))


def random_pool(dice: Dice, height: int, width: int) -> Pool2d:
    """Any window that has a place in the image and its border, mostly beyond both."""
    while True:
        kind = dice.pick("max", "sum", "mean")
        pads = dice.rolls(4, 0, 15)
        counted = [dice.roll(0, p) for p in pads] if kind == "mean" and dice.coin() else [0] * 4
        pairs = dice.rolls(2, 1, 13), dice.rolls(2, 1, 7), dice.rolls(2, 1, 3)
        size, strides, dilations = ((a, b) for a, b in pairs)
        op = Pool2d(kind, size, strides, tuple(pads), dilations, tuple(counted))  # type: ignore[arg-type]  # four
        try:
            op.window.out(height, width)
        except TypeError:
            continue
        return op


def test_fitted_windows_compute_the_same() -> None:
    smaller = 0
    for seed in range(600):
        dice = Dice(seed)
        height, width = dice.rolls(2, 1, 5)
        op = random_pool(dice, height, width)
        fitted = op.fitted(height, width)
        x = dice.rng.integers(-9, 9, (1, height, width, 2)).astype(np.float32)
        np.testing.assert_array_equal(op.eval(x)[0], fitted.eval(x)[0], str(op))
        smaller += fitted != op
        if op.kind == "max" and np.isfinite(op.eval(x)[0]).all():
            where = ArgMaxPool2d(op.size, (1, 10, 100, 1000), op.strides, op.pads, op.dilations)
            np.testing.assert_array_equal(where.eval(x)[0], where.fitted(height, width).eval(x)[0], str(op))
    assert smaller > 300


def seen(op: Pool2d, rounding: str) -> dict[str, object]:
    """The window and the image that a kernel gets for an image of 3 by 5, of integers with a rounding."""
    bench = Bench(Seeded(1))
    if rounding:
        bench.rounding = rounding
        x = bench.input(1, 3, 5, 2)
        bench.result(op, x, quant=bench.builder.type(x).quant if rounding == "tfl" else bench.quant())
        graph = bench.graph()
    else:
        (y,) = bench.builder.add(op, bench.builder.input("x", Type(DType.F32, (1, 3, 5, 2))))
        graph = bench.builder.graph("pool", ["x"], [y])
    (line,) = compile_graph(graph, targets.load("cortex-m4")).lines
    return {name: line.call.params[name] for name in ("k_h", "k_w", "in_h", "in_w")}


@pytest.mark.parametrize(
    ("kind", "rounding"), [("max", ""), ("sum", ""), ("mean", ""), ("mean", "E"), ("mean", "tfl")]
)
def test_a_window_of_the_whole_image_is_one_row(kind: str, rounding: str) -> None:
    assert seen(Pool2d(kind, (3, 5), (3, 5)), rounding) == {"k_h": 1, "k_w": 15, "in_h": 1, "in_w": 15}
    others = [Pool2d(kind, (2, 5)), Pool2d(kind, (3, 4)), Pool2d(kind, (3, 5), pads=(0, 1, 0, 0))]
    for op in others:
        found = seen(op, rounding)
        assert (found["in_h"], found["k_h"]) == (3, op.size[0])


@pytest.mark.parametrize("size", HUGE)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_onnx_pools_of_any_size_are_those_of_the_whole_image(op: str, size: int) -> None:
    attributes = {"kernel_shape": [size, size], "strides": [7, 8], "auto_pad": "SAME_UPPER"}
    model = onnx_model(op, {"x": X}, attributes, opset=22)
    whole = {"MaxPool": X.max, "AveragePool": X.mean, "LpPool": lambda axis: np.sqrt((X * X).sum(axis))}
    np.testing.assert_allclose(first(convert(model.proto))[..., 0, 0], whole[op](axis=(2, 3)), rtol=1e-5)


def test_places_and_channels_of_any_size() -> None:
    attributes = {"kernel_shape": [2**31 - 1] * 2, "auto_pad": "SAME_UPPER"}
    graph = convert(onnx_model("MaxPool", {"x": X}, attributes, outputs=2).proto)
    highest, places = simulate.run(graph, {"x": X}).values()
    assert np.array_equal(highest, np.broadcast_to(X.max(axis=(2, 3), keepdims=True), X.shape))
    assert np.array_equal(X.reshape(-1)[places], highest)
    narrow, wide = (
        first(convert(onnx_model("LRN", {"x": X}, {"size": n, "alpha": float(n)}).proto)) for n in (5, 2**21)
    )
    np.testing.assert_allclose(narrow, wide, rtol=1e-6)


@pytest.mark.parametrize("kind", ["MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"])
def test_tflite_pools_of_any_size_are_those_of_the_whole_image(kind: str, tmp_path: Path) -> None:
    x = X.transpose(0, 2, 3, 1)
    values = {"filterHeight": 2**31 - 1, "filterWidth": 2**15, "strideH": 7, "strideW": 8}
    op = Operator(kind, [Tensor(x.shape)], [Tensor((1, 1, 1, 2))], "Pool2DOptions", values)
    graph = converted(tflite_model(op), tmp_path, "net")
    whole = {
        "MAX_POOL_2D": x.max(axis=(1, 2)),
        "AVERAGE_POOL_2D": x.mean(axis=(1, 2)),
        "L2_POOL_2D": np.sqrt((x * x).mean(axis=(1, 2))),
    }
    (y,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    np.testing.assert_allclose(y[:, 0, 0], whole[kind], rtol=1e-5)


def test_stablehlo_windows_of_any_size_are_those_of_the_whole_image(tmp_path: Path) -> None:
    size = 2**31 - 1
    pads = f"[[0, 0], [{size // 2}, {size // 2}], [{size // 2}, {size // 2}], [0, 0]]"
    window = (
        f"window_dimensions = array<i64: 1, {size}, {size}, 1>, padding = dense<{pads}> : tensor<4x2xi64>"
    )
    image = "tensor<1x7x8x2xf32>"
    path = tmp_path / "net.mlir"
    path.write_text(
        f"""module @net {{
func.func public @main(%x: {image}) -> ({image}) {{
%i = stablehlo.constant dense<0xFF800000> : tensor<f32>
%y = "stablehlo.reduce_window"(%x, %i) <{{{window}}}> ({{
^bb0(%a: tensor<f32>, %b: tensor<f32>):
%c = stablehlo.maximum %a, %b : tensor<f32>
stablehlo.return %c : tensor<f32>
}}) : ({image}, tensor<f32>) -> {image}
return %y : {image}
}}
}}
""",
        encoding="utf-8",
    )
    x = X.transpose(0, 2, 3, 1)
    graph = read.read(path)
    (y,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    assert np.array_equal(y, np.broadcast_to(x.max(axis=(1, 2), keepdims=True), x.shape))


def first(graph: Graph) -> np.ndarray:
    return next(iter(simulate.run(graph, {"x": X}).values()))


IMAGE = Type(DType.F32, (1, 8, 8, 2))
KERNEL, BIAS = Type(DType.F32, (2, 3, 3, 2)), Type(DType.F32, (2,))
ABSURD = {
    "a pool that no reader fitted": (Pool2d("max", (2**20, 2**20), pads=(2**19,) * 4), (IMAGE,)),
    "a mean over a border": (Pool2d("mean", (2**20,) * 2, pads=(2**20,) * 4, counted=(2**20,) * 4), (IMAGE,)),
    "far strides": (Conv2d(strides=(2**40, 1)), (IMAGE, KERNEL, BIAS)),
    "far cells": (Conv2d(pads=(2**31,) * 4, dilations=(2**31,) * 2), (IMAGE, KERNEL, BIAS)),
    "a wide border": (Conv2d(pads=(2**15,) * 4, strides=(2**15,) * 2), (IMAGE, KERNEL, BIAS)),
    "cells far apart": (ConvTranspose2d((8, 8), strides=(2**20, 2**20)), (IMAGE, KERNEL, BIAS)),
    "a far corner": (ConvTranspose2d((8, 8), pads=(2**31, 0)), (IMAGE, KERNEL, BIAS)),
}


@pytest.mark.parametrize("what", ABSURD)
def test_windows_beyond_reason_are_refused_before_memory_is_asked_for(what: str) -> None:
    op, types = ABSURD[what]
    with pytest.raises(TypeError, match="absurd"):
        op.infer(*types)


@pytest.mark.parametrize("wrong", [{"strides": (0, 1)}, {"dilations": (1, -(2**63))}])
def test_transposed_windows_move_forward(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="not all above 0"):
        ConvTranspose2d((8, 8), **wrong).infer(IMAGE, KERNEL, BIAS)


def test_every_pool_of_a_reader_is_fitted() -> None:
    """Where a reader makes a pool, its window may have any size."""
    made = fitted = 0
    for folder in converters.__path__:
        for _, tree in parsed(Path(folder).resolve().rglob("*.py"), r"Pool2d|\.fitted\b"):
            for node in ast.walk(tree):
                if isinstance(node, ast.Call):
                    made += isinstance(node.func, ast.Name) and node.func.id in ("Pool2d", "ArgMaxPool2d")
                    fitted += isinstance(node.func, ast.Attribute) and node.func.attr == "fitted"
    assert made == fitted > 0


def test_strides_of_onnx_beyond_any_image_leave_one_place() -> None:
    node = {"kernel_shape": [3, 3], "strides": [2**40, 2**40]}
    model = onnx_model("MaxPool", {"x": X}, node)
    assert helper.get_attribute_value(model.proto.graph.node[0].attribute[1])[0] == 2**40
    np.testing.assert_array_equal(first(convert(model.proto))[..., 0, 0], X[:, :, :3, :3].max(axis=(2, 3)))


def test_places_of_maxima_are_those_of_the_transposed_image(tmp_path: Path) -> None:
    """Convolutions read images whose channels come first as they are; what finds places does not."""
    net = Net()
    image = net(Transpose((0, 2, 3, 1)), net.x(1, 3, 4, 5))
    graph = net.done(net(ArgMaxPool2d((2, 2), (60, 5, 1, 20)), image))
    inputs = {"x": normal(DType.F32, 1, 3, 4, 5)}
    found = run_graph_in_c(graph, inputs, tmp_path, "size", ("-O1",))
    for output, expected in simulate.run(graph, inputs).items():
        assert np.array_equal(found[output], expected)
