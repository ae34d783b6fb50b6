"""Each kernel on a GPU, as a fraction of what the device can move and multiply.

    python -m benchmarks.gpu [model.ek ...] [--library libOpenCL.so] [--models FOLDER] [--large] [--software]
                             [--minutes 8] [--write] [--decoders [--size "15 M"] [--seconds 30]]

Without models, the networks of MLPerf Tiny (TFLite files in --models) run by WGSL on Vulkan as a whole,
beside ncnn on the same device if that can be imported, then kernel by kernel, by OpenCL, too. --large begins
with MobileNetV2 and ResNet-18, which need torch. What is measured is printed at once, whole networks first,
and nothing new begins after so many --minutes, so that a device that is lent for ten answers what matters.
--write puts this on docs/performance.md. Models that are named are shown layer by layer, by OpenCL.

Kernels are compared with the model of ADR 0169: the largest of their longest chain of loads, their bytes and
their products. Its numbers, which are those of a row of targets/gpus, are measured by kernels that do nothing
else. --software is for devices that are: seconds are those of all cores that the process takes, so that
machines may be busy. --decoders measures Llamas with random weights instead: tokens a second by OpenCL, from
host to host.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

from benchmarks import gpu_ceilings, gpu_decoders
from benchmarks.gpu_ceilings import Effort
from benchmarks.gpu_clocks import Clock, Now, OpenCLClock, VulkanClock
from benchmarks.gpu_networks import Network, large, small, whole
from benchmarks.llama_cpp import SIZES
from benchmarks.results import machine, table, write_section
from edgekit import api
from edgekit.codegen.gpu import device as devices
from edgekit.codegen.gpu.device import GpuDevice, KernelTime, time_of
from edgekit.codegen.gpu.plan import Dispatch, plan
from edgekit.codegen.gpu.times import run_time
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.ir import Graph

_MODELS = Path(__file__).parents[2] / "shared" / "models" / "mlperf_tiny"
_SOFTWARE = """\
No GPU was available: both devices are software on the processor below. The figures show how kernels compare
with each other and with ncnn's, and say nothing about a GPU. The script runs on a GPU without changes.

"""
_NOTE = """\
The share is a kernel's time by the model divided by its measured time: the largest of its latency, which is
the longest chain of loads that wait for one another, of the bytes it moves, each once, and of its products,
with the numbers of the device below.{seconds}

