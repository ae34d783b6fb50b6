"""Several cores against one, in one program and in turn: the table of docs/performance.md.

    python -m benchmarks.cores [--threads 2] [--only FOLDER]

`--only` leaves the programs in a folder and runs none, for another machine: each prints a line of the table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.results import machine, table, taken_now, write_section
from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost.bench import CLOCK, built, setting
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.types import DType, Type

SECONDS = 2  # that a program runs for
TURNS = 4  # of all programs
MAX_LOAD = 0.5  # of the other programs on this machine, in processors
FASTEST = """A virtual machine may have two threads of one core for seconds, which do the work of one:
only the fastest runs tell what two cores do."""


class Net:
    """Layers of convolutions with random weights."""

    def __init__(self, *shape: int) -> None:
        self.b = Builder()
        self.numbers = np.random.default_rng(1)
        self.x = self.b.input("x", Type(DType.F32, (1, *shape)))

    def conv(self, outputs: int, kernel: int = 1, stride: int = 1, *, hi: float = 6.0) -> None:
        """A convolution; 0 outputs: a depthwise one."""
        depth = self.b.type(self.x).shape[-1]
        groups = 1 if outputs else depth
        outputs = outputs or depth
        weights = self.numbers.normal(size=(outputs, kernel, kernel, depth // groups)).astype(np.float32)
        weights /= np.float32(np.sqrt(weights[0].size))
        bias = self.numbers.normal(size=outputs).astype(np.float32)
        low = 0.0 if np.isfinite(hi) else -np.inf
        op = Conv2d((stride, stride), (kernel // 2,) * 4, groups=groups, lo=low, hi=hi)
        self.x = self.b.one(op, self.x, self.b.const(weights), self.b.const(bias))

    def graph(self, name: str) -> Graph:
        return self.b.graph(name, ["x"], [self.b.one(Reduce("mean", (1, 2)), self.x)])


def ds_cnn() -> Graph:
    """Keyword spotting, as MLPerf Tiny's: 2.6 million multiplications."""
    net = Net(49, 10, 1)
    net.conv(64, 5, 2)
    for _ in range(4):
        net.conv(0, 3)
        net.conv(64)
    return net.graph("ds_cnn")


def mobilenet_v1() -> Graph:
    """Visual wake words, as MLPerf Tiny's: MobileNetV1 of a quarter of the width, 96 by 96."""
    net = Net(96, 96, 3)
    net.conv(8, 3, 2)
    for outputs, stride in (
        (16, 1),
        (32, 2),
        (32, 1),
        (64, 2),
        (64, 1),
        (128, 2),
        *[(128, 1)] * 5,
        (256, 2),
        (256, 1),
    ):
        net.conv(0, 3, stride)
        net.conv(outputs)
    return net.graph("mobilenet_v1")


def mobilenet_v2() -> Graph:
    """MobileNetV2 at 224 by 224: 300 million."""
    net = Net(224, 224, 3)
    net.conv(32, 3, 2)
    depth = 32
    for factor, outputs, count, first in (
        *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
        *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
    ):
        for i in range(count):
            before = net.x
            if factor > 1:
                net.conv(depth * factor)
            net.conv(0, 3, first if i == 0 else 1)
            net.conv(outputs, hi=np.inf)
            if i:
                net.x = net.b.one(Add(), before, net.x)
            depth = outputs
    net.conv(1280)
    return net.graph("mobilenet_v2")


