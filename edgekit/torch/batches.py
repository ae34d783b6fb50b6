"""Samples as arrays by the names of a graph's inputs, from what training loops have.

That is tensors, tuples or dicts of them, with labels or without, in batches of any size or without a batch: a
DataLoader, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import batched, sample_axes, together
from edgekit.core.types import Array
from edgekit.torch.devices import array


def arrays_of(graph: Graph, calibration: Iterable[Any]) -> list[dict[str, Array]]:
    """The samples, each a batch of one, as the graph takes it."""
    batches = [calibration] if isinstance(calibration, Mapping) else calibration
    return [sample for batch in batches for sample in _samples(graph, _by_name(graph, batch))]


def _by_name(graph: Graph, batch: Any) -> dict[str, Array]:
    """The inputs of a batch; what comes after them are labels."""
    if isinstance(batch, Mapping):
        if missing := [name for name in graph.inputs if name not in batch]:
            raise EdgeKitError(
                "E0102",
                f"a calibration sample lacks {', '.join(missing)}",
                hint=f"a dict has the model's inputs: {', '.join(graph.inputs)}",
            )
        return {name: _as_taken(graph, name, batch[name]) for name in graph.inputs}
    given = batch if isinstance(batch, tuple | list) else (batch,)
    if given and isinstance(given[0], Mapping | tuple | list):  # of all inputs, in front of labels
        return _by_name(graph, given[0])
    if len(given) < len(graph.inputs):
        raise EdgeKitError(
            "E0102",
            f"a calibration sample has {len(given)} of {len(graph.inputs)} inputs",
            hint=f"a tuple in this order: {', '.join(graph.inputs)}",
        )
    return {name: _as_taken(graph, name, x) for name, x in zip(graph.inputs, given, strict=False)}


def _as_taken(graph: Graph, name: str, given: Any) -> Array:
    """Floats and integers of any width are those of the input."""
    x, dtype = array(given), graph.type(name).dtype.numpy
    return x.astype(dtype) if x.dtype.kind == dtype.kind else x


def _samples(graph: Graph, batch: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
    """A batch, one by one; it is left as it is where it is none."""
    try:
        axes = sample_axes(graph)
    except EdgeKitError:
        yield dict(batch)
        return
    shapes = {name: graph.type(name).shape for name in batch}
    if all(x.shape == _without(shapes[name], axes[name]) for name, x in batch.items()):
        yield {name: np.expand_dims(x, axes[name]) for name, x in batch.items()}
        return
    counts = {x.shape[axes[name]] if x.ndim == len(shapes[name]) else -1 for name, x in batch.items()}
    rests = [(_without(x.shape, axes[name]), _without(shapes[name], axes[name])) for name, x in batch.items()]
    if len(counts) != 1 or any(found != wanted for found, wanted in rests):
        yield dict(batch)
        return
    for i in range(counts.pop()):
        yield {name: np.take(x, [i], axes[name]) for name, x in batch.items()}


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


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
