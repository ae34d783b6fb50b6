"""What reports say of a path for GPUs: which layers run where, and what is copied between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from edgekit.codegen.gpu.device import GpuDevice
from edgekit.codegen.gpu.plan import CpuSegment, Dispatch, GpuPlan
from edgekit.codegen.gpu.times import RunTime, run_time
from edgekit.core.ir import Graph


@dataclass(frozen=True)
class PlacedLayer:
    """A layer of the source model."""

    origin: str
    operator: str
    runs_on: Literal["gpu", "cpu"]


@dataclass(frozen=True)
class CpuSegmentSummary:
    """Layers that the CPU computes between GPU segments."""

    layers: tuple[PlacedLayer, ...]
    read_bytes: int  # from the device, in each run
    written_bytes: int  # to the device


@dataclass(frozen=True)
class GpuSummary:
    """The path of a library for GPUs."""

    dispatches: int  # kernels that a run starts
    weight_bytes: int  # on the device
    arena_bytes: int  # on the device, for any entry
    layers: tuple[PlacedLayer, ...]  # in the order of execution
    segments: tuple[CpuSegmentSummary, ...] = ()
    state_bytes: int = 0  # of a stream, on the device
    time: RunTime | None = None  # on the device that was asked for


def summary(plan: GpuPlan, *others: GpuPlan, device: GpuDevice | None = None) -> GpuSummary:
    """Of the plan of a library's main entry, beside which there may be others; with its time on a device."""
    segments = tuple(_segment(plan, segment) for segment in plan.segments)
    return GpuSummary(
        len(plan.dispatches),
        len(plan.weights),
        max(each.arena_bytes for each in (plan, *others)),
        tuple(_layers(plan, segments)),
        segments,
        plan.state_bytes,
        run_time(plan, device) if device else None,
    )


def _layers(plan: GpuPlan, segments: tuple[CpuSegmentSummary, ...]) -> Iterator[PlacedLayer]:
    """Each layer once for each operator of it."""
    start = 0
    for segment, found in zip(plan.segments, segments, strict=True):
        yield from _on_gpu(plan.dispatches[start : segment.before])
        yield from found.layers
        start = segment.before
    yield from _on_gpu(plan.dispatches[start:])


def _on_gpu(dispatches: Sequence[Dispatch]) -> Iterator[PlacedLayer]:
    for layer, _ in groupby(PlacedLayer(d.origin, d.operator, "gpu") for d in dispatches):
        yield layer


def _segment(plan: GpuPlan, segment: CpuSegment) -> CpuSegmentSummary:
    graph, inputs = segment.graph, len(segment.graph.inputs)
    sizes = [
        graph.type(name).bytes * (span.where != "input" and plan.uses(span))  # else it is the caller's
        for name, span in zip((*graph.inputs, *graph.outputs), segment.spans, strict=True)
    ]
    layers = tuple(dict.fromkeys(_placed(graph)))
    return CpuSegmentSummary(layers, sum(sizes[:inputs]), sum(sizes[inputs:]))


def _placed(graph: Graph) -> Iterator[PlacedLayer]:
    for node in graph.nodes:
        yield PlacedLayer(node.origin or node.outputs[0], type(node.op).__name__, "cpu")
