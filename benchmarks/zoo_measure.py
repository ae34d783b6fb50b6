"""One file of the zoo: whether it is right, what it takes, how well it stands int8, and how fast it is."""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import queue
import resource
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.x86 import compare
from benchmarks.zoo_files import Bindings
from benchmarks.zoo_peers import Peer, peer
from edgekit import api
from edgekit.codegen.compilation.build import generate, run
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.compilation.toolchain import find
from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.execution.runner import is_native
from edgekit.codegen.printing.render import sources
from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification import output_coverage
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array

SAMPLES = 3  # that outputs are compared on
TOLERANCE = 1e-4  # of the range of an output of floats
STEPS = 1  # of a quantized output
CALIBRATION = 32  # samples
UNBOUND = Bindings()
_OURS = "EdgeKit"
_CONTEXT = multiprocessing.get_context("spawn")
_WIDEST = ("x86-64-avx512", "x86-64-avx2", "aarch64-i8mm", "aarch64-dotprod", "aarch64")


@dataclass(frozen=True)
class Result:
    """What came of one file. `fault` is empty where it is right."""

    title: str
    bytes: int
    group: str = ""
    fault: str = ""
    compared: float = 0.0  # share of the outputs that are finite and vary
    flash: int | None = None
    ram: int = 0
    macs: int = 0
    int8: str = ""
    peer: str = ""  # empty where it refuses the file
    refused: str = ""  # its words
    ratio: float | None = None  # of its time to ours
    is_int8: bool = False  # in the file


@dataclass(frozen=True)
class Judged:
    """A graph, samples for it, and how far its compiled code is from the peer."""

    graph: Graph
    samples: Sequence[Mapping[str, Array]]
    choice: int  # of the ranges that the samples are drawn from
    fault: str
    compared: float
    peer: Peer
    refused: str = ""  # the words in which the peer refuses the file


def judge(path: Path, profile: str = "", target_name: str = "host", bound: Bindings = UNBOUND) -> Judged:
    """Compile a model for a target of this machine and compare it with the runtime of its format;
    EdgeKitError where it is refused."""
    graph = api.convert(
        path,
        profile=profile or None,
        dims=bound.dims or None,
        shapes=bound.shapes or None,
        constants=bound.constants or None,
    )
    drawn = output_coverage.drawn(graph, SAMPLES)
    other = peer(path, graph, profile, bound.constants)
    try:
        expected = other.outputs(drawn.samples)
    except Exception as error:  # whatever another runtime raises is its own business
        words = f"{other.name}: {str(error).splitlines()[0].replace(str(path), path.name):.300}"
        return Judged(graph, drawn.samples, drawn.choice, "", 0.0, other, words)
    found = run(graph, target.load(target_name), drawn.samples)
    seen = [dict(zip(graph.outputs, outputs, strict=True)) for outputs in expected]
    compared = min(output_coverage.shares(seen).values(), default=1.0)
    faults = [_fault(graph, name, seen, found) for name in graph.outputs]
    fault = next(filter(None, faults), "")
    return Judged(graph, drawn.samples, drawn.choice, fault, compared, other)


def _fault(
    graph: Graph, name: str, expected: Sequence[Mapping[str, Array]], found: Sequence[Mapping[str, Array]]
) -> str:
    """How far an output is off, where that is too far."""
    right, ours = (np.stack([outputs[name] for outputs in given]) for given in (expected, found))
    if right.shape != ours.shape or right.dtype != ours.dtype:
        return f"{name} is {ours.dtype}{list(ours.shape)}, not {right.dtype}{list(right.shape)}"
    if right.dtype.kind != "f":
        wrong = int((right != ours).sum())
        return f"{wrong} of {right.size} integers of {name} differ" if wrong else ""
    if not np.array_equal(np.isfinite(right), np.isfinite(ours)):
        return f"{name} is finite elsewhere"
    finite = np.isfinite(right)
    off = float(np.abs(ours - right)[finite].max(initial=0))
    span = float(np.ptp(right[finite])) if finite.any() else 0.0
    limit = TOLERANCE * span
    if step := _step(graph, name):
        limit = STEPS * step * 1.001
    return f"{name} is off by {off / (span or 1):.2g} of its range" if off > limit else ""


def _step(graph: Graph, name: str) -> float:
    """The scale of an output that was quantized, and is dequantized at the end."""
    producer = graph.producer(name)
    quant = graph.type(producer.inputs[0]).quant if producer else None
    return quant.scale[0] if quant else 0.0


