"""Samples in all the forms in which the verbs take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from edgekit.codegen.packages import Content
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.quantize.gate import labels
from edgekit.samples import arrays
from edgekit.samples.sample_files import Samples

Inputs = (
    Mapping[str, Array] | Array | str | PathLike[str]
)  # by name, for the only input, or an .npz or .npy file
RANDOM = "random"  # in the place of calibration data
_RANDOM_SAMPLES = 32


def read_labels(path: str | PathLike[str]) -> Array:
    """The classes of samples, from an .npy file, or an .npz with one array, or with one that is called so."""
    return labels(arrays.labels(Path(path)), Path(path).name)


def random_samples(graph: Graph) -> Sequence[Mapping[str, Array]]:
    return [simulate.random_inputs(graph, seed) for seed in range(_RANDOM_SAMPLES)]


def are_random(samples: Inputs | None) -> bool:
    return isinstance(samples, str) and samples == RANDOM


def samples_of(graph: Graph, samples: Inputs) -> Iterable[Mapping[str, Array]]:
    """Those that the user has, or random ones."""
    return random_samples(graph) if are_random(samples) else _calibration(graph, samples)


def _calibration(graph: Graph, inputs: Inputs) -> Iterable[Mapping[str, Array]]:
    """Samples; those of files are read when their turn comes."""
    if isinstance(inputs, str | PathLike):
        return Samples(Path(inputs), graph)
    return arrays.samples(graph, named_inputs(graph, inputs))


def content_of(graph: Graph, classes: Sequence[str], sample: Inputs | None) -> Content:
    """What packages show: of several samples the first."""
    if sample is None:
        return Content(tuple(classes))
    return Content(tuple(classes), arrays.samples(graph, named_inputs(graph, sample))[0])


def named_inputs(graph: Graph, inputs: Inputs) -> Mapping[str, Array]:
    if isinstance(inputs, str | PathLike):
        return arrays.load(Path(inputs), graph)
    if isinstance(inputs, np.ndarray):
        if len(graph.inputs) != 1:
            names = ", ".join(graph.inputs)
            raise EdgeKitError("E0108", f"{graph.name} takes several inputs by name: {names}")
        return {graph.inputs[0]: inputs}
    return inputs
