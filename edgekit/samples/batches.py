"""Samples as arrays by the names of a graph's inputs, from what training loops have.

That is tensors, tuples or dicts of them, with labels or without, in batches of any size or without a batch: a
DataLoader, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from edgekit.core.arguments import array
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import sample_axes
from edgekit.core.types import Array
from edgekit.samples import arrays


def arrays_of(graph: Graph, calibration: Iterable[Any]) -> list[dict[str, Array]]:
    """The samples, each a batch of one, as the graph takes it."""
    batches = [calibration] if isinstance(calibration, Mapping) else calibration
    return [sample for batch in batches for sample in _samples(graph, _by_name(graph, batch))]


@dataclass(frozen=True)
class BatchedSamples:
    """The same as the graph takes them exactly, each checked when its turn comes; they can be gone through
    again."""

    graph: Graph
    batches: Iterable[Any]

    @staticmethod
    def of(graph: Graph, batches: Iterable[Any]) -> BatchedSamples:
        return BatchedSamples(graph, list(batches) if isinstance(batches, Iterator) else batches)

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        for batch in self.batches:
            for sample in arrays_of(self.graph, [batch]):
                yield from arrays.samples(self.graph, sample)


def joined(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """Samples as one array for each input: the first dimension counts them, that of a batch of 1 if there is
    one."""
    every = list(samples)
    if not every:
        raise EdgeKitError("E0110", "there is no sample in what was given for the inputs")
    is_batch = {name: graph.type(name).shape[:1] == (1,) for name in graph.inputs}
    return {
        name: (np.concatenate if is_batch[name] else np.stack)([sample[name] for sample in every])
        for name in graph.inputs
    }


def is_array(given: object) -> bool:
    """Is it one array, of any library, rather than several? Lists of numbers are one, too."""
    return hasattr(given, "__array__") or _is_numbers(given)


def _is_numbers(given: object) -> bool:
    while isinstance(given, list | tuple) and given:
        given = given[0]
    return isinstance(given, Number)


def one_array(graph: Graph, given: Any) -> dict[str, Array]:
    """An array for the only input. Lists have no type of numbers: they get that of the input."""
    name = f"input {graph.inputs[0]}" if len(graph.inputs) == 1 else "the argument"
    found = arrays.by_input(array(given, name), "the argument", graph)
    return {name: _as_taken(graph, name, x) for name, x in found.items()} if _is_numbers(given) else found


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
    x, dtype = array(given, f"input {name}"), graph.type(name).dtype.numpy
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
