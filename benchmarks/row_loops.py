"""Layers as loops over rows (--optimize ram): the arena, and instructions counted in an emulator.

Needs the networks of MLPerf Tiny and TFLite Micro as TFLite files (--models); MobileNetV2 is made here, with
random weights. `--random` compares random networks with the simulator instead, that many.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
from support.chains import Chain
from support.generated import Library, differences
from support.nets import Net
from support.row_networks import random_row_network

from benchmarks.results import PAGE, table, write_section
from edgekit import api
from edgekit.codegen.cost.instructions import counted
from edgekit.codegen.cost.weight_loads import total_loads
from edgekit.codegen.lowering import row_search
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.recurrent import Gru
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice

NETWORKS = {
    "image classification": "mlperf_tiny/pretrainedResnet_quant",
    "keyword": "mlperf_tiny/kws_ref_model",
    "visual wake words": "mlperf_tiny/vww_96_int8",
    "person_detect": "tflite_micro/person_detect",
}
TARGETS = ("cortex-m4", "cortex-m55")
# Expansion, channels, repetitions and stride of the blocks of MobileNetV2.
_BLOCKS = (
    *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
    *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
)
_BATCH = 20  # random networks in one library
_NOTE = """\
Bytes of the arena on whole tensors and with `--optimize ram`, where the caller has the image, where it is
part of the arena, and where it arrives by rows, of which the arena has those that layers still read. Beside
them what loops over rows cost where the caller has it and where it arrives: instructions counted in QEMU,
while the limit of 3 % is on estimates, and in the first of these bytes of weights that a run loads.
MobileNetV2 0.35 is of 144 by 144 pixels; GRU is a dense layer, a GRU of 128 over 49 steps, and a classifier
of its last result. Both have random weights.

Lowest published figures of the same networks, as their authors state them: image classification 21,104
bytes (HALE), visual wake words 39.6 KB (ST), person_detect about 100 KB (TensorFlow Lite Micro), and
MobileNetV2 0.35 of 144 by 144 pixels by recomputation, the image not counted, 67,905 bytes for 10 % more
products, 15,340 for 38 % more and 7,887 for 68 % more (msf-CNN). None is known of keyword spotting.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--random", type=int, default=0, help="so many random networks")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.random:
        print(_compare(range(given.seed, given.seed + given.random)))
        return
    rows = [
        [f"{title}, {name}", *_measured(graph, name)]
        for name in TARGETS
        for title, graph in _graphs(given.models)
    ]
    head = (
        *("network, target", "arena", "by rows", "instructions", "weights loaded"),
        *("--ports arena", "by rows", "--ports rows", "instructions"),
    )
    text = f"{table(head, rows)}\n\n{_NOTE}"
    write_section("row_loops", "Memory of networks by rows", text, PAGE.with_name("memory.md"))


def _graphs(models: Path) -> Iterator[tuple[str, Graph]]:
    for title, file in NETWORKS.items():
        yield title, api.convert(models / f"{file}.tflite")
    yield "MobileNetV2 0.35", mobilenet_v2(0.35, 144)
    yield "GRU", gru(49, 10, 128)


def _measured(graph: Graph, name: str) -> list[str]:
    plain = target.load(name)
    tight = replace(plain, least_ram=True)
    whole, rows, pushed = fit(graph, plain), fit(graph, tight), fit(graph, tight, "rows")
    inside = [fit(graph, each, "arena") for each in (plain, tight)]
    instructions = [counted(each, "speed").total for each in (whole, rows, pushed)]
    loads = [total_loads(each.lines) or 0 for each in (whole, rows)]
    sizes = [f"{each.arena.size:,}" for each in (whole, rows, *inside, pushed)]
    costs = [
        f"{round(each[-1] / each[0] - 1, 3) + 0.0:+.1%}" for each in (instructions[:2], loads, instructions)
    ]
    return [*sizes[:2], *costs[:2], *sizes[2:], *costs[2:]]


def mobilenet_v2(share: float, size: int) -> Graph:
    """Its layers with random weights of eight bits."""
    chain = Chain(0, (1, size, size, 3))
    same = (1, 1, 1, 1)
    chain.layer(Conv2d((2, 2), same), _channels(32, share), 3, 3, 3)
    for expansion, outputs, count, stride in _BLOCKS:
        for i in range(count):
            start, depth = chain.last, chain.image()[3]
            inner, made = depth * expansion, _channels(outputs, share)
            step = stride if i == 0 else 1
            if expansion > 1:
                chain.layer(Conv2d(), inner, 1, 1, depth)
            chain.layer(Conv2d((step, step), same, groups=inner), inner, 3, 3, 1)
            chain.layer(Conv2d(), made, 1, 1, inner)
            if step == 1 and made == depth:
                chain.add(Add(), start)
    chain.layer(Conv2d(), 1280, 1, 1, chain.image()[3])
    _, height, width, _ = chain.image()
    chain.add(Pool2d("mean", (height, width)))
    chain.add(Reshape((1, 1280)))
    chain.layer(Dense(), 1000, 1280)
    return chain.done("mobilenet_v2")


def gru(steps: int, inputs: int, size: int) -> Graph:
    """A classifier of sequences, with random weights of eight bits."""
    net = Net(seed=0)
    y = net(Reshape((steps, inputs)), net.x(1, steps, inputs))
    y = net(Dense(0.0), y, net.random(48, inputs), net.random(48))
    gates = net(Dense(), y, net.random(3 * size, 48) / 8, net.random(3 * size))
    given = (net.random(3 * size, size) / 8, np.zeros((1, size), np.float32), net.random(size))
    names = (net.const(each, net.dtype.numpy) for each in given)
    y, _ = net.add(Gru(), net(Reshape((steps, 1, 3 * size)), gates), *names)
    y = net(Reshape((1, size)), net(Slice((steps - 1, 0, 0), (1, 1, 1), (1, 1, size)), y))
    graph = net.done(net(Dense(), y, net.random(12, size), net.random(12)))
    samples = {"x": net.random(8, 1, steps, inputs)}
    return api.quantize_model(graph, samples, calibrate="minmax", strict_int8=True, io="int8")[0]


def _channels(count: int, share: float) -> int:
    """A multiple of eight, as the network's authors round."""
    rounded = max(8, int(count * share + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * count * share else rounded


def _compare(seeds: range) -> str:
    """Random networks by rows in two fillings of the arena, beside the simulator."""
    loops = 0
    for first in range(seeds.start, seeds.stop, _BATCH):
        graphs = [random_row_network(seed) for seed in range(first, min(first + _BATCH, seeds.stop))]
        unlimited = mock.patch.object(row_search, "INSTRUCTION_BUDGET", 9.0)
        with unlimited, tempfile.TemporaryDirectory() as folder:
            tight = replace(target.load("host"), least_ram=True)
            programs = [compile_graph(graph, tight) for graph in graphs]
            library = Library(programs, Path(folder))
            if wrong := [text for program in programs for text in differences(library, program)]:
                raise SystemExit("\n".join(wrong))
            loops += sum(program.row_gain is not None for program in programs)
    return f"{len(seeds)} networks, {loops} of them with loops over rows: equal to the simulator"


if __name__ == "__main__":
    main()
