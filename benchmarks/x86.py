"""EdgeKit's code for x86-64 against LiteRT, ONNX Runtime, ncnn and MNN: one thread each, in turns.

Needs the MLPerf Tiny networks as TFLite files (--models), float and int8. ncnn and MNN take part where they
can be imported, MNN in float only; MobileNetV2 in int8 where ai-edge-quantizer can.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.results import machine, table, write_section
from benchmarks.x86_networks import TINY, Network, networks
from benchmarks.x86_peers import Run, peers, versions
from edgekit import api
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.compilation.toolchain import find
from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.types import Array, DType, Type
from edgekit.quantize.mixed_precision.half_precision import narrow

TARGETS = ("x86-64-avx512", "x86-64-avx2")
_OURS, _BF16 = "EdgeKit ", ", weights in bf16"
_SECONDS = 0.002  # of one turn: short runs are repeated

_POOL = """\
#include "net.h"
#include "edgekit/threads.h"

static struct ek_threads threads;

struct ek_pool *net_pool(int count)
{
    return ek_threads_start(&threads, count) == count ? &threads.pool : 0;
}
"""

_NOTE = """\
Microseconds of one inference: the best decile of {rounds} rounds in which all runtimes take turns, each for
about {turn:g} ms. All are called from Python, EdgeKit's library through ctypes; call overhead is included.
Ratios are to the fastest peer; the means are over the MLPerf Tiny networks. {view} Peers run with their
defaults except for one thread and float32: LiteRT uses XNNPACK, ncnn and MNN may use Winograd's algorithm.
int8 networks of ONNX Runtime are made by its own quantizer, those of ncnn with a weight scale for each
output and one for each input. The quantizer in MNN's package raises an exception on these networks, and MNN
fails on one int8 TFLite file and gives out-of-range results for another: it takes part in floats only.