def measure(
    title: str,
    path: Path,
    profile: str = "",
    bound: Bindings = UNBOUND,
    *,
    rounds: int,
    int8_seconds: float,
    int8_macs: int,
) -> Result:
    """All about a file; a refusal is a result, too."""
    result = Result(title, path.stat().st_size)
    try:
        judged = judge(path, profile, fastest(), bound)
        result = replace(
            result,
            fault=judged.fault,
            compared=judged.compared,
            peer="" if judged.refused else judged.peer.name,
            refused=judged.refused,
            **_sizes(judged.graph),
        )
    except EdgeKitError as error:
        return replace(result, fault=f"{error.code} {error.message}".splitlines()[0])
    if rounds and result.peer:
        result = replace(result, ratio=_ratio(judged, rounds))
    return replace(result, int8=_int8(judged, result.macs, int8_seconds, int8_macs))


def _sizes(graph: Graph) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = api.build(graph, Path(folder) / "out", target=fastest(), verify=False)
    ram = report.working_bytes + report.state_bytes
    return {"flash": report.flash_bytes, "ram": ram, "macs": report.macs, "is_int8": is_quantized(graph)}


def is_quantized(graph: Graph) -> bool:
    """Are there integers in the file that stand for real numbers?"""
    return any(value.type.quant for value in graph.values.values())


def fastest() -> str:
    """The target of this machine whose vectors are widest."""
    return next((name for name in _WIDEST if is_native(target.load(name))), "host")


def _ratio(judged: Judged, rounds: int) -> float | None:
    """The peer's time in ours, both in turns, one thread each."""
    with tempfile.TemporaryDirectory() as folder:
        sample = judged.samples[0]
        other = judged.peer.runner(sample)
        if other is None:
            return None
        runs = {_OURS: _library(judged.graph, Path(folder), sample), judged.peer.name: other}
        return compare(runs, rounds).ratio(judged.peer.name, _OURS)


def _library(graph: Graph, folder: Path, sample: Mapping[str, Array]) -> Callable[[], Any]:
    """EdgeKit's code as a shared library, and what runs it once."""
    program = compile_graph(graph.with_name("net"), target.load(fastest()))
    files = generate(program, "speed")
    write(files, folder)
    names = [name for name in sources(files, "speed") if not name.endswith("_selftest.c")]
    flags = [*FLAGS, "-O3", *program.target.cflags, "-shared", "-fPIC"]
    find(program.target).run([*flags, *names, "-o", "net.so"], folder)
    function = ctypes.CDLL(str(folder / "net.so")).net_run
    memory = [_aligned(port.type.bytes) for port in (*program.inputs, *program.outputs)]
    for port, buffer in zip(program.inputs, memory, strict=False):
        buffer[:] = np.ascontiguousarray(sample[port.name]).reshape(-1).view(np.uint8)
    if program.states:
        memory.append(_aligned(program.state_bytes))
    memory.append(_aligned(program.arena.size))
    arguments = [ctypes.c_void_p(m.ctypes.data) for m in memory]

    def once(kept: Sequence[Array] = memory) -> None:
        function(*arguments)

    return once


def _aligned(size: int) -> Array:
    whole = np.zeros(size + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + size]


def _int8(judged: Judged, macs: int, seconds: float, most_macs: int) -> str:
    """The worst output's signal to noise on samples that calibration has not seen; empty where that was not
    asked for, or the file is quantized itself."""
    if not seconds or macs > most_macs or is_quantized(judged.graph) or judged.graph.states:
        return ""
    for method in ("auto", "percentile"):
        made: Any = _CONTEXT.Queue()
        arguments = (judged.graph, judged.choice, method, math.ceil(seconds), made)
        process = _CONTEXT.Process(target=_quantize, args=arguments)
        process.start()
        process.join()
        try:
            found: str = made.get(timeout=1)
        except queue.Empty:
            continue
        return found if method == "auto" else f"{found} ({method})"
    return f"more than {seconds:.0f} s"


def _quantize(graph: Graph, choice: int, method: str, seconds: int, made: Any) -> None:
    """In a process of its own, which ends with its processor time."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    samples = [simulate.random_inputs(graph, seed, choice) for seed in range(100, 100 + CALIBRATION)]
    stacked = {name: np.stack([sample[name] for sample in samples]) for name in graph.inputs}
    try:
        _, found = api.quantize_model(graph, stacked, calibrate=method)
        made.put(f"{min(found.outputs.values()):.1f} dB")
    except EdgeKitError as error:
        made.put(error.code)
