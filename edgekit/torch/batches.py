"""Samples as tensors, by the names that a graph has for its inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.types import Array


def arrays_of(graph: Graph, calibration: Iterable[Any]) -> list[dict[str, Array]]:
    """Samples, each a tensor or a tuple of them, by the names of inputs."""
    found = []
    for sample in calibration:
        arrays = [np.asarray(x) for x in (sample if isinstance(sample, tuple | list) else (sample,))]
        found.append(dict(zip(graph.inputs, arrays, strict=True)))
    return found
