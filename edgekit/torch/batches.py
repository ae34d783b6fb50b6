"""Results of samples that run as one batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import batched, sample_axes, together
from edgekit.core.types import Array


def results_at_once(graph: Graph, samples: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """What a graph gives for samples that run as one batch: along the dimension that counts them."""
    axes = sample_axes(graph)
    many = batched(graph, len(samples), in_front=True)
    values = {
        name: together(np.concatenate([sample[name] for sample in samples], axes[name]), axes[name])
        for name in graph.inputs
    }
    found = simulate.run(many, values)
    return {name: _back(found[name], axes[name]) for name in graph.outputs}


def _back(y: Array, axis: int) -> Array:
    return np.moveaxis(y.squeeze(axis + 1), 0, axis) if axis else y
