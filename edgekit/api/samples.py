"""Samples in all the forms in which the verbs take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from edgekit.core import simulate
from edgekit.core.arguments import array, checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.quantize.gate import labels
from edgekit.samples import arrays
from edgekit.samples.batches import BatchedSamples, is_array, joined, one_array
from edgekit.samples.sample_files import Samples

# By name, for the only input, a file, a folder, or what training loops have: tensors, batches, a DataLoader.
Inputs = Mapping[str, Any] | Array | str | PathLike[str] | Iterable[Any]
RANDOM = "random"  # in the place of calibration data
_RANDOM_SAMPLES = 32
_TYPICAL_SAMPLES = 16  # that are verified: an emulator takes its time for each


@checked
def read_labels(path: str | PathLike[str]) -> Array:
    """The classes of samples, from an .npy file, or an .npz with one array, or with one that is called so."""
    return labels(arrays.labels(Path(path)), Path(path).name)


def labels_of(given: Array) -> Array:
    """Class numbers of what a caller gives for labels."""
    return labels(array(given, "labels"), "labels=")


def random_samples(graph: Graph) -> Sequence[Mapping[str, Array]]:
    return [simulate.random_inputs(graph, seed) for seed in range(_RANDOM_SAMPLES)]


def are_random(samples: Inputs | None) -> bool:
    return isinstance(samples, str) and samples == RANDOM


def samples_of(graph: Graph, samples: Inputs) -> Iterable[Mapping[str, Array]]:
    """Those that the user has, or random ones."""
    return random_samples(graph) if are_random(samples) else _calibration(graph, samples)


def _calibration(graph: Graph, inputs: Inputs) -> Iterable[Mapping[str, Array]]:
    """Samples; those of files and batches are read when their turn comes."""
    if isinstance(inputs, str | PathLike):
        return Samples(Path(inputs), graph)
    if isinstance(inputs, Mapping) or is_array(inputs):
        return arrays.samples(graph, named_inputs(graph, inputs))
    return BatchedSamples.of(graph, inputs)


def typical(graph: Graph, samples: Inputs | None) -> list[Mapping[str, Array]]:
    """The first of the samples, to verify with and to show."""
    if samples is None:
        return []
    if not (found := list(islice(samples_of(graph, samples), _TYPICAL_SAMPLES))):
        raise EdgeKitError("E0110", "there is no sample among the typical inputs")
    return found


def named_inputs(graph: Graph, inputs: Inputs) -> Mapping[str, Array]:
    """Arrays by input; batches are joined."""
    if isinstance(inputs, str | PathLike):
        return arrays.load(Path(inputs), graph)
    if isinstance(inputs, Mapping):
        return {str(name): array(x, f"input {name}") for name, x in inputs.items()}
    if is_array(inputs):
        return one_array(graph, inputs)
    return joined(graph, BatchedSamples.of(graph, inputs))
