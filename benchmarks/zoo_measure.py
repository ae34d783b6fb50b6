"""One file of the zoo: whether it is right, what it takes, how well it stands int8, and how fast it is."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import machine
from benchmarks.zoo_files import ModelFile
from benchmarks.zoo_int8 import CALIBRATIONS, TEST, int8_quality, int8_quality_of_onnx_runtime
from benchmarks.zoo_peers import Peer, peer
from benchmarks.zoo_times import ratio
from edgekit import api
from edgekit.codegen.compilation.build import run
from edgekit.codegen.execution.runner import is_native
from edgekit.codegen.verification import output_coverage
from edgekit.core import target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array

TOLERANCE = 1e-4  # of the range of an output of floats
STEPS = 1  # of a quantized output
_TOO_FAR = 0.5  # of the range: such a comparison says little
SPREADS = 2  # we, and what we are compared with, are each one away from the exact result
RIGHT, SIZES = "right", "sizes"
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
    spread: float = (
        0.0  # how far the peer differs from itself, as a share of a range; 0 where it need not count
    )
    int8: str = ""  # dB at the worst output, or why there are none
    int8_peer: str = ""  # of the best static method of ONNX Runtime
    peer: str = ""  # empty where it refuses the file
    refused: str = ""  # its words
    ratio: float | None = None  # of its time to ours
    is_int8: bool = False  # in the file
    machine: str = ""  # that times are of
    columns: Sequence[str] = ()  # that were measured, even where nothing can stand there


@dataclass(frozen=True)
class Columns:
    """What is measured beside right and wrong. Each has a name that tells its settings: a result of others is
    measured anew."""

    rounds: int  # 0: no times
    int8_seconds: float  # 0: no int8
    int8_macs: int

    @property
    def times(self) -> str:
        return f"times of {self.rounds} rounds" * bool(self.rounds)

    @property
    def int8(self) -> str:
        macs = f"{self.int8_macs / 1e6:g} M MACs"
        data = f"{CALIBRATIONS} calibrations, {TEST} fresh samples"
        return f"int8 in {self.int8_seconds:g} s of files up to {macs}, {data}" * bool(self.int8_seconds)

    @property
    def int8_peer(self) -> str:
        return f"ONNX Runtime's {self.int8}" * bool(self.int8_seconds)

    def missing(self, known: Result | None) -> list[str]:
        """What a result lacks."""
        return [name for name in self.all() if known is None or name not in known.columns]

    def with_those_of(self, known: Result | None) -> list[str]:
        """All of them, and what a result has of other settings."""
        return list(dict.fromkeys((*(known.columns if known else ()), *self.all())))

    def all(self) -> list[str]:
        return [name for name in (RIGHT, SIZES, self.times, self.int8, self.int8_peer) if name]


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
    spread: float = 0.0


def converted(model: ModelFile, folder: Path) -> Graph:
    """The graph of a file, of a copy in `folder` where it is changed; EdgeKitError where it is refused."""
    bound = model.bindings
    return api.convert(
        model.ready(folder),
        profile=model.profile or None,
        dims=bound.dims or None,
        shapes=bound.shapes or None,
        constants=bound.constants or None,
    )


def read(model: ModelFile, folder: Path) -> Judged:
    """A model that was compared earlier."""
    path, bound, graph = model.ready(folder), model.bindings, converted(model, folder)
    drawn = output_coverage.drawn(graph, model.samples)
    if model.curves:
        drawn = replace(drawn, samples=tuple(map(_as_curves, drawn.samples)))
    other = peer(model.reference(path, folder), graph, model.profile, bound.constants)
    return Judged(graph, drawn.samples, drawn.choice, "", 0.0, other)


def judge(model: ModelFile, folder: Path, target_name: str = "host") -> Judged:
    """Compile a model for a target of this machine and compare it with the runtime of its format."""
    judged = read(model, folder)
    graph, samples, other = judged.graph, judged.samples, judged.peer
    try:
        expected = other.outputs(samples)
    except Exception as error:  # whatever another runtime raises is its own business
        path = model.ready(folder)
        words = f"{other.name}: {str(error).splitlines()[0].replace(str(path), path.name):.300}"
        return replace(judged, refused=words)
    found = run(graph, target.load(target_name), samples)
    seen = [dict(zip(graph.outputs, outputs, strict=True)) for outputs in expected]
    compared = min(output_coverage.shares(seen).values(), default=1.0)
    words = "" if compared else "no output varies on drawn inputs"
    judged = replace(judged, compared=compared, refused=words)
    if any(_fault(graph, name, seen, found) for name in graph.outputs):
        spreads = _spreads(graph, expected, list(other.others(samples)))
        faults = [_fault(graph, name, seen, found, spreads[name]) for name in graph.outputs]
        judged = replace(judged, fault=next(filter(None, faults), ""), spread=max(spreads.values()))
        if SPREADS * judged.spread > _TOO_FAR:
            words = f"{other.name} differs from itself by {judged.spread:.0%} of the range"
            judged = replace(judged, fault="", refused=words)
    return judged


def _as_curves(sample: Mapping[str, Array]) -> dict[str, Array]:
    """Sums along the last two axes: of mean 0, and as large as before."""
    curves = {}
    for name, x in sample.items():
        sums = x
        if x.dtype.kind == "f":
            for axis in range(max(0, x.ndim - 2), x.ndim):
                sums = np.cumsum(sums, axis=axis)
            sums = ((sums - sums.mean()) / max(float(sums.std()), 1e-9)).astype(x.dtype)
        curves[name] = sums
    return curves


def _spreads(
    graph: Graph, expected: Sequence[Sequence[Array]], others: Sequence[Sequence[Sequence[Array]]]
) -> dict[str, float]:
    """How far each output of the peer differs from what it gives with other rounding errors, as a share of
    its range."""
    spreads = dict.fromkeys(graph.outputs, 0.0)
    for i, name in enumerate(graph.outputs):
        right = np.stack([outputs[i] for outputs in expected])
        if right.dtype.kind == "f" and np.isfinite(right).all() and np.ptp(right) > 0:
            for other in others:
                off = np.abs(np.stack([outputs[i] for outputs in other]) - right).max()
                spreads[name] = max(spreads[name], float(off / np.ptp(right)))
    return spreads


def _fault(
    graph: Graph,
    name: str,
    expected: Sequence[Mapping[str, Array]],
    found: Sequence[Mapping[str, Array]],
    spread: float = 0.0,
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
    limit = max(TOLERANCE, SPREADS * spread) * span
    if step := _step(graph, name):
        limit = STEPS * step * 1.001
    return f"{name} is off by {off / (span or 1):.2g} of its range" if off > limit else ""


def _step(graph: Graph, name: str) -> float:
    """The scale of an output that was quantized, and is dequantized at the end."""
    producer = graph.producer(name)
    quant = graph.type(producer.inputs[0]).quant if producer else None
    return quant.scale[0] if quant else 0.0


def measure(
    model: ModelFile, title: str, folder: Path, columns: Columns, known: Result | None = None
) -> Result:
    """All about a file; a refusal is a result, too. Columns that are `known` stay as they are."""
    result = replace(known or Result("", 0), title=title, bytes=model.ready(folder).stat().st_size)
    result = replace(result, group=model.group, columns=tuple(columns.with_those_of(known)))
    missing = columns.missing(known)
    try:
        judged = judge(model, folder, fastest()) if RIGHT in missing else read(model, folder)
    except EdgeKitError as error:
        return replace(result, fault=f"{error.code} {error.message}".splitlines()[0], peer="")
    if RIGHT in missing:
        result = replace(
            result,
            fault=judged.fault,
            compared=judged.compared,
            spread=judged.spread,
            peer="" if judged.refused else judged.peer.name,
            refused=judged.refused,
        )
    result = replace(result, is_int8=is_quantized(judged.graph))
    if SIZES in missing:
        result = replace(result, **_sizes(judged.graph))
    if columns.times in missing:
        found = _ratio(judged, columns.rounds) if result.peer else None
        result = replace(result, ratio=found, machine=machine())
    why_not = _why_no_int8(judged.graph, result.macs, columns)
    if columns.int8 in missing:
        ours = why_not or int8_quality(judged.graph, judged.choice, columns.int8_seconds)
        result = replace(result, int8=ours)
    if columns.int8_peer in missing:
        result = replace(
            result, int8_peer="" if why_not else _int8_peer(model, result, judged, folder, columns)
        )
    return result


def _why_no_int8(graph: Graph, macs: int, columns: Columns) -> str:
    if is_quantized(graph):
        return "quantized"
    if graph.states:
        return "states"
    return "large" if macs > columns.int8_macs else ""


def _int8_peer(model: ModelFile, result: Result, judged: Judged, folder: Path, columns: Columns) -> str:
    if model.format != "ONNX":
        return ""
    if result.refused:
        return "refuses"
    source, bound = model.ready(folder), model.bindings
    return int8_quality_of_onnx_runtime(judged.graph, judged.choice, source, bound, columns.int8_seconds)


def _sizes(graph: Graph) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        report = api.build(graph, Path(folder) / "out", target=fastest(), verify=False)
    ram = report.working_bytes + report.state_bytes
    return {"flash": report.flash_bytes, "ram": ram, "macs": report.macs}


def is_quantized(graph: Graph) -> bool:
    """Are there integers in the file that stand for real numbers?"""
    return any(value.type.quant for value in graph.values.values())


def _ratio(judged: Judged, rounds: int) -> float | None:
    return ratio(judged.graph, judged.peer, judged.samples[0], fastest(), rounds)


def fastest() -> str:
    """The target of this machine whose vectors are widest."""
    return next((name for name in _WIDEST if is_native(target.load(name))), "host")