{ceilings}
"""
_BESIDE = """ ncnn {version} is
also on Vulkan; "float16" is its way to store and compute with 16 bits, on matrix units where the device has
them. WebGPU checks the bounds of each access, which ncnn's shaders do not. ncnn / EdgeKit compares floats of
32 and of 16 bits."""
_MODEL = " The second column of float32 is the time on an NVIDIA H200 by the model."
FULL = Effort()
Measured = Sequence[tuple[Dispatch, float]]  # seconds


def timed(graph: Graph, clock: Clock) -> Iterator[tuple[Dispatch, float]]:
    """The kernels of a model, and the seconds that they take; equal ones are measured once."""
    known: dict[Any, float] = {}
    for d in plan(graph).dispatches:
        sizes = [span.size for span in d.spans]
        key = (d.kernel.name, tuple(sorted(d.values.items())), tuple(sizes), d.groups)
        if key not in known:
            known[key] = clock.seconds(GpuCall(d.kernel, tuple(range(len(sizes))), d.values, d.groups), sizes)
        yield d, known[key]


def layers(graph: Graph, clock: Clock, most: GpuDevice) -> list[list[str]]:
    """Rows of all kernels, the one that takes longest first."""
    found = sorted(timed(graph, clock), key=lambda pair: -pair[1])
    return [
        [
            d.origin[:40],
            d.kernel.name,
            f"{1e6 * s:,.1f}",
            f"{d.macs:,}",
            f"{d.moved:,}",
            time_by(d, most).bound,
            _share(most, [(d, s)]),
        ]
        for d, s in found
    ]


def time_by(d: Dispatch, device: GpuDevice) -> KernelTime:
    """What a kernel takes by the model; all of it is in caches."""
    return time_of(GpuCall(d.kernel, (), d.values, d.groups), d.moved, d.macs, device)


def _share(most: GpuDevice, measured: Measured) -> str:
    least = 1e-6 * sum(time_by(d, most).microseconds for d, _ in measured)
    return f"{100 * least / sum(seconds for _, seconds in measured):.1f} %"


def kinds(title: str, found: Sequence[Measured], most: Sequence[GpuDevice]) -> Iterator[list[str]]:
    """Rows of all kinds of kernels in a network, on each device."""
    for name in dict.fromkeys(d.kernel.name for d, _ in found[0]):
        own = [[(d, s) for d, s in measured if d.kernel.name == name] for measured in found]
        row = [title, name, str(len(own[0]))]
        for ceiling, measured in zip(most, own, strict=True):
            row += [f"{1e6 * sum(s for _, s in measured):,.0f}", _share(ceiling, measured)]
        yield row


def section(
    networks: Sequence[Network], library: str, now: Now, minutes: float = inf, effort: Effort = FULL
) -> Iterator[str]:
    """All networks on both devices, as a page shows them: whole ones first, then more and more of their
    kernels. A run that ends early leaves what it has measured."""
    end = time.monotonic() + 60 * minutes
    vulkan = VulkanClock(now)
    wholes = f"Whole networks on {vulkan.name}, from host to host, in turns."
    if now is time.process_time:
        wholes = _SOFTWARE + wholes
    forms = list(networks[0].forms)
    header = [f"{forms[0]}, us", "H200 by the model", *(f"{form}, us" for form in forms[1:])]
    if has_ncnn := bool(find_spec("ncnn")):
        wholes += _BESIDE.format(version=version("ncnn"))
        header += ["ncnn float32, us", "ncnn float16, us", "ncnn / EdgeKit"]
    wholes += _MODEL
    rows = []
    for network in networks:
        if time.monotonic() > end:
            return
        micros = whole(network, vulkan, now)
        modelled = run_time(plan(network.forms["float32"]), devices.load(devices.MEASURED, "webgpu"))
        found = [micros[0], modelled.microseconds, *micros[1:]]
        rows.append([network.title, *(f"{us:,.0f}" for us in found)])
        if has_ncnn:
            of_float32, of_float16 = micros[-2] / micros[0], micros[-1] / micros[1]
            rows[-1].append(f"{of_float32:.2f}, {of_float16:.2f}")
        yield f"{wholes}\n\n{table(['network', *header], rows)}\n\n{machine()}."
    wholes += f"\n\n{table(['network', *header], rows)}"
    clocks: dict[str, Clock] = {"opencl": OpenCLClock(library, now), "webgpu": vulkan}
    most = [gpu_ceilings.measured(clock, language, effort) for language, clock in clocks.items()]
    numbers = "\n".join(map(gpu_ceilings.as_row, most, clocks))
    print(f"A row of targets/gpus:\n{numbers}\n", flush=True)
    kernels: list[tuple[str, list[Measured]]] = []
    for title, graph in ((f"{n.title}, {form}", graph) for n in networks for form, graph in n.forms.items()):
        if time.monotonic() > end:
            return
        kernels.append((title, [list(timed(graph, clock)) for clock in clocks.values()]))
        yield f"{wholes}\n\n{_of_kernels(kernels, most, now)}\n\n{machine()}."
    again = [gpu_ceilings.measured(clock, language, effort) for language, clock in clocks.items()]
    most = list(map(gpu_ceilings.or_higher, again, most))
    yield f"{wholes}\n\n{_of_kernels(kernels, most, now)}\n\n{machine()}."


def _of_kernels(found: Sequence[tuple[str, Sequence[Measured]]], most: Sequence[GpuDevice], now: Now) -> str:
    """The kernels of networks, beneath what their devices can do at most."""
    names = [device.description for device in most]
    facts = "\n".join(map(gpu_ceilings.in_words, most))
    seconds = " Times are those of all cores together." if now is time.process_time else ""
    columns = [word for name in names for word in (f"{name.split(',')[0]}, us", "share")]
    rows = [row for title, measured in found for row in kinds(title, measured, most)]
    header = ["network", "kernel", "layers", *columns]
    return f"{_NOTE.format(ceilings=facts, seconds=seconds)}\n{table(header, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models_of_yours", nargs="*", metavar="model")
    parser.add_argument("--library", default="libOpenCL.so.1", help="the file of OpenCL")
    parser.add_argument("--models", type=Path, default=_MODELS)
    parser.add_argument("--large", action="store_true", help="MobileNetV2 and ResNet-18, too")
    parser.add_argument("--minutes", type=float, default=inf, help="after which nothing new begins")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--software", action="store_true")
    parser.add_argument("--decoders", action="store_true", help="tokens a second, by OpenCL")
    parser.add_argument("--size", choices=SIZES, action="append", help="of decoders, all by default")
    parser.add_argument("--seconds", type=float, default=30, help="of each decoder")
    wanted = parser.parse_args()
    if wanted.decoders:
        found: list[list[str]] = []
        for row in gpu_decoders.rows(wanted.size, wanted.seconds):
            found.append(row)
            print(f"{table(gpu_decoders.HEADER, found)}\n", flush=True)
        print(OpenCLClock(wanted.library, time.perf_counter).name)
        return
    now = time.process_time if wanted.software else time.perf_counter
    if wanted.models_of_yours:
        clock = OpenCLClock(wanted.library, now)
        most = gpu_ceilings.measured(clock, "opencl", FULL)
        header = ["layer", "kernel", "us", "MACs", "bytes", "bound", "by the model"]
        rows = [row for model in wanted.models_of_yours for row in layers(api.convert(model), clock, most)]
        print(f"{table(header, rows)}\n\n{gpu_ceilings.in_words(most)}")
        return
    networks = [*(large() if wanted.large else ()), *small(wanted.models)]
    for text in section(networks, wanted.library, now, wanted.minutes):
        print(text, flush=True)
        if wanted.write:
            write_section("gpu", "GPUs" + ", on devices of software" * wanted.software, text)


if __name__ == "__main__":
    main()
