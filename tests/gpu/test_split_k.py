"""Sums that items of a work-group share (split-K): the integers of sums of one item, and floats near them."""

from collections.abc import Callable

import numpy as np
import pytest
from support.gpu_calls import Device, assert_computes, kernels_of
from support.integer_bench import Bench, Seeded
from support.opencl import kernel_device
from support.webgpu import webgpu

from edgekit.codegen.gpu.critical_path import critical_path
from edgekit.codegen.gpu.kernels import _split_k
from edgekit.codegen.gpu.plan import plan
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.matmul import MatMul
from edgekit.core.types import Array, DType, Type

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}
# Outputs, channels, rows and columns, window, groups: of every form of the kernels.
SHAPES = (
    (16, 32, (5, 5), (3, 3), 1),  # tiles of four pixels and eight outputs, the last one cut off
    (4, 256, (1, 5), (1, 1), 1),  # ... and four outputs
    (8, 1024, (1, 1), (1, 1), 1),  # one pixel
    (8, 3, (9, 9), (7, 7), 1),  # channels one by one
    (5, 24, (4, 4), (3, 3), 1),  # outputs one by one
    (8, 64, (4, 3), (3, 1), 2),
    (6, 64, (4, 3), (1, 3), 2),
)


def integers() -> tuple[Graph, dict[str, Array]]:
    bench = Bench(Seeded(0))
    for bench.rounding in ("E", "tfl"):
        for outputs, channels, size, kernel, groups in SHAPES:
            x = bench.input(1, *size, channels)
            w, bias = bench.weights(DType.S8, outputs, *kernel, channels // groups)
            pads = (kernel[0] // 2, kernel[1] // 2) * 2
            bench.result(Conv2d((1, 1), pads, (1, 1), groups), x, w, bias, quant=bench.quant(0, 6))
        w, bias = bench.weights(DType.S8, 6, 70)
        bench.result(Dense(), bench.input(3, 70), w, bias, quant=bench.quant(0, 6))
        bench.result(MatMul(), bench.input(2, 3, 70), bench.input(2, 70, 5), quant=bench.quant(0, 4))
    return bench.graph(), bench.inputs


def reals(dtype: DType) -> tuple[Graph, dict[str, Array]]:
    b, random, inputs, outputs = Builder(), np.random.default_rng(0), {}, []

    def drawn(*shape: int) -> Array:
        return random.normal(size=shape).astype(dtype.numpy)

    def given(*shape: int) -> str:
        name = b.input(f"x{len(inputs)}", Type(dtype, shape))
        inputs[name] = drawn(*shape)
        return name

    def bias(n: int) -> str:
        return b.const(random.normal(size=n).astype(np.float32 if dtype is not DType.F32 else dtype.numpy))

    for n, channels, size, (k_h, k_w), groups in SHAPES:
        w = b.const(drawn(n, k_h, k_w, channels // groups))
        pads = (k_h // 2, k_w // 2) * 2
        # A stride of two keeps Winograd's algorithm away.
        outputs.append(
            b.one(Conv2d((2, 1), pads, (1, 1), groups, lo=0.0), given(1, *size, channels), w, bias(n))
        )
    outputs.append(b.one(Dense(), given(3, 70), b.const(drawn(6, 70)), bias(6)))
    outputs.append(b.one(MatMul(), given(2, 3, 70), given(2, 70, 5)))
    return b.graph("net", list(inputs), outputs), inputs


def longest(uses: list[GpuCall]) -> GpuCall:
    """The split over most items, whatever it costs."""
    return uses[-1]


def second(uses: list[GpuCall]) -> GpuCall:
    return uses[min(1, len(uses) - 1)]


@pytest.mark.parametrize("choice", [second, longest])
@pytest.mark.parametrize("device", DEVICES)
def test_integers_are_the_same_however_they_are_split(
    device: str, choice: Callable[[list[GpuCall]], GpuCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_split_k, "shortest", choice)
    graph, inputs = integers()
    for form in ("e_4x8", "e_4x4", "e_1x4", "e_quads", "e_any", "matmul_e"):
        names = [name for name in kernels_of(graph) if form in name]
        assert names
        assert all("_k" in name for name in names)
    splits = {name.rsplit("_k", 1)[1] for name in kernels_of(graph)}
    assert {"1x4", "4x1"} <= splits if choice is second else {"1x64", "1x16", "2x8", "16x1"} <= splits
    assert not assert_computes(DEVICES[device](), graph, inputs)


@pytest.mark.parametrize("choice", [second, longest])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F16])
@pytest.mark.parametrize("device", DEVICES)
def test_floats_are_as_near_to_the_simulator_as_sums_of_one_item(
    device: str, dtype: DType, choice: Callable[[list[GpuCall]], GpuCall], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_split_k, "shortest", choice)
    graph, inputs = reals(dtype)
    for form in ("fours_4x8", "fours_4x4", "fours_1x4", "ones_4x8", "any", "matmul"):
        assert any(form in name and "_k" in name for name in kernels_of(graph)), form
    assert not assert_computes(DEVICES[device](), graph, inputs)


def pointwise(in_c: int, size: int) -> Graph:
    b, random = Builder(), np.random.default_rng(0)
    w = random.normal(size=(96, 1, 1, in_c)).astype(np.float32)
    x = b.input("x", Type(DType.F32, (1, size, size, in_c)))
    return b.graph("net", [x], [b.one(Conv2d(), x, b.const(w), b.const(np.zeros(96, np.float32)))])


def test_the_longest_chain_of_mobilenet_is_shared() -> None:
    """960 channels at 7 by 7 pixels were 240 iterations of twelve loads."""
    (d,) = plan(pointwise(960, 7)).dispatches
    found = critical_path(d.kernel, d.values)
    assert found.loads <= 15 * 12 + 4
    assert found.shared <= 16


def test_many_items_share_nothing() -> None:
    """Of a large image there are more items than a device has room for."""
    (d,) = plan(pointwise(64, 256)).dispatches
    assert "_k" not in d.kernel.name
