"""Each kernel on a GPU, as a fraction of what the device can move and multiply.

    python -m benchmarks.gpu [model.ek ...] [--library libOpenCL.so] [--models FOLDER] [--software] [--write]

The ceilings are measured first, by kernels that do nothing else. Every kernel has the time that the slower of
both would take at least: its bytes, each once, or its products. Models that are named are shown layer by
layer, by OpenCL. Without any, the networks of MLPerf Tiny (TFLite files in --models) run by OpenCL and by
WGSL on Vulkan, and as a whole beside ncnn on the same device of Vulkan, where that can be imported; --write
puts this on docs/performance.md. --software is for devices that are: seconds are those of all cores that the
process takes, so that machines may be busy.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks import x86_ncnn
from benchmarks.gpu_clocks import Clock, Now, OpenCLClock, VulkanClock, VulkanNetwork, shortest
from benchmarks.results import machine, table, write_section
from edgekit import api
from edgekit.codegen.gpu.ast import F32X4, I32, U32, U32X4, GpuKernel, dot4, number, splat
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.dialect import used
from edgekit.codegen.gpu.plan import Dispatch, plan
from edgekit.codegen.gpu.use import GpuCall
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from tests.support.tflite_to_onnx import translate

_WORDS = 1 << 22  # vectors of 16 bytes that the ceiling of memory is measured with
_ITEMS = 1 << 16  # ... and items, each with so many rounds of 32 products, that of arithmetic
_ROUNDS = 256
_FACTORS = 4  # words of a round, each with each
_TURNS = 4
_OURS, _NCNN = "EdgeKit", "ncnn"
_MODELS = Path(__file__).parents[2] / "shared" / "models" / "mlperf_tiny"
_NETWORKS = {
    "image classification": ("pretrainedResnet", "pretrainedResnet_quant"),
    "keyword": ("kws_ref_model_float32", "kws_ref_model"),
    "visual wake words": ("vww_96_float", "vww_96_int8"),
}

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
        """Of two measurements: what disturbed one of them may have left the other alone."""
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


def graphs(models: Path) -> Iterator[tuple[str, Graph, Path]]:
    """The networks: title, graph, and the float file that it comes from."""
    for title, (floats, integers) in _NETWORKS.items():
        source = models / f"{floats}.tflite"
        real = api.convert(source)
        yield f"{title}, float32", real, source
        narrow, _ = api.quantize_model(real, None, dtype="f16", activations="f16")
        yield f"{title}, float16", narrow, source
        yield f"{title}, int8", api.convert(models / f"{integers}.tflite"), source


def beside_ncnn(graph: Graph, source: Path, clock: VulkanClock, now: Now) -> tuple[float, float]:
    """Microseconds of the float network as a whole, ours and ncnn's, in turns; both compute the same."""
    (name,) = graph.inputs
    x = np.asarray(simulate.random_inputs(graph, 0)[name])
    right = next(iter(simulate.run(graph, {name: x}).values())).reshape(-1)
    ours = VulkanNetwork(clock, plan(graph))
    _agrees(np.frombuffer(ours.run(x), np.float32)[: right.size], right, 1e-5)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "net.onnx"
        onnx.save(translate(source, layout="NCHW"), model)
        theirs = x.transpose(0, 3, 1, 2) if x.ndim == 4 else x
        run = x86_ncnn.runner(model, Path(folder), theirs, vulkan=True)
        _agrees(np.array(run()).reshape(-1), right, 1e-2)  # Winograd's algorithm
        turns = [
            (shortest(lambda n: _times(n, lambda: ours.run(x)), now), shortest(lambda n: _times(n, run), now))
            for _ in range(_TURNS)
        ]
    first, second = (1e6 * min(column) for column in zip(*turns, strict=True))
    return first, second


def _times(n: int, run: Callable[[], object]) -> None:
    for _ in range(n):
        run()


def _agrees(found: Array, right: Array, tolerance: float) -> None:
    assert np.abs(found - right).max() <= tolerance * np.abs(right).max(), "results differ"


def section(models: Path, library: str, now: Now) -> str:
    """All networks on both devices."""
    vulkan = VulkanClock(now)
    clocks: list[Clock] = [OpenCLClock(library, now), vulkan]
    found = list(graphs(models))
    first = [ceilings(clock) for clock in clocks]
    measured = [[list(timed(graph, clock)) for clock in clocks] for _, graph, _ in found]
    most = [ceilings(clock).or_higher(ceiling) for clock, ceiling in zip(clocks, first, strict=True)]
    names = [clock.name for clock in clocks]
    facts = "\n".join(ceiling.words(name) for ceiling, name in zip(most, names, strict=True))
    seconds = " Times are those of all cores together." if now is time.process_time else ""
    columns = [word for name in names for word in (f"{name.split(',')[0]}, us", "share")]
    rows = [row for (title, _, _), of in zip(found, measured, strict=True) for row in kinds(title, of, most)]
    text = _SOFTWARE * bool(seconds) + _NOTE.format(ceilings=facts, seconds=seconds)
    text += "\n" + table(["network", "kernel", "layers", *columns], rows)
    if find_spec("ncnn"):
        rows = []
        for title, graph, source in found:
            if title.endswith("float32"):
                ours, theirs = beside_ncnn(graph, source, vulkan, now)
                rows.append([title, f"{ours:,.0f}", f"{theirs:,.0f}", f"{theirs / ours:.2f}"])
        text += f"\n\nWhole networks on {vulkan.name}, from host to host, in turns;\n"
        text += (
            f"ncnn {version('ncnn')} also on Vulkan, without 16-bit floats. WebGPU checks the bounds of each"
        )
        text += "\naccess, which ncnn's shaders do not; these may use Winograd's algorithm.\n\n"
        text += table(["network", f"{_OURS}, us", f"{_NCNN}, us", f"{_NCNN} / {_OURS}"], rows)
    return f"{text}\n\n{machine()}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models_of_yours", nargs="*", metavar="model")
    parser.add_argument("--library", default="libOpenCL.so.1", help="the file of OpenCL")
    parser.add_argument("--models", type=Path, default=_MODELS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--software", action="store_true")
    wanted = parser.parse_args()
    now = time.process_time if wanted.software else time.perf_counter
    if wanted.models_of_yours:
        clock = OpenCLClock(wanted.library, now)
        most = ceilings(clock)
        header = ["layer", "kernel", "us", "MACs", "bytes", "of the ceiling"]
        rows = [row for model in wanted.models_of_yours for row in layers(api.convert(model), clock, most)]
        print(f"{table(header, rows)}\n\n{most.words(clock.name)}")
        return
    text = section(wanted.models, wanted.library, now)
    if wanted.write:
        write_section("gpu", "Kernels of GPUs, on devices of software", text)
    print(text)


if __name__ == "__main__":
    main()
