"""GPU kernels as machine code of the device that was measured: registers, spills, and loads that wait."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.nvidia import compiled

from edgekit.codegen.gpu.ast import F32X4, number, splat
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.device import load
from edgekit.codegen.gpu.kernels import _split_k
from edgekit.codegen.gpu.plan import Dispatch, plan
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import DType, Type

_MULTIPROCESSORS, _REGISTERS = 132, 65_536  # of an H200, and of each of these
LONGEST = int(
    _MULTIPROCESSORS * _REGISTERS / load("h200", "opencl").items
)  # registers that the model counts on


def convolution(
    outputs: int, channels: int, size: int, kernel: int, stride: int, groups: int, dtype: DType
) -> Graph:
    b, random = Builder(), np.random.default_rng(0)
    w = random.normal(size=(outputs, kernel, kernel, channels // groups)).astype(np.float32)
    x = b.input("x", Type(dtype, (1, size, size, channels)))
    bias = b.const(np.zeros(outputs, np.float32))
    pads = (kernel // 2, kernel // 2) * 2
    y = b.one(Conv2d((stride, stride), pads, (1, 1), groups, lo=0.0), x, b.const(w), bias)
    return b.graph("net", [x], [y])


KINDS = {
    "pointwise": convolution(96, 384, 14, 1, 1, 1, DType.F32),
    "strided": convolution(128, 64, 56, 3, 2, 1, DType.F32),
    "first": convolution(32, 3, 64, 3, 2, 1, DType.F32),
    "winograd": convolution(128, 128, 28, 3, 1, 1, DType.F32),
    "one pixel": convolution(1000, 1280, 1, 1, 1, 1, DType.F32),
    "depthwise": convolution(144, 144, 28, 3, 1, 144, DType.F32),
}
SPLITS: dict[str, Callable[[list[GpuCall]], GpuCall]] = {
    "whole": lambda uses: uses[0],
    "split": lambda uses: uses[-1],
}


def use_of(d: Dispatch) -> GpuCall:
    return GpuCall(d.kernel, (), d.values, d.groups)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_kernel_spills_or_has_more_registers_than_the_model_counts_on(
    kind: str, split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_split_k, "shortest", SPLITS[split])
    (d,) = plan(KINDS[kind]).dispatches
    found = compiled(use_of(d), tmp_path)
    print(f"{d.kernel.name}: {found.registers} registers, {found.spilled} bytes spilled, loop {found.loop}")
    assert found.spilled == 0
    assert found.registers <= LONGEST


@pytest.mark.parametrize(("kind", "together"), [("pointwise", 5), ("strided", 5), ("winograd", 8)])
def test_loads_stand_before_the_products_of_an_iteration(kind: str, together: int, tmp_path: Path) -> None:
    """Those of all pixels, and of the first weights at least: where each load had a wait of its own, a
    convolution would take several times as long."""
    (d,) = plan(KINDS[kind]).dispatches
    found = compiled(use_of(d), tmp_path)
    assert found.loop[0][0] == "load"
    assert found.loop[0][1] >= together


def test_spills_are_seen(tmp_path: Path) -> None:
    """More sums than an item has registers for."""
    k = KernelBuilder("many")
    x, y = k.buffer("x", F32X4), k.buffer("y", F32X4, writes=True)
    sums = [k.var("sum", x[i]) for i in range(80)]
    with k.loop("i", 0, 1000) as i:
        factor = k.let("factor", x[i])
        for total in sums:
            k.set(total, total * factor + splat(number(1, F32X4.one)))
    for n, total in enumerate(sums):
        k.store(y, k.item * 80 + n, total)
    found = compiled(GpuCall(k.done(), (0, 1), {}, 1), tmp_path)
    assert found.spilled > 0
    assert found.registers > LONGEST
