"""Samples that are computed together: one run of a graph of many is faster than many runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.errors import EdgeKitError
from edgekit.ir import Array, Graph
from edgekit.passes.batches import batched
from edgekit.quantize.measure import Sample

_MOST = 32  # samples at once
_MEMORY = 2**26  # bytes for all values of these, about


@dataclass(frozen=True)
class Together:
    """Batches of so many samples, and the graph for one of them."""

    graph: Graph
    count: int
    batches: Sequence[Sample]

    def apart(self, x: Array) -> Sequence[Array]:
        """A value of a batch as the graph of one sample has it."""
        return np.split(x, self.count)


def together(graph: Graph, samples: Sequence[Sample]) -> Sequence[Together]:
    """All samples in their order; one by one where the model mixes them."""
    size = min(_size(graph), len(samples))
    rest = len(samples) % size if size else 0
    whole = len(samples) - rest
    try:
        return [
            Together(batched(graph, n), n, _batches(some, n))
            for n, some in ((size, samples[:whole]), (rest, samples[whole:]))
            if some
        ]
    except EdgeKitError:
        return [Together(graph, 1, samples)]


def _size(graph: Graph) -> int:
    taken = sum(graph.type(name).bytes for node in graph.nodes for name in node.outputs)
    return 1 if graph.states else max(1, min(_MOST, _MEMORY // max(taken, 1)))


def _batches(samples: Sequence[Sample], size: int) -> Sequence[Sample]:
    if size == 1:
        return samples
    starts = range(0, len(samples), size)
    return [
        {name: np.concatenate([sample[name] for sample in samples[i : i + size]]) for name in samples[0]}
        for i in starts
    ]
