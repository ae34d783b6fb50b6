"""Non-maximum suppression of TFLite's own operators: indices of boxes, padded with 0, and their number."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, pad, part
from edgekit.converters.tensor import Tensor, scalar
from edgekit.converters.tflite.layer import TfliteLayer
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.types import DType


def NON_MAX_SUPPRESSION_V4(
    layer: TfliteLayer, boxes: Tensor, scores: Tensor, most: Tensor, limit: Tensor, least: Tensor
) -> tuple[Tensor, ...]:
    index, _, count = _suppressed(boxes, scores, most, limit, least, 0.0)
    return index, count


def NON_MAX_SUPPRESSION_V5(
    layer: TfliteLayer,
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    limit: Tensor,
    least: Tensor,
    sigma: Tensor,
) -> tuple[Tensor, ...]:
    width = float(scalar(sigma, "the sigma of NON_MAX_SUPPRESSION_V5"))
    if width < 0:
        raise EdgeKitError("E0401", f"soft suppression with a sigma of {width:g}")
    decay = float(np.float32(-0.5 / width)) if width > 0 else 0.0
    return _suppressed(boxes, scores, most, limit, least, decay)


def _suppressed(
    boxes: Tensor, scores: Tensor, most: Tensor, limit: Tensor, least: Tensor, decay: float
) -> tuple[Tensor, ...]:
    """Indices and scores with room for the most boxes, and how many there are."""
    room = int(scalar(most, "the most boxes of a suppression"))
    if room < 0 or boxes.rank != 2 or scores.rank != 1:
        raise EdgeKitError("E0401", f"a suppression of {boxes.type} by {scores.type} to {room} boxes")
    boxes.builder.afford((room,))
    per_class = min(room, scores.shape[0])
    if not per_class:
        nothing = np.zeros(room)
        return boxes.new(nothing.astype(np.int32)), scores.like(nothing), boxes.new(np.array(0, np.int32))
    op = NonMaxSuppression(per_class, per_class, limit_drops=True, decay=decay)
    operands = scores.reshape(1, 1, *scores.shape), limit.reshape(), least.reshape()
    rows, best, count = boxes.reshape(1, *boxes.shape).apply_all(op, *operands)
    index = cast(part(rows, 1, 2, 1).reshape(per_class), DType.S32)
    behind = [room - per_class]
    return (
        pad(index, [0], behind, "constant"),
        pad(best, [0], behind, "constant"),
        cast(count, DType.S32),
    )
