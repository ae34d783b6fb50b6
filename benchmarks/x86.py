"""EdgeKit's code for x86-64 against LiteRT, ONNX Runtime and MNN: one thread each, in turns in one process.

Needs the MLPerf Tiny networks as TFLite files (--models), float and int8. MNN takes part in float where it
can be imported: the integers of some of these files end it.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.results import machine, table, write_section
from benchmarks.x86_peers import Run, peers
from edgekit import api, target
from edgekit.codegen.build import generate
from edgekit.codegen.driver import FLAGS
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.publish import write
from edgekit.codegen.render import sources
from edgekit.codegen.toolchain import find
from edgekit.ir import Array, Graph

NETWORKS = {
    "image classification": ("pretrainedResnet", "pretrainedResnet_quant"),
    "keyword": ("kws_ref_model_float32", "kws_ref_model"),
    "visual wake words": ("vww_96_float", "vww_96_int8"),
    "anomaly": ("ad01_fp32", "ad01_int8"),
}
TARGETS = ("x86-64-avx512", "x86-64-avx2")
_OURS = "EdgeKit "
_SECONDS = 0.002  # of one turn: short runs are repeated

_NOTE = """\
Microseconds of one inference: medians of {rounds} rounds in which all take turns, each for about {turn:g} ms.
All are called from Python, EdgeKit's library through ctypes, and the calls are included. Ratios are medians
over the rounds, to the peer with the best median. ONNX Runtime's int8 networks are made by its own quantizer.
{machine}.
"""


@dataclass(frozen=True)
class Timing:
    """Microseconds by runner, each round's together."""

    rounds: Sequence[Mapping[str, float]]

    def median(self, name: str) -> float:
        return statistics.median(r[name] for r in self.rounds)

    def ratio(self, slow: str, fast: str) -> float:
        return statistics.median(r[slow] / r[fast] for r in self.rounds)


def library(graph: Graph, target_name: str, folder: Path) -> tuple[Program, Run]:
    """EdgeKit's code as a shared library, and what runs it once."""
    program = compile_graph(graph.with_name("net"), target.load(target_name))
    files = generate(program, "speed")
    write(files, folder)
    names = [name for name in sources(files, "speed") if not name.endswith("_selftest.c")]
    flags = [*FLAGS, "-O3", *program.target.cflags, "-shared", "-fPIC"]
    find(program.target).run([*flags, *names, "-o", "net.so"], folder)
    function = ctypes.CDLL(str(folder / "net.so")).net_run
    buffers = [_aligned(port.type.bytes) for port in (*program.inputs, *program.outputs)]
    memory = [*buffers, _aligned(program.arena.size)]
    arguments = [ctypes.c_void_p(m.ctypes.data) for m in memory]
    start = int(sum(port.type.size for port in program.inputs))
    values = (np.arange(start) * 37 % 101 / 50 - 1).astype(np.float32)
    for port, buffer in zip(program.inputs, buffers, strict=False):
        is_float = port.type.dtype.is_float
        data = values if is_float else (np.arange(start) * 37 % 256 - 128).astype(np.int8)
        buffer[:] = data[: port.type.size].view(np.uint8)

    def run(kept: Sequence[Array] = memory) -> None:
        function(*arguments)

    return program, run


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


def measure(model: Path, graph: Graph, rounds: int, targets: Sequence[str]) -> tuple[Timing, list[str]]:
    """How long all take, and the names of the peers."""
    with tempfile.TemporaryDirectory() as folder:
        runs: dict[str, Run] = {}
        for name in targets:
            _, runs[_OURS + name] = library(graph, name, Path(folder) / name)
        others = peers(model, Path(folder))
        runs |= others
        return compare(runs, rounds), list(others)


def main() -> None:
    """Measure, print, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny .tflite files")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--targets", nargs="*", default=list(TARGETS))
    parser.add_argument("--only", default="", help="part of the name of a file")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    rows, gains = [], {}
    for kind, numbers in enumerate(("float32", "int8")):
        for title, names in NETWORKS.items():
            if arguments.only not in names[kind]:
                continue
            model = arguments.models / f"{names[kind]}.tflite"
            timing, others = measure(model, api.convert(model), arguments.rounds, arguments.targets)
            best = min(others, key=timing.median)
            row = [f"{title}, {numbers}"]
            for name in arguments.targets:
                ratio = timing.ratio(best, _OURS + name)
                gains.setdefault((numbers, name), []).append(ratio)
                row += [f"{timing.median(_OURS + name):.1f}", f"{ratio:.2f}"]
            row.append(", ".join(f"{name} {timing.median(name):.1f}" for name in others))
            rows.append(row)
            print(*row, sep="  ", flush=True)
    for numbers in ("float32", "int8"):
        row = [f"geometric mean, {numbers}"]
        for name in arguments.targets:
            found = gains.get((numbers, name), [1.0])
            row += ["", f"{math.exp(statistics.fmean(map(math.log, found))):.2f}"]
        rows.append([*row, ""])
    head = ["us", *(text for name in arguments.targets for text in (name, "times faster")), "peers"]
    note = _NOTE.strip().format(rounds=arguments.rounds, turn=_SECONDS * 1e3, machine=machine())
    text = table(head, rows) + "\n\n" + note
    print(text)
    if not arguments.dry:
        write_section("x86", "x86-64 against LiteRT, ONNX Runtime and MNN", text)


if __name__ == "__main__":
    main()
