"""Sums that convolutions add to their results on GPUs, and how many kernels a network starts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.gpu_calls import TOLERANCE, Device
from support.gpu_plans import run
from support.integer_bench import Bench, Seeded
from support.opencl import opencl
from support.tools import require_shared
from support.webgpu import webgpu

from edgekit import api
from edgekit.codegen.gpu import plan as planning
from edgekit.codegen.gpu.plan import plan
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Clip, Sub
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.types import Array, DType, Type

DEVICES: dict[str, Callable[[], Device]] = {"opencl": opencl, "wgsl": webgpu}
# Outputs, channels, rows and columns, window: of every form of the kernels.
SHAPES = (
    (16, 32, (5, 5), (1, 1)),
    (8, 16, (1, 1), (1, 1)),
    (8, 3, (9, 9), (5, 5)),
    (32, 16, (16, 16), (3, 3)),  # Winograd's algorithm, all channels at once
    (16, 72, (16, 16), (3, 3)),  # ... and some after the others
    (5, 24, (4, 4), (3, 3)),
)


def reals(bounded: bool) -> Graph:
    b, random = Builder(), np.random.default_rng(0)
    inputs: list[str] = []
    outputs: list[str] = []
    ends = [b.const(np.array(end, np.float32)) for end in (0, 6)]
    for n, channels, size, (k_h, k_w) in SHAPES:
        w = b.const(random.normal(size=(n, k_h, k_w, channels)).astype(np.float32))
        bias = b.const(random.normal(size=n).astype(np.float32))
        x, other = (
            b.input(f"x{len(inputs) + i}", Type(DType.F32, (1, *size, c))) for i, c in ((0, channels), (1, n))
        )
        inputs += [x, other]
        y = b.one(Conv2d((1, 1), (k_h // 2, k_w // 2) * 2), x, w, bias)
        y = b.one(Add(), *((y, other) if n % 16 else (other, y)))
        outputs.append(b.one(Clip(), y, *ends) if bounded else y)
    return b.graph("net", inputs, outputs)


def assert_right(graph: Graph, inputs: dict[str, Array], device: Device) -> None:
    found = run(device, plan(graph), inputs)
    for name, right in simulate.run(graph, inputs).items():
        if right.dtype.kind == "f":
            assert np.abs(found[name] - right).max() <= TOLERANCE * np.abs(right).max(), name
        else:
            assert np.array_equal(found[name], right), name


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("device", DEVICES)
def test_floats(device: str, bounded: bool) -> None:
    graph = reals(bounded)
    names = [d.kernel.name for d in plan(graph).dispatches]
    assert len(names) == len(SHAPES)
    assert all("_add" in name for name in names)
    assert [any(form in n for n in names) for form in ("winograd_4x32", "fours_1x4", "ones", "cut")] == [
        True
    ] * 4
    assert_right(graph, simulate.random_inputs(graph, 0), DEVICES[device]())


def integers() -> tuple[Graph, dict[str, Array]]:
    bench = Bench(Seeded(0))
    for bench.rounding in ("E", "tfl"):
        for n, channels, size, kernel in SHAPES:
            w, bias = bench.weights(DType.S8, n, *kernel, channels)
            pads = (kernel[0] // 2, kernel[1] // 2) * 2
            x = bench.input(1, *size, channels)
            bench.result(Conv2d((1, 1), pads), x, w, bias, quant=bench.quant(0, 6))
            y = bench.outputs[-1]
            op = Add() if n % 16 else Sub()
            bench.result(op, y, bench.input(1, *size, n), quant=bench.quant(0, 4))
    graph = bench.graph()
    last = [node.outputs[0] for node in graph.nodes if not isinstance(node.op, Conv2d)]
    return Graph("net", graph.inputs, tuple(last), graph.nodes, graph.values), bench.inputs


@pytest.mark.parametrize("products", [True, False])
@pytest.mark.parametrize("device", DEVICES)
def test_integers(device: str, products: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By rule E, and by TFLite's, also where no products give the same."""
    monkeypatch.setattr(planning._Uses, "want_products", lambda self, alone: products)
    graph, inputs = integers()
    names = [d.kernel.name for d in plan(graph).dispatches]
    assert len(names) == 2 * len(SHAPES)
    kinds = {name.split("_add_")[1].split("_")[0] for name in names}
    assert "affine" in kinds
    assert products or "tfl" in kinds
    assert_right(graph, inputs, DEVICES[device]())


def residual(case: str) -> Graph:
    b, w = Builder(), np.random.default_rng(0).normal(size=(8, 1, 1, 8)).astype(np.float32)
    x, z = (b.input(name, Type(DType.F32, (1, 4, 4, 8))) for name in "xz")
    y = b.one(Conv2d(), x, b.const(w), b.const(np.zeros(8, np.float32)))
    if case == "of its own input":  # which no device binds twice
        return b.graph("net", [x, z], [b.one(Add(), y, x), z])
    total = b.one(Add(), y, z)
    return b.graph("net", [x, z], [total, y] if case == "of an output" else [b.one(Add(), total, y)])


@pytest.mark.parametrize("case", ["of its own input", "of an output", "of what others read"])
def test_other_sums_are_kernels_of_their_own(case: str) -> None:
    graph = residual(case)
    assert not [d for d in plan(graph).dispatches if "conv2d" in d.kernel.name and "_add" in d.kernel.name]
    assert_right(graph, simulate.random_inputs(graph, 0), opencl())


# A kernel more is a launch more: 4 us by OpenCL on an H200, and 13.5 by WebGPU.
KERNELS = {
    "pretrainedResnet": 12,
    "kws_ref_model_float32": 12,
    "vww_96_float": 30,
    "ad01_fp32": 10,
    "pretrainedResnet_quant": 12,
    "kws_ref_model": 12,
    "vww_96_int8": 30,
    "ad01_int8": 10,
}
KERNELS_OF_TORCH = {"mobilenet_v2": 55, "resnet18": 24, "small_vit": 23, "small_unet": 27}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_mlperf_tiny(name: str) -> None:
    graph = api.convert(require_shared(f"models/mlperf_tiny/{name}.tflite"))
    assert len(plan(widened_weights(graph, only_integers=True)).dispatches) == KERNELS[name]


@pytest.mark.parametrize("name", KERNELS_OF_TORCH)
def test_kernels_of_networks_of_torch(name: str, exports: Path) -> None:
    from support import networks

    graph = api.convert(networks.export(name, "torchscript", exports))
    assert len(plan(graph).dispatches) == KERNELS_OF_TORCH[name]