def detector() -> Graph:
    """The backbone of a small detector, 3 by 3 convolutions as YOLO-n has them, 320 by 320."""
    net = Net(320, 320, 3)
    for outputs, count in ((16, 0), (32, 1), (64, 2), (128, 2), (256, 1)):
        net.conv(outputs, 3, 2)
        for _ in range(count):
            before = net.x
            net.conv(outputs // 2, 3)
            net.conv(outputs, 3)
            net.x = net.b.one(Add(), before, net.x)
    return net.graph("detector")


Run: TypeAlias = Callable[[], Iterable[float]]  # the fastest on one core and on several, in us
Measured: TypeAlias = tuple[str, str, Program, Run]  # network, format
NETWORKS = {"keyword spotting": ds_cnn, "visual wake words": mobilenet_v1, "MobileNetV2 224": mobilenet_v2}
NETWORKS["detector 320"] = detector


def numbers(graph: Graph) -> Iterator[tuple[str, Graph]]:
    yield "float32", graph
    shape = graph.type("x").shape
    samples = np.random.default_rng(2).normal(size=(2, *shape)).astype(np.float32)
    yield "int8", api.quantize_model(graph, {"x": samples}, io="int8", strict_int8=True)[0]


def program_of(program: Program, threads: int) -> str:
    """C that prints the fastest run on one core and on several."""
    ports = [f"p{i}" for i in range(len(program.inputs) + len(program.outputs))]
    given = ", ".join([*ports, "arena"])
    lines = [CLOCK, *setting(program), '#include "edgekit/threads.h"', "static struct ek_threads threads;"]
    lines.append(f"""
int main(void)
{{
    prepare();
    if (ek_threads_start(&threads, {threads}) != {threads})
        return 1;
    double one = 1e9, all = 1e9;
    for (const double end = microseconds() + {SECONDS}e6; microseconds() < end;) {{
        double start = microseconds();
        {program.name}_run({given});
        const double alone = microseconds() - start;
        {program.name}_run_parallel({given}, &threads.pool); /* so that no thread is asleep */
        start = microseconds();
        {program.name}_run_parallel({given}, &threads.pool);
        const double together = microseconds() - start;
        one = alone < one ? alone : one;
        all = together < all ? together : all;
    }}
    printf("%.1f %.1f\\n", one, all);
    ek_threads_stop(&threads);
    return 0;
}}
""")
    return "\n".join(lines)


def executables(threads: int, folder: Path) -> Iterator[tuple[str, str, Program, Path]]:
    target = replace(targets.load("x86-64-avx2"), cores=threads)
    target = replace(target, cflags=(*target.cflags, "-pthread", "-static"))
    for title, network in NETWORKS.items():
        for kind, graph in numbers(network()):
            program = fit(graph, target)
            own = folder / f"{program.name}_{kind}"
            own.mkdir(parents=True)
            made = built(program, own, toolchain.find(target), "speed", program_of(program, threads))
            yield title, kind, program, made


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", type=Path)
    options = parser.parse_args(arguments)
    if options.only:
        for title, kind, program, path in executables(options.threads, options.only):
            print(f"{title}, {kind}: {path}, {program.macs:,} MACs", flush=True)
        return 0
    return write("cores", "Several cores", options.threads, natively)


def natively(threads: int, folder: Path) -> Iterator[Measured]:
    for title, kind, program, path in executables(threads, folder):
        yield title, kind, program, partial(times, path)


def times(path: Path) -> Iterator[float]:
    return map(float, subprocess.run([path], capture_output=True, text=True, check=True).stdout.split())


def write(
    script: str, title: str, threads: int, measure: Callable[[int, Path], Iterable[Measured]], note: str = ""
) -> int:
    """Write a section of docs/performance.md, unless the machine is busy."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        networks = list(measure(threads, Path(scratch)))
        if (taken := taken_now()) > MAX_LOAD:
            print(f"error: the machine is busy: other programs take {taken:.1f} processors", file=sys.stderr)
            return 1
        turns = [[tuple(run()) for *_, run in networks] for _ in range(TURNS)]
    for (network, kind, program, _), found in zip(networks, zip(*turns, strict=True), strict=True):
        one, several = map(min, zip(*found, strict=True))
        name, macs = f"{network}, {kind}", f"{program.macs / 1e6:.1f}"
        rows.append([name, macs, f"{one:.0f}", f"{several:.0f}", f"{one / several:.2f}"])
    head = ["network", "M MACs", "one core, us", f"{threads} threads, us", "times as fast"]
    how = f"the fastest of all runs, in turn for {TURNS} times {SECONDS} s"
    text = f"{machine()}; {how}.\n{FASTEST}\n{note}\n{table(head, rows)}\n"
    write_section(script, title, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
