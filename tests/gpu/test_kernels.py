"""Kernels for GPUs, with random shapes: the integers of the simulator, and reals near them."""

from collections.abc import Callable

import numpy as np
import pytest
from support.gpu_calls import Device, assert_computes, kernels_of
from support.gpu_cases import INTEGERS, REALS, narrow_cases, usual_cases
from support.integer_bench import Bench, Family, Seeded
from support.integer_families import grouped_convolutions
from support.oclgrind import Oclgrind, oclgrind
from support.op_cases import as_graph
from support.opencl import kernel_device
from support.webgpu import webgpu

from edgekit.codegen.gpu import fixed
from edgekit.codegen.gpu.ast import U32, Expr, function, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.kernels import conv2d_int
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.ops.quantize import Quantize
from edgekit.core.types import DType, Quant, Type

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}
FLOATS = (DType.F32, DType.F16, DType.BF16)
CASES = 2  # of a family, on each device


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("family", INTEGERS, ids=lambda f: f.__name__)
def test_integers_are_those_of_the_simulator(family: Family, device: str) -> None:
    bench = Bench(Seeded(INTEGERS.index(family)))
    for _ in range(CASES):
        bench.case(family)
    assert_computes(DEVICES[device](), bench.graph(), bench.inputs)


# oclgrind is slow, and bfloat16 lies where float16 does: whole networks run on it in OpenCL.
@pytest.mark.parametrize(
    ("dtype", "device"),
    [(d, device) for d in FLOATS for device in DEVICES if (d, device) != (DType.BF16, "opencl")],
)
@pytest.mark.parametrize("module", REALS)
def test_reals_are_near_those_of_the_simulator(module: str, dtype: DType, device: str) -> None:
    cases = usual_cases(module) if dtype is DType.F32 else narrow_cases(module, dtype)
    graph, inputs, outputs = as_graph(cases)
    ulps = {name: c.ulps for c, names in zip(cases, outputs, strict=True) for name in names}
    refused = assert_computes(DEVICES[device](), graph, inputs, ulps)
    assert len(refused) < len(graph.outputs) / 2, f"there are no kernels for {refused}"


def test_cases_have_convolutions_of_all_kinds() -> None:
    """So that the test above has seen the kernels that depend on shapes."""
    graph, _, _ = as_graph(usual_cases("contraction"))
    found = " ".join(kernels_of(graph))
    kinds = ("winograd_8x16_32", "winograd_4x32_32_once", "fours_4x8", "ones_4x8", "cut", "inside", "_any")
    assert not [kind for kind in (*kinds, "depthwise2d_f32_x4_w3s1") if kind not in found]


@pytest.mark.parametrize("device", DEVICES)
def test_odd_reals_become_integers_by_both_rules(device: str) -> None:
    """Halves, and what is infinite or no number: which is 0, whatever the zero point."""
    x = np.array([-np.inf, -1e30, -2.5, -1.5, -0.5, -0.0, 0.49999997, 0.5, 1.5, 2.5, 200, np.inf, np.nan])
    bench = Bench(Seeded(0))
    bench.builder.input("x", Type(DType.F32, x.shape))
    bench.inputs["x"] = x.astype(np.float32)
    for dtype, zero in ((DType.S8, 31), (DType.S8, -128), (DType.U8, 183)):
        for rule in ("E", "tfl"):
            bench.result(Quantize(dtype), "x", quant=Quant((1.0,), (zero,), None, rule))
    assert not assert_computes(DEVICES[device](), bench.graph(), bench.inputs)


def test_a_mistake_in_the_rounding_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Halves that are rounded down instead of up: by the test above, were it in the kernels."""
    monkeypatch.setattr(conv2d_int, "requantized", rounded_down)
    for kernel in (conv2d_int._words, conv2d_int._quads, conv2d_int._any):
        kernel.cache_clear()
    bench = Bench(Seeded(0))
    oclgrind()
    device = Oclgrind()  # which has compiled nothing yet
    try:
        for _ in range(4 * CASES):
            bench.case(grouped_convolutions)
        with pytest.raises(AssertionError):
            assert_computes(device, bench.graph(), bench.inputs)
    finally:
        for kernel in (conv2d_int._words, conv2d_int._quads, conv2d_int._any):
            kernel.cache_clear()


def rounded_down(k: KernelBuilder, rule: str, acc: Expr, m: Expr, e: Expr) -> Expr:
    return fixed.requantized(k, rule, acc, m, e) if rule != "e" else function("mulhi", acc, m) >> (e - 32)


def test_kernels_that_leave_their_buffers_are_seen() -> None:
    """By oclgrind, in all tests above."""
    k = KernelBuilder("beside")
    y = k.buffer("y", U32, writes=True)
    k.store(y, k.item + 1, number(1, U32))
    room = np.zeros(4 * 64, np.uint8)
    with pytest.raises(AssertionError, match="Invalid write"):
        oclgrind().compute([GpuCall(k.done(), (0,), {}, 1)], [[room]])


def test_kernels_that_race_are_seen() -> None:
    k = KernelBuilder("races")
    y, both = k.buffer("y", U32, writes=True), k.shared("both", U32, 2)
    k.store(both, k.within & 1, k.within.to(U32))
    k.store(y, k.item, both[k.within & 1])
    room = np.zeros(4 * 64, np.uint8)
    with pytest.raises(AssertionError, match="data race"):
        oclgrind().compute([GpuCall(k.done(), (0,), {}, 1)], [[room]])