{peers}. {machine}.
"""


@dataclass(frozen=True)
class View:
    """One section of the page."""

    script: str
    title: str
    targets: tuple[str, ...]
    note: str  # which instructions peers use


_VIEW = View(
    "x86",
    "x86-64 against LiteRT, ONNX Runtime, ncnn and MNN",
    TARGETS,
    "All peers use AVX-512 where they\nhave code for it, also beside EdgeKit's code for AVX2.",
)


@dataclass(frozen=True)
class Timing:
    """Microseconds by runner, each round's together."""

    rounds: Sequence[Mapping[str, float]]

    def best(self, name: str) -> float:
        """The slowest of the best tenth."""
        return sorted(r[name] for r in self.rounds)[len(self.rounds) // 10]

    def ratio(self, slow: str, fast: str) -> float:
        return self.best(slow) / self.best(fast)


def library(
    graph: Graph,
    target_name: str,
    folder: Path,
    sample: Mapping[str, Array] | None = None,
    threads: int = 1,
) -> tuple[Program, Run, list[Array]]:
    """EdgeKit as a shared library, what runs it once, on a sample or on fixed numbers, and its outputs."""
    native = replace(target.load(target_name), cores=threads)
    program = compile_graph(graph.with_name("net"), native)
    files = generate(program, "speed")
    write(files, folder)
    names = library_sources(files)
    flags = [*FLAGS, "-O3", *program.target.cflags, "-shared", "-fPIC"]
    if threads > 1:
        (folder / "pool.c").write_text(_POOL)
        flags, names = [*flags, "-pthread"], [*names, "pool.c"]
    find(program.target).run([*flags, *names, "-o", "net.so"], folder)
    made = ctypes.CDLL(str(folder / "net.so"))
    function = made.net_run if threads == 1 else made.net_run_parallel
    ports = [_aligned(port.type.bytes) for port in (*program.inputs, *program.outputs)]
    states = [_aligned(program.state_bytes)] if program.states else []
    memory = [*ports, *states, _aligned(program.arena.size)]
    arguments = [ctypes.c_void_p(m.ctypes.data) for m in memory]
    if threads > 1:
        made.net_pool.restype = ctypes.c_void_p
        arguments.append(ctypes.c_void_p(made.net_pool(threads)))
    for port, buffer in zip(program.inputs, ports, strict=False):
        data = _numbers(port.type) if sample is None else sample[port.name]
        buffer[:] = np.ascontiguousarray(data).reshape(-1).view(np.uint8)

    def run(kept: Sequence[Array] = memory) -> None:
        function(*arguments)

    return program, run, ports[len(program.inputs) :]


def _numbers(type: Type) -> Array:
    """The same ones in each run."""
    steps = np.arange(type.size) * 37
    return (
        (steps % 101 / 50 - 1).astype(np.float32)
        if type.dtype.is_float
        else (steps % 256 - 128).astype(np.int8)
    )


def _aligned(size: int) -> Array:
    whole = np.zeros(size + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + size]


def compare(runs: Mapping[str, Run], rounds: int) -> Timing:
    """Each runner in turns."""
    repeats = {name: max(1, int(_SECONDS / _once(run, 3))) for name, run in runs.items()}
    timings = [{name: _once(run, repeats[name]) * 1e6 for name, run in runs.items()} for _ in range(rounds)]
    return Timing(timings[len(timings) // 10 :])


def _once(run: Callable[[], None], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def measure(network: Network, graph: Graph, rounds: int, targets: Sequence[str]) -> tuple[Timing, list[str]]:
    """How long all take, and the names of the peers."""
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[str, Run] = {}
        for name in targets:
            _, runs[_OURS + name], _ = library(graph, name, Path(folder) / name)
            if not network.is_int8:
                small = narrow(graph, DType.BF16).graph
                _, runs[_OURS + name + _BF16], _ = library(small, name, Path(folder) / (name + "-bf16"))
        others = peers(network, Path(folder))
        runs |= others
        return compare(runs, rounds), list(others)


def main(view: View = _VIEW) -> None:
    """Measure, print, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny .tflite files")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--targets", nargs="*", default=list(view.targets))
    parser.add_argument("--only", default="", help="part of a title, such as `keyword, float`")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    rows: list[list[str]] = []
    halves: list[list[str]] = []
    gains: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for network in networks(arguments.models, Path(folder)):
            title = f"{network.title}, {network.numbers}"
            if arguments.only not in title:
                continue
            graph = api.convert(network.tflite)
            timing, others = measure(network, graph, arguments.rounds, arguments.targets)
            best = min(others, key=timing.best)
            row = [title]
            for name in arguments.targets:
                ratio = timing.ratio(best, _OURS + name)
                if network.title in TINY:
                    gains.setdefault((network.numbers, name), []).append(ratio)
                row += [f"{timing.best(_OURS + name):.1f}", f"{ratio:.2f}"]
            row.append(", ".join(f"{name} {timing.best(name):.1f}" for name in others))
            rows.append(row)
            print(*row, sep="  ", flush=True)
            if not network.is_int8:
                half = [title]
                for ours in (_OURS + name for name in arguments.targets):
                    half += [f"{timing.best(ours + _BF16):.1f}", f"{timing.ratio(ours, ours + _BF16):.2f}"]
                halves.append(half)
    for numbers in dict.fromkeys(numbers for numbers, _ in gains):
        row = [f"geometric mean, {numbers}"]
        for name in arguments.targets:
            row += ["", f"{math.exp(statistics.fmean(map(math.log, gains[numbers, name]))):.2f}"]
        rows.append([*row, ""])
    head = ["us", *(text for name in arguments.targets for text in (name, "times faster")), "peers"]
    facts = {"peers": ", ".join(versions()), "machine": machine(), "view": view.note}
    note = _NOTE.strip().format(rounds=arguments.rounds, turn=_SECONDS * 1e3, **facts)
    text = table(head, rows) + "\n\n" + note
    if halves:
        head = ["weights in bf16, us", *(text for name in arguments.targets for text in (name, "f32 / bf16"))]
        text += "\n\n" + table(head, halves)
    print(text)
    if not arguments.dry:
        write_section(view.script, view.title, text)


if __name__ == "__main__":
    main()
