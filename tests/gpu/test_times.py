"""The time of kernels by the model: the largest of latency, bytes and products."""

from pathlib import Path

import numpy as np
import pytest

from edgekit import api
from edgekit.codegen.gpu import device as devices
from edgekit.codegen.gpu.ast import F32, I32, function, number
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.critical_path import Chain, critical_path
from edgekit.codegen.gpu.device import GpuDevice, load, time_of
from edgekit.codegen.gpu.kernels import _split_k, conv2d
from edgekit.codegen.gpu.plan import plan
from edgekit.codegen.gpu.times import run_time
from edgekit.codegen.gpu.use import GpuCall
from edgekit.codegen.lowering.lower import layer_of
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import DType, Type
from edgekit.reports import footprint

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"


def convolution(in_c: int, out_c: int, size: int, kernel: int) -> Graph:
    b, random = Builder(), np.random.default_rng(0)
    w = random.normal(size=(out_c, kernel, kernel, in_c)).astype(np.float32)
    x = b.input("x", Type(DType.F32, (1, size, size, in_c)))
    y = b.one(Conv2d((1, 1), (0, 0, 0, 0)), x, b.const(w), b.const(np.zeros(out_c, np.float32)))
    return b.graph("net", [x], [y])


@pytest.mark.parametrize(("in_c", "kernel"), [(64, 1), (960, 1), (64, 5)])
def test_direct_convolutions_take_what_was_measured(
    in_c: int, kernel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 us, and 0.6 us for each cell of the window and four channels, however many work-groups there are: of
    sums that no items share."""
    monkeypatch.setattr(_split_k, "shortest", lambda uses: uses[0])
    graph = convolution(in_c, 64, 14, kernel)
    (call,) = layer_of(graph, graph.nodes[0]).steps
    assert isinstance(call, Call)
    use = conv2d.use(call)
    found = time_of(use, 0, 0, load("h200", "opencl"))
    assert found.microseconds == pytest.approx(4 + kernel**2 * in_c / 4 * 0.6, rel=0.02)
    assert found.bound == "latency"


def chain(of_loop: int) -> Chain:
    """Of a kernel with every kind of statement."""
    k = KernelBuilder("kernel")
    x, y, held = k.buffer("x", F32), k.buffer("y", F32, writes=True), k.shared("held", F32, 64)
    n = k.constant("n")
    stop = k.let("stop", n >> 1)
    total = k.var("total", number(0, F32))
    with k.loop("i", k.within, stop, 2) as i:  # so many times n / 4
        k.set(total, total + x[i] * x[i])  # one load
    with k.loop("j", 0, 5):
        k.set(total, total + held[k.within])  # five loads of shared memory
    with k.when(x[n] > 0):  # one
        k.set(total, x[n + 1] + held[k.within + 1])  # one, that the other one is beside
    with k.otherwise():
        k.set(total, x[n + 2] + x[n + 3])  # two: the longer way
    unknown = k.let("unknown", x[0].to(I32))  # one
    with k.loop("m", 0, unknown) as m:
        k.set(total, x[m])  # as if once
    with k.loop("m", 0, function("min", unknown, 3)) as m:
        k.set(total, x[m])  # three times at most
    k.store(y, k.item, total)
    return critical_path(k.done(), {"n": of_loop})


def test_the_longest_chain_of_loads() -> None:
    assert chain(4) == Chain(1 + 1 + 2 + 1 + 1 + 3, 5)
    assert chain(400) == Chain(100 + 1 + 2 + 1 + 1 + 3, 5)


def test_the_largest_of_latency_bytes_and_products() -> None:
    k = KernelBuilder("copies")
    x, y = k.buffer("x", F32), k.buffer("y", F32, writes=True)
    k.store(y, k.item, x[k.item] * x[k.item])
    device = GpuDevice("", 4, 0.05, 0, 0.1, 10, 6400, 10, 100, 1000, 0, 0)
    few, many = (GpuCall(k.done(), (0, 1), {}, groups) for groups in (1, 300))
    assert time_of(few, 1, 1, device) == devices.KernelTime(4.05, "latency")
    assert time_of(few, 1, 1, device, is_cold=True) == devices.KernelTime(4.1, "latency")
    assert time_of(many, 1, 1, device) == devices.KernelTime(4.15, "latency")  # three times as many as fit
    assert time_of(few, 100, 1, device) == devices.KernelTime(10, "bytes")
    assert time_of(few, 1, 1000, device) == devices.KernelTime(10, "products")


def test_a_run_is_its_kernels_and_what_is_beside_them() -> None:
    planned, device = plan(api.convert(DIGITS)), load("h200", "webgpu")
    found = run_time(planned, device)
    kernels = sum(d.microseconds for d in found.dispatches)
    assert found.kernel_microseconds == kernels
    assert found.microseconds == 217 + kernels + 9.5 * len(planned.dispatches)


@pytest.mark.parametrize("target", ["opencl", "webgpu"])
def test_estimate_tells_what_bounds_each_kernel(target: str) -> None:
    found = api.estimate(DIGITS, target=target, device="h200")
    assert found.gpu
    assert found.gpu.time
    time = found.gpu.time
    assert len(time.dispatches) == found.gpu.dispatches
    lines = footprint.estimate(found)
    assert any(
        f"about {time.microseconds:,.0f} us a run on NVIDIA H200, by the model" in line for line in lines
    )
    for d in time.dispatches:
        assert [d.origin, d.kernel, f"{d.microseconds:.1f}", d.bound] in [line.split() for line in lines]
    without = api.estimate(DIGITS, target=target)
    assert without.gpu
    assert without.gpu.time is None


def test_devices_of_others_are_files(tmp_path: Path) -> None:
    text = (Path(devices.__file__).parents[2] / "targets" / "gpus" / "h200.toml").read_text()
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace("NVIDIA H200", "mine").replace("launch = 4.0", "launch = 8"))
    planned = plan(api.convert(DIGITS))
    found, usual = (run_time(planned, load(name, "opencl")) for name in (str(mine), "h200"))
    assert found.device == "mine"
    assert found.microseconds == pytest.approx(usual.microseconds + 4 * len(planned.dispatches))
    for old, new, words in (
        ("launch = 4.0", 'launch = "4"', "launch is '4'"),
        ("launch = 4.0", "launch = nan", "launch is nan"),
        ("floats = 28_393_300", "floats = 0", "floats is 0"),
        ("launch = 4.0", "", "lacks launch"),
        ("launch = 4.0", "launch = 4\nclock = 3", "unknown key clock"),
        ("[opencl]", "[metal]", "no numbers for opencl"),
        ("[opencl]", "[opencl", "GPU mine"),
    ):
        mine.write_text(text.replace(old, new))
        with pytest.raises(EdgeKitError, match=words):
            load(str(mine), "opencl")


def test_a_device_needs_a_target_for_gpus() -> None:
    for target, device, words in (
        ("cortex-m4", "h200", "target cortex-m4 has no kernels for GPUs"),
        ("opencl", "h20", "unknown GPU h20"),
        ("opencl", "nothing.toml", "no file nothing.toml"),
    ):
        with pytest.raises(EdgeKitError, match=words):
            api.estimate(DIGITS, target=target, device=device)
