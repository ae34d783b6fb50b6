"""Each kernel on a GPU, as a fraction of what the device can move and multiply.

    python -m benchmarks.gpu [model.ek ...] [--library libOpenCL.so] [--models FOLDER] [--large] [--software]
                             [--write] [--decoders [--size "15 M"] [--seconds 30]]

The ceilings are measured first, by kernels that do nothing else. Every kernel has the time that the slower of
both would take at least: its bytes, each once, or its products. Models that are named are shown layer by
layer, by OpenCL. Without any, the networks of MLPerf Tiny (TFLite files in --models) run by OpenCL and by
WGSL on Vulkan, and as a whole beside ncnn on the same device of Vulkan, where that can be imported; --large
adds MobileNetV2 and ResNet-18, which need torch, and --write puts this on docs/performance.md. --software is
for devices that are: seconds are those of all cores that the process takes, so that machines may be busy.
--decoders measures Llamas with random weights instead: tokens a second by OpenCL, from host to host.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import gpu_decoders
from benchmarks.gpu_clocks import Clock, Now, OpenCLClock, VulkanClock
from benchmarks.gpu_networks import Network, large, small, whole
from benchmarks.llama_cpp import SIZES
from benchmarks.results import machine, table, write_section
from edgekit import api
from edgekit.codegen.gpu.ast import F32X4, I32, U32, U32X4, GpuKernel, dot4, number, splat
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.dialect import used
from edgekit.codegen.gpu.plan import Dispatch, plan
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.ir import Graph

_WORDS = 1 << 22  # vectors of 16 bytes that the ceiling of memory is measured with
_ITEMS = 1 << 16  # ... and items, each with so many rounds of 32 products, that of arithmetic
_ROUNDS = 256
_FACTORS = 4  # words of a round, each with each
_MODELS = Path(__file__).parents[2] / "shared" / "models" / "mlperf_tiny"
_SOFTWARE = """\
No GPU was available: both devices are software on the processor below. The figures show how kernels compare
with each other and with ncnn's, and say nothing about a GPU. The script runs on a GPU without changes.

"""
_NOTE = """\
The share is a kernel's roofline time divided by its measured time: the minimum time to move each of its bytes
once, or to compute its products, whichever is longer on the device; data in caches may take less. Small
layers are dominated by the cost of a dispatch.{seconds}

