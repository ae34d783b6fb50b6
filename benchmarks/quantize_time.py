"""How long `edgekit quantize` takes for networks of about 16 M MACs with 32 samples, on two cores."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from benchmarks.reliability.networks import Layers
from benchmarks.results import busy, machine, table, write_section
from edgekit import api
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Gelu, HardSwish, Sigmoid
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.recurrent import Gru

_SAMPLES, _CORES = 32, 2
_LIMIT_S = 60  # on the clock
_NOTE = """\
`edgekit quantize` with {samples} drawn samples and its defaults, on {cores} cores; {limit} s are allowed.
Networks have random weights, and the encoder outliers in the channels of its norms, so that int8 alone is
too noisy and mixed precision is searched, too. `clock` starts when the samples are in memory."""


def mobilenet(n: Layers) -> Graph:
    """Inverted residuals over an image of 96 x 96, as in MobileNetV2 of half the width."""
    x = n.conv(n.input(1, 96, 96, 3), 16, stride=2, hi=6.0)
    x = n.conv(n.depthwise(x, hi=6.0), 8, 1, lo=-np.inf)
    for outputs, stride in (
        *((16, 2), (16, 1), (16, 2), (16, 1), (32, 2), (32, 1)),
        *((48, 1), (48, 1), (80, 2), (80, 1), (160, 1), (160, 1)),
    ):
        wide = n.conv(x, 6 * n.shape(x)[3], 1, hi=6.0)
        y = n.conv(n.depthwise(wide, stride=stride, hi=6.0), outputs, 1, lo=-np.inf)
        x = n.add(Add(), x, y) if n.shape(x) == n.shape(y) else y
    return n.graph(n.dense(n.mean(n.conv(x, 640, 1)), 100))


def keywords(n: Layers) -> Graph:
    """Depthwise separable convolutions over a spectrum, as in DS-CNN."""
    x = n.conv(n.input(1, 49, 10, 1), 160, (10, 4), (2, 2))
    for _ in range(5):
        x = n.conv(n.depthwise(x), 160, 1)
    return n.graph(n.dense(n.mean(x), 12))


def recognizer(n: Layers) -> Graph:
    """Lines of text: channels weighed by the whole image, and a GRU over the columns."""
    x = n.add(HardSwish(), n.conv(n.input(1, 32, 160, 1), 16, stride=2, lo=-np.inf))
    for outputs, stride in ((24, (2, 1)), (40, (2, 1)), (72, (2, 2)), (72, (1, 1))):
        y = n.add(HardSwish(), n.conv(x, 3 * n.shape(x)[3], 1, lo=-np.inf))
        y = n.add(HardSwish(), n.depthwise(y, 5, stride=stride, lo=-np.inf))
        size = n.shape(y)[3]
        weights = n.conv(n.conv(n.mean(y, keepdims=True), size // 4, 1), size, 1, lo=-np.inf)
        x = n.conv(n.add(Mul(), y, n.add(Sigmoid(), weights)), outputs, 1, lo=-np.inf)
    _, height, width, channels = n.shape(x)
    columns = n.flat(x, height * width, 1, channels)
    return n.graph(n.dense(n.recurrent(columns, 96, Gru()), 96))


def encoder(n: Layers) -> Graph:
    """Three layers of a transformer, whose norms have outliers as large ones have."""

    def norm(x: str) -> str:
        size = n.shape(x)[-1]
        scale = n.rng.uniform(0.5, 1.5, size)
        scale[:3] *= 30
        return n.add(LayerNorm(1e-5), x, scale, n.rng.standard_normal(size) * 0.1)

    x = n.input(48, 96)
    for _ in range(3):
        x = norm(n.add(Add(), x, n.attention(x, 4)))
        x = norm(n.add(Add(), x, n.dense(n.add(Gelu(), n.dense(x, 384)), 96)))
    return n.graph(n.dense(x, 16))


NETWORKS: tuple[Callable[[Layers], Graph], ...] = (mobilenet, keywords, recognizer, encoder)


@dataclass(frozen=True)
class Quantized:
    """What came of one network."""

    macs: int
    clock: float  # s
    processor: float  # s
    strict_db: float  # in int8 alone
    sqnr_db: float

    @staticmethod
    def of(number: int) -> Quantized:
        graph = NETWORKS[number](Layers(1))
        samples = [simulate.random_inputs(graph, seed) for seed in range(_SAMPLES)]
        stacked = {name: np.stack([sample[name] for sample in samples]) for name in graph.inputs}
        clock, processor = time.perf_counter(), time.process_time()
        _, found = api.quantize_model(graph, stacked, progress=lambda step: None)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        macs = sum(node.op.macs(*(graph.type(name) for name in node.inputs)) for node in graph.nodes)
        strict = found.mixed.sqnr_before_db if found.mixed else found.sqnr_db
        return Quantized(macs, clock, processor, strict, found.sqnr_db)


def main() -> None:
    """Measure, print, write docs/performance.md."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_CORES])
    said = busy()
    rows, slowest = [], 0.0
    for number, network in enumerate(NETWORKS):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            found = alone.submit(Quantized.of, number).result()
        slowest = max(slowest, found.clock)
        quality = [f"{found.strict_db:.1f}", f"{found.sqnr_db:.1f}"]
        times = [f"{found.clock:.1f}", f"{found.processor:.1f}"]
        rows.append([network.__name__, f"{found.macs / 1e6:.1f}", *quality, *times])
        print(*rows[-1], flush=True)
    head = ["network", "M MACs", "int8 alone, dB", "dB", "clock, s", "processor, s"]
    note = _NOTE.format(samples=_SAMPLES, cores=_CORES, limit=_LIMIT_S)
    text = f"{note}\n\n{table(head, rows)}\n\n{machine()}. {said()}"
    write_section("quantize_time", "The time to quantize", text)
    if slowest > _LIMIT_S:
        raise SystemExit(f"{slowest:.0f} s are too many")


if __name__ == "__main__":
    main()
