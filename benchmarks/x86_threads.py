"""Larger networks with two threads, against the fastest of LiteRT, ONNX Runtime, ncnn, MNN and OpenVINO.

    pip install litert-torch ai-edge-quantizer pnnx ncnn MNN openvino nncf    (beside torch and bench)
    python -m benchmarks.x86_threads [--only MobileNet] [--dry]

Everything is made first; then it waits until nothing else runs on the machine. Runtimes take turns; before
each turn all sleep, because the threads of the one before spin for a while.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from benchmarks.results import busy, machine, table, taken_now, write_section
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
`edgekit quantize --strict-int8`, ai-edge-quantizer, ONNX Runtime's with a scale for each channel, NNCF.
ncnn's quantizer is a program that its package lacks, and MNN's failed on other networks: they take part in
floats only. Weights are random. Peers run with their defaults except for threads and float32.
Answers were compared with torch's; dB are those of int8, EdgeKit's first. {missing}
{load}

{peers}. {machine}.
"""


def ours(source: Source, kind: str, target: str, threads: int, folder: Path) -> Peer:
    """EdgeKit's library, called as the others are."""
    graph = api.convert(source.onnx(folder))
    if kind == "int8":
        # All layers, as the others do: random weights lose so much that some would have 16 bits.
        samples = {"x": np.concatenate(source.images(4))}
        graph = api.quantize_model(graph, samples, strict_int8=True, progress=lambda _: None)[0]
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


@dataclass(frozen=True)
class Prepared:
    """Everything that runs a network, and how close the answers are, in decibels."""

    title: str
    kind: str
    close: Mapping[str, float]
    runners: Mapping[str, Peer]  # whose answers are right


def prepared(source: Source, kind: str, target: str, threads: int, folder: Path) -> Prepared:
    """What runs a network. Wrong answers take no part."""
    (image,) = source.images(1)
    with torch.no_grad():
        expected: Array = source.net(torch.from_numpy(image)).numpy()
    runners = {OURS: ours(source, kind, target, threads, folder)}
    runners |= dict(peers(source, kind, threads, folder))
    close = {}
    for name, peer in runners.items():
        peer.run()
        close[name] = decibels(peer.answer(), expected)
    right = {name: peer for name, peer in runners.items() if close[name] >= LEAST[kind]}
    title = f"{source.title}, {kind}"
    print(title, *(f"{name} {value:.0f} dB" for name, value in close.items()), sep="  ", flush=True)
    if OURS not in right:
        sys.exit(f"error: EdgeKit's answer to {title} is {close[OURS]:.1f} dB")
    return Prepared(title, kind, close, right)


def main() -> None:
    """Make everything, wait for a quiet machine, measure, print, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--target", default="x86-64-avx512")
    parser.add_argument("--only", default="", help="part of a title")
    parser.add_argument("--kinds", nargs="*", default=["float32", "int8"])
    parser.add_argument("--dry", action="store_true", help="print only, on a busy machine, too")
    options = parser.parse_args()
    chosen = [source for source in networks() if options.only in source.title]
    with tempfile.TemporaryDirectory() as scratch:
        ready = []
        for kind in options.kinds:
            for number, source in enumerate(chosen):
                folder = Path(scratch) / f"{kind}{number}"
                folder.mkdir()
                ready.append(prepared(source, kind, options.target, options.threads, folder))
        while not options.dry and taken_now() > MAX_LOAD:
            pass
        text = measured(ready, options.rounds, options.threads)
    print(text)
    if not options.dry:
        write_section("x86_threads", f"x86-64 with {options.threads} threads", text)


def measured(ready: Sequence[Prepared], rounds: int, threads: int) -> str:
    """The table and its note."""
    load = busy()
    rows: list[list[str]] = []
    gains: dict[str, list[float]] = {}
    missing = []
    for each in ready:
        timing = compare(each.runners, rounds)
        others = [name for name in each.runners if name != OURS]
        missing += [f"{name} ({each.title})" for name in each.close if name not in each.runners]
        ratio = timing.ratio(min(others, key=timing.best), OURS)
        gains.setdefault(each.kind, []).append(ratio)
        row = [each.title, f"{timing.best(OURS):.2f}", f"{ratio:.2f}"]
        row.append(", ".join(f"{name} {timing.best(name):.2f}" for name in others))
        rows.append([*row, ", ".join(f"{dB:.0f}" for dB in each.close.values()) * (each.kind == "int8")])
        print(*rows[-1], sep="  ", flush=True)
    for kind, ratios in gains.items():
        rows.append([f"geometric mean, {kind}", "", f"{_mean(ratios):.2f}", "", ""])
    if len(gains) > 1:
        rows.append(["geometric mean", "", f"{_mean(chain(*gains.values())):.2f}", "", ""])
    note = _NOTE.format(
        threads=threads,
        rounds=rounds,
        turn=_SECONDS * 1e3,
        pause=_PAUSE * 1e3,
        missing=f"Left out, because their answers differ: {', '.join(missing)}." if missing else "",
        load=load(),
        peers=versions(),
        machine=machine(),
    ).strip()
    return table(["ms", OURS, "times faster", "peers", "dB"], rows) + "\n\n" + note


def _mean(ratios: Iterable[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


if __name__ == "__main__":
    main()