{ceilings}
"""
_BESIDE = """ ncnn {version} is
also on Vulkan; "float16" is its way to store and compute with 16 bits, on matrix units where the device has
them. WebGPU checks the bounds of each access, which ncnn's shaders do not. The last column compares floats of
32 and of 16 bits."""
Measured = Sequence[tuple[Dispatch, float]]  # seconds


@dataclass(frozen=True)
class Ceilings:
    """Of a device: bytes, products of floats and of bytes in a second; seconds of a kernel without work."""

    bytes: float
    reals: float
    integers: float
    nothing: float

    def seconds(self, d: Dispatch) -> float:
        """The least that a kernel could take."""
        return max(_moved(d) / self.bytes, d.macs / (self.reals if _is_real(d.kernel) else self.integers))

    def or_higher(self, other: Ceilings) -> Ceilings:
        """Of two measurements: what disturbed one of them may have left the other alone, and clocks rise."""
        return Ceilings(
            max(self.bytes, other.bytes),
            max(self.reals, other.reals),
            max(self.integers, other.integers),
            min(self.nothing, other.nothing),
        )

    def words(self, name: str) -> str:
        return (
            f"- {name}: {self.bytes / 1e9:.1f} GB/s,\n"
            f"  {self.reals / 1e9:.1f} billion products of floats and "
            f"{self.integers / 1e9:.1f} of int8 in a second; {1e6 * self.nothing:.0f} us a dispatch."
        )


def _moved(d: Dispatch) -> int:
    return sum(span.size for span in d.spans)


def _is_real(kernel: GpuKernel) -> bool:
    """Does it multiply floats? How they are stored does not matter."""
    return any(op == "*" and kind.scalar == "f32" for op, kind in used(kernel))


def ceilings(clock: Clock) -> Ceilings:
    moved = clock.seconds(GpuCall(_copies(), (0, 1), {}, _WORDS // 64), [16 * _WORDS] * 2)
    products = 32 * _ROUNDS * _ITEMS
    reals = clock.seconds(GpuCall(_multiplies(), (0,), {}, _ITEMS // 64), [16 * _ITEMS])
    integers = min(
        clock.seconds(GpuCall(_multiplies_bytes(from_memory), (0, 1), {}, _ITEMS // 64), [4 * _ITEMS] * 2)
        for from_memory in (False, True)
    )
    of_bytes = 4 * _FACTORS**2 * _ROUNDS * _ITEMS
    nothing = clock.seconds(GpuCall(_copies(), (0, 1), {}, 1), [1024] * 2)
    return Ceilings(32 * _WORDS / moved, products / reals, of_bytes / integers, nothing)


def _copies() -> GpuKernel:
    k = KernelBuilder("copies")
    x, y = k.buffer("x", U32X4), k.buffer("y", U32X4, writes=True)
    k.store(y, k.item, x[k.item])
    return k.done()


def _multiplies() -> GpuKernel:
    """Eight sums of four floats, which do not wait for one another."""
    k = KernelBuilder("multiplies")
    y = k.buffer("y", F32X4, writes=True)
    sums = [k.var("sum", splat(number(i, F32X4.one))) for i in range(8)]
    factor = k.let("factor", y[k.item])
    with k.loop("i", 0, _ROUNDS):
        for total in sums:
            k.set(total, total * factor + factor)
    for total in sums[1:]:
        k.set(sums[0], sums[0] + total)
    k.store(y, k.item, sums[0])
    return k.done()


def _multiplies_bytes(from_memory: bool) -> GpuKernel:
    """Sums of the products of four bytes, each of these words with each of those. Where words come from
    decides how compilers unpack them."""
    k = KernelBuilder("multiplies_bytes")
    x, y = k.buffer("x", U32), k.buffer("y", U32, writes=True)
    sums = [k.var("sum", number(i, I32)) for i in range(_FACTORS**2)]
    factors = [k.let("factor", y[k.item] + i) for i in range(_FACTORS)]
    with k.loop("i", 0, _ROUNDS) as i:
        numbers = (x[i * _FACTORS + n] if from_memory else (i + n).to(U32) for n in range(_FACTORS))
        words = [k.let("word", n * 0x01010101) for n in numbers]
        for n, total in enumerate(sums):
            k.set(total, dot4(words[n // _FACTORS], factors[n % _FACTORS], total))
    for total in sums[1:]:
        k.set(sums[0], sums[0] + total)
    k.store(y, k.item, sums[0].bits(U32))
    return k.done()


def timed(graph: Graph, clock: Clock) -> Iterator[tuple[Dispatch, float]]:
    """The kernels of a model, and the seconds that they take; equal ones are measured once."""
    known: dict[Any, float] = {}
    for d in plan(graph).dispatches:
        sizes = [span.size for span in d.spans]
        key = (d.kernel.name, tuple(sorted(d.values.items())), tuple(sizes), d.groups)
        if key not in known:
            known[key] = clock.seconds(GpuCall(d.kernel, tuple(range(len(sizes))), d.values, d.groups), sizes)
        yield d, known[key]


def layers(graph: Graph, clock: Clock, most: Ceilings) -> list[list[str]]:
    """Rows of all kernels, the one that takes longest first."""
    found = sorted(timed(graph, clock), key=lambda pair: -pair[1])
    return [
        [
            d.origin[:40],
            d.kernel.name,
            f"{1e6 * s:,.1f}",
            f"{d.macs:,}",
            f"{_moved(d):,}",
            _share(most, [(d, s)]),
        ]
        for d, s in found
    ]


def _share(most: Ceilings, measured: Measured) -> str:
    least = sum(most.seconds(d) for d, _ in measured)
    return f"{100 * least / sum(seconds for _, seconds in measured):.1f} %"


def kinds(title: str, found: Sequence[Measured], most: Sequence[Ceilings]) -> Iterator[list[str]]:
    """Rows of all kinds of kernels in a network, on each device."""
    for name in dict.fromkeys(d.kernel.name for d, _ in found[0]):
        own = [[(d, s) for d, s in measured if d.kernel.name == name] for measured in found]
        row = [title, name, str(len(own[0]))]
        for ceiling, measured in zip(most, own, strict=True):
            row += [f"{1e6 * sum(s for _, s in measured):,.0f}", _share(ceiling, measured)]
        yield row


def section(networks: Sequence[Network], library: str, now: Now) -> Iterator[str]:
    """All networks on both devices, as a page shows them: whole ones first, then more and more of their
    kernels. A run that ends early leaves what it has measured."""
    vulkan = VulkanClock(now)
    clocks: list[Clock] = [OpenCLClock(library, now), vulkan]
    most = [ceilings(clock) for clock in clocks]
    wholes = f"Whole networks on {vulkan.name}, from host to host, in turns."
    if now is time.process_time:
        wholes = _SOFTWARE + wholes
    header = ["network", *(f"{form}, us" for form in networks[0].forms)]
    if find_spec("ncnn"):
        wholes += _BESIDE.format(version=version("ncnn"))
        header += ["ncnn float32, us", "ncnn float16, us", "ncnn / EdgeKit"]
    rows = []
    for network in networks:
        micros = whole(network, vulkan, now)
        rows.append([network.title, *(f"{us:,.0f}" for us in micros)])
        if len(micros) > len(network.forms):
            of_float32, of_float16 = micros[3] / micros[0], micros[4] / micros[1]
            rows[-1].append(f"{of_float32:.2f}, {of_float16:.2f}")
        yield f"{wholes}\n\n{table(header, rows)}\n\n{machine()}."
    wholes += f"\n\n{table(header, rows)}"
    found: list[tuple[str, list[Measured]]] = []
    for network in networks:
        for form, graph in network.forms.items():
            found.append((f"{network.title}, {form}", [list(timed(graph, clock)) for clock in clocks]))
            yield f"{wholes}\n\n{_of_kernels(found, clocks, most, now)}\n\n{machine()}."
    most = [ceilings(clock).or_higher(first) for clock, first in zip(clocks, most, strict=True)]
    yield f"{wholes}\n\n{_of_kernels(found, clocks, most, now)}\n\n{machine()}."


def _of_kernels(
    found: Sequence[tuple[str, Sequence[Measured]]],
    clocks: Sequence[Clock],
    most: Sequence[Ceilings],
    now: Now,
) -> str:
    """The kernels of networks, beneath what their devices can do at most."""
    names = [clock.name for clock in clocks]
    facts = "\n".join(ceiling.words(name) for ceiling, name in zip(most, names, strict=True))
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
        most = ceilings(clock)
        header = ["layer", "kernel", "us", "MACs", "bytes", "of the ceiling"]
        rows = [row for model in wanted.models_of_yours for row in layers(api.convert(model), clock, most)]
        print(f"{table(header, rows)}\n\n{most.words(clock.name)}")
        return
    networks = [*small(wanted.models), *(large() if wanted.large else ())]
    for text in section(networks, wanted.library, now):
        print(text, flush=True)
        if wanted.write:
            write_section("gpu", "GPUs" + ", on devices of software" * wanted.software, text)


if __name__ == "__main__":
    main()
