"""Recurrent layers that skip masked steps, wherever these are: steps are gathered, and have a length.

A masked step leaves the state as it was, so that a layer over the other steps alone, in their order, computes
the same. Results return to all steps: a masked step has that of the last step before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from edgekit.converters.semantics.movement import cast, part, where
from edgekit.converters.semantics.recurrent import RecurrentLayer, Result
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.scatter import Scatter
from edgekit.core.types import DType


def skipping(layer: RecurrentLayer, mask: Tensor | None, run: Callable[[RecurrentLayer], Result]) -> Result:
    """The layer over the steps where the mask [T, B] is true; y is 0 before the first of them."""
    if mask is None or (mask.data is not None and mask.data.all()):
        return run(layer)
    steps, batch = mask.shape
    counts = cast(mask, DType.S32).apply(Cumulative("sum", 0, reverse=layer.reverse))
    x = layer.x.apply(Gather(0), _order(mask, counts).reshape(steps, batch, 1))
    lengths = part(counts, 0, 0 if layer.reverse else steps - 1, 1).reshape(batch)
    y, h, c = run(replace(layer, x=x, lengths=lengths, reverse=False))
    before = y.like(np.zeros((1, batch, layer.size)))
    return concat([before, y], 0).apply(Gather(0), counts.reshape(steps, batch, 1)), h, c


def _order(mask: Tensor, counts: Tensor) -> Tensor:
    """The steps that are not masked, in the order of their counts; then any."""
    steps, batch = mask.shape
    places = where(mask, counts - 1, steps)  # masked steps share a place after the last
    numbers = np.broadcast_to(np.arange(steps, dtype=np.int32)[:, None], mask.shape)
    empty = counts.like(np.zeros((steps + 1, batch)))
    return part(empty.apply(Scatter(0), places, counts.like(numbers)), 0, 0, steps)
