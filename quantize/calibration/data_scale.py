"""Warns of calibration data on another scale than in training, such as pixels of 0 to 255 instead of 0 to 1.

Training makes biases about as large as what the data make of a layer's sums. A first layer whose biases are
hundreds of times smaller or larger than the spread of its results was not trained on such data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.ops._linear import Linear
from edgekit.quantize.calibration.observe import Statistics

# Biases over the spread of results. Of ten trained networks of images and sounds on their own data it is 0.2
# to 1.6, and 31 in an autoencoder of spectra; on data 255 times as large it is below 0.005 (0.09 in the
# autoencoder), on data 255 times as small above 34.
_TOO_LARGE, _TOO_SMALL = 0.02, 50.0
_SPREAD = 4.0  # standard deviations from the least to the largest result of a channel, about


def scale_warnings(graph: Graph, statistics: Mapping[str, Statistics]) -> Iterator[str]:
    """A sentence for each input that seems to be on another scale than in training."""
    for name in graph.inputs:
        seen, ratio = statistics.get(name), bias_ratio(graph, name, statistics)
        if seen is None or ratio is None or _TOO_LARGE <= ratio <= _TOO_SMALL:
            continue
        is_large = ratio < _TOO_LARGE
        factor = round(1 / ratio if is_large else ratio)
        than = "smaller" if is_large else "larger"
        yield (
            f"input {name} is {seen.low:.4g} to {seen.high:.4g}, which seems too "
            f"{'large' if is_large else 'small'} for this model: the biases of its first layer are "
            f"{factor:,} times {than} than what the data make of its results. Are the data normalized as in "
            "training? (--raw float32 --mean M --std S puts that into the model)"
        )


def bias_ratio(graph: Graph, name: str, statistics: Mapping[str, Statistics]) -> float | None:
    """The size of the biases of the first layer behind an input, over the spread of its results; None where
    there is no such layer, or where it has no biases."""
    seen = statistics.get(name)
    if seen is None or seen.low == seen.high:
        return None
    moved = {name}
    for node in graph.nodes:
        if moved.isdisjoint(node.inputs):
            continue
        bias = graph.data(node.inputs[2]) if isinstance(node.op, Linear) else None
        results = statistics.get(node.outputs[0])
        if bias is not None and results is not None:
            assert results.lows is not None
            assert results.highs is not None
            spread = np.sqrt(np.square(results.highs - results.lows).mean()) / _SPREAD
            size = np.sqrt(np.square(bias.astype(np.float64)).mean())
            return float(size / spread) if size and spread else None
        if not node.op.is_data_movement:
            return None
        moved.update(node.outputs)
    return None
