"""Samples that run together: what is small takes numpy about as long for many samples as for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import batched
from edgekit.core.types import Array

_MAX_BATCH_SAMPLES = 64  # samples in a stack, whose memory does not grow with the samples that there are
_LARGEST = 1 << 18  # elements of the largest tensor of a stack: more do not fit into caches, and gain nothing
_KEPT = 4  # graphs of many samples: a float graph and one of integers, stacks of two sizes
_ALIKE = 1e-4  # of the largest number: sums of other lengths are added in another order
Sample = Mapping[str, Array]


@dataclass(frozen=True)
class SampleBatch:
    """Samples along the first dimension."""

    count: int
    values: Sample

    @staticmethod
    def of(samples: Sequence[Sample]) -> SampleBatch:
        if len(samples) == 1:
            return SampleBatch(1, samples[0])
        values = {name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]}
        return SampleBatch(len(samples), values)

    def graph(self, graph: Graph) -> Graph:
        """The graph for so many samples."""
        return graph if self.count == 1 else _batched(_SameGraph(graph), self.count)

    def apart(self, x: Array) -> Sequence[Array]:
        """A value of each sample."""
        return np.split(x, self.count)


@dataclass(frozen=True, eq=False)
class _SameGraph:
    """A graph by its identity: to compare what graphs hold takes longer than to make one of many samples."""

    graph: Graph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameGraph) and self.graph is other.graph

    def __hash__(self) -> int:
        return id(self.graph)


@lru_cache(_KEPT)
def _batched(same: _SameGraph, count: int) -> Graph:
    """Stacks follow each other, most of them of as many samples."""
    return batched(same.graph, count)


def stacks(graph: Graph, samples: Sequence[Sample], size: int | None = None) -> list[SampleBatch]:
    """All samples, in order, so many together, or as many as is worth it."""
    if not samples:
        return []
    count = -(-len(samples) // (size or stack_size(graph, samples)))
    return [
        SampleBatch.of([samples[i] for i in part]) for part in np.array_split(np.arange(len(samples)), count)
    ]


def stack_size(graph: Graph, samples: Sequence[Sample]) -> int:
    """How many samples to run together: 1 where the graph does not compute each by itself, as the first of
    them show."""
    largest = max((value.type.size for value in graph.values.values() if value.data is None), default=1)
    size = min(_MAX_BATCH_SAMPLES, _LARGEST // max(largest, 1))
    return size if size > 1 and _each_by_itself(graph, samples[:2]) else 1


def _each_by_itself(graph: Graph, samples: Sequence[Sample]) -> bool:
    if graph.states or len(samples) < 2:
        return False
    stack = SampleBatch.of(samples)
    with np.errstate(all="ignore"):
        try:
            together = simulate.run_all(stack.graph(graph), stack.values)
        except EdgeKitError:  # the first dimension does not count samples
            return False
        alone = [simulate.run_all(graph, sample) for sample in samples]
    return all(
        _alike(together[name], np.concatenate([values[name] for values in alone]))
        for node in graph.nodes
        for name in node.outputs
        if together[name].shape[:1] == (len(samples),)
    )


def _alike(a: Array, b: Array) -> bool:
    if a.shape != b.shape:  # what depends on no sample, and is as long as there are samples
        return False
    if a.dtype.kind != "f" or not a.size:
        return np.array_equal(a, b)
    reach = float(np.abs(b).max(initial=0, where=np.isfinite(b)))
    return np.allclose(a, b, rtol=_ALIKE, atol=_ALIKE * reach, equal_nan=True)
