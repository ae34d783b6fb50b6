"""Larger networks with two threads, against the fastest of LiteRT, ONNX Runtime, ncnn, MNN and OpenVINO.

    pip install litert-torch ai-edge-quantizer pnnx ncnn MNN openvino nncf    (beside torch and bench)
    python -m benchmarks.x86_threads [--only MobileNet] [--dry]

Runtimes take turns; before each turn all sleep, because the threads of the one before spin for a while.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.results import busy, machine, table, write_section
from benchmarks.threads_networks import Source, networks
from benchmarks.threads_peers import LEAST, Peer, decibels, peers, versions
from benchmarks.x86 import Timing, library
from edgekit import api
from edgekit.core.types import Array

OURS = "EdgeKit"
MAX_LOAD = 0.5  # of other programs, in processors
_SECONDS, _PAUSE = 0.03, 0.02  # of a turn, and before it

_NOTE = """\
Milliseconds of one inference on {threads} threads: the best decile of {rounds} rounds in which all runtimes
take turns of about {turn:g} ms, {pause:g} ms after the one before. Ratios are to the fastest peer. Ports are
floats, but for LiteRT's int8 networks. int8 is by each one's own quantizer on the same four images:
`edgekit quantize`, ai-edge-quantizer, ONNX Runtime's with a scale for each channel, NNCF. ncnn's quantizer is
a program that its package lacks, and MNN's raises an exception: they take part in floats only. Weights are
random. Peers run with their defaults except for threads and float32. Answers were compared with torch's; dB
are those of int8, EdgeKit's first. {missing}
{load}

{peers}. {machine}.
"""


def ours(source: Source, kind: str, target: str, threads: int, folder: Path) -> Peer:
    """EdgeKit's library, called as the others are."""
    graph = api.convert(source.onnx(folder))
    if kind == "int8":
        graph = api.quantize_model(graph, {"x": np.concatenate(source.images(4))}, progress=lambda _: None)[0]
    (image,) = source.images(1)
    _, run, (y,) = library(graph, target, folder / "edgekit", {"x": image}, threads)
    return Peer(run, lambda: y.view(np.float32))


def compare(runners: Mapping[str, Peer], rounds: int) -> Timing:
    """Milliseconds of each in turns, with the threads of the others asleep."""
    repeats = {name: max(1, int(_SECONDS / _once(peer, 3))) for name, peer in runners.items()}
    taken: list[dict[str, float]] = []
    for _ in range(rounds):
        taken.append({})
        for name, peer in runners.items():
            time.sleep(_PAUSE)
            peer.run()
            taken[-1][name] = _once(peer, repeats[name]) * 1e3
    return Timing(taken)


def _once(peer: Peer, times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        peer.run()
    return (time.perf_counter() - start) / times


def measure(source: Source, kind: str, options: argparse.Namespace) -> tuple[Timing, dict[str, float]]:
    """How long all take, and how close they are, in decibels. Wrong answers take no part."""
    import torch

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (image,) = source.images(1)
        with torch.no_grad():
            expected: Array = source.net(torch.from_numpy(image)).numpy()
        runners = {OURS: ours(source, kind, options.target, options.threads, folder)}
        runners |= dict(peers(source, kind, options.threads, folder))
        close = {}
        for name, peer in runners.items():
            peer.run()
            close[name] = decibels(peer.answer(), expected)
        right = {name: peer for name, peer in runners.items() if close[name] >= LEAST[kind]}
        if OURS not in right:
            sys.exit(f"error: EdgeKit's answer to {source.title} in {kind} is {close[OURS]:.1f} dB")
        return compare(right, options.rounds), close


def main() -> None:
    """Measure, print, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--target", default="x86-64-avx512")
    parser.add_argument("--only", default="", help="part of a title")
    parser.add_argument("--kinds", nargs="*", default=["float32", "int8"])
    parser.add_argument("--dry", action="store_true", help="print only")
    options = parser.parse_args()
    if not options.dry and os.getloadavg()[0] > MAX_LOAD:
        sys.exit(f"error: the machine is busy: load {os.getloadavg()[0]:.1f}; --dry prints only")
    load = busy()
    rows: list[list[str]] = []
    gains: dict[str, list[float]] = {}
    missing = []
    for kind in options.kinds:
        for source in (s for s in networks() if options.only in s.title):
            timing, close = measure(source, kind, options)
            others = [name for name in timing.rounds[0] if name != OURS]
            missing += [f"{name} ({source.title}, {kind})" for name in close if name not in timing.rounds[0]]
            ratio = timing.ratio(min(others, key=timing.best), OURS)
            gains.setdefault(kind, []).append(ratio)
            row = [f"{source.title}, {kind}", f"{timing.best(OURS):.2f}", f"{ratio:.2f}"]
            row.append(", ".join(f"{name} {timing.best(name):.2f}" for name in others))
            rows.append([*row, ", ".join(f"{close[n]:.0f}" for n in close) if kind == "int8" else ""])
            print(*rows[-1], sep="  ", flush=True)
    for kind, ratios in gains.items():
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        rows.append([f"geometric mean, {kind}", "", f"{mean:.2f}", "", ""])
    left_out = f"Left out, because their answers differ: {', '.join(missing)}." if missing else ""
    note = _NOTE.format(
        threads=options.threads,
        rounds=options.rounds,
        turn=_SECONDS * 1e3,
        pause=_PAUSE * 1e3,
        missing=left_out,
        load=load(),
        peers=versions(),
        machine=machine(),
    ).strip()
    text = table(["ms", OURS, "times faster", "peers", "dB"], rows) + "\n\n" + note
    print(text)
    if not options.dry:
        write_section("x86_threads", "x86-64 with two threads", text)


if __name__ == "__main__":
    main()
