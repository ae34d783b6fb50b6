"""The choice of boxes, and of elements by conditions: so many as there are, with room for the most."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, pad, part
from edgekit.converters.semantics.open_rows import first_rows, open_sizes, whole
from edgekit.converters.semantics.selected_rows import filled
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import non_max_suppression, non_zero
from edgekit.core.ops._strided import RANK
from edgekit.core.types import DType

_LEAST = float(np.finfo(np.float32).min)


def NonMaxSuppression(boxes: Tensor, scores: Tensor, most: Tensor, *, iou_threshold: float = 0.5) -> Tensor:
    return NonMaxSuppressionV3(boxes, scores, most, scores.like(iou_threshold), scores.like(_LEAST))


def NonMaxSuppressionV2(boxes: Tensor, scores: Tensor, most: Tensor, limit: Tensor) -> Tensor:
    return NonMaxSuppressionV3(boxes, scores, most, limit, scores.like(_LEAST))


def NonMaxSuppressionV3(boxes: Tensor, scores: Tensor, most: Tensor, limit: Tensor, least: Tensor) -> Tensor:
    return _suppressed(boxes, scores, most, limit, least, 0.0, False)[0]


def NonMaxSuppressionV4(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    limit: Tensor,
    least: Tensor,
    *,
    pad_to_max_output_size: bool = False,
) -> dict[str, Tensor]:
    index, _, count = _suppressed(boxes, scores, most, limit, least, 0.0, pad_to_max_output_size)
    return {"selected_indices": index, "valid_outputs": count}


def NonMaxSuppressionV5(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    limit: Tensor,
    least: Tensor,
    sigma: Tensor,
    *,
    pad_to_max_output_size: bool = False,
) -> dict[str, Tensor]:
    """Soft suppression multiplies scores by exp(-overlap^2 / (2 sigma)), and by 0 beyond the limit."""
    width = float(scalar(sigma, "the sigma of NonMaxSuppressionV5"))
    if width < 0:
        raise EdgeKitError("E0401", f"soft suppression with a sigma of {width:g}")
    if width and not scalar(least, "the least score of a soft suppression") >= 0:
        raise EdgeKitError("E0205", "soft suppression with a least score below 0 is not supported")
    decay = float(np.float32(-0.5) / np.float32(width)) if width else 0.0
    index, best, count = _suppressed(boxes, scores, most, limit, least, decay, pad_to_max_output_size)
    return {"selected_indices": index, "selected_scores": best, "valid_outputs": count}


def _suppressed(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor,
    limit: Tensor,
    least: Tensor,
    decay: float,
    is_padded: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Indices and scores of boxes, and how many there are."""
    if boxes.rank != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise EdgeKitError("E0401", f"a suppression of {boxes.type} by {scores.type}")
    if limit.data is not None and not 0 <= scalar(limit, "the iou_threshold") <= 1:
        raise EdgeKitError("E0401", "the iou_threshold of a suppression is not between 0 and 1")
    dtype, n = scores.dtype, scores.shape[0]
    found = None if is_padded else open_sizes(most.reshape(1))
    room = found[0].most if found is not None else int(scalar(most, "the max_output_size of a suppression"))
    if room < 0:
        raise EdgeKitError("E0401", f"a suppression to {room} boxes")
    boxes.builder.afford((room,))
    per_class = min(room, n)
    if not per_class:
        nothing = np.zeros(room if is_padded else 0)
        return boxes.new(nothing.astype(np.int32)), scores.like(nothing), boxes.new(np.array(0, np.int32))
    boxes, scores, limit, least = (cast(x, DType.F32) for x in (boxes, scores, limit, least))
    scores = filled(scores, 0, -np.inf)
    op = non_max_suppression.NonMaxSuppression(per_class, per_class, decay=decay)
    operands = scores.reshape(1, 1, n), limit.reshape(), least.reshape()
    rows, best, count = boxes.reshape(1, n, 4).apply_all(op, *operands)
    count = cast(count, DType.S32)
    chosen = [cast(part(rows, 1, 2, 1).reshape(per_class), DType.S32), cast(best, dtype)]
    if is_padded:
        chosen = [whole(pad(x, [0], [room - per_class], "constant")) for x in chosen]
    if found is not None:
        chosen = [first_rows(x, 0, most) for x in chosen]
        count = count.min(cast(most.reshape(), DType.S32))
    return chosen[0], chosen[1], count


def Where(condition: Tensor) -> Tensor:
    """Where the elements are that are not 0."""
    if condition.data is not None:
        return condition.new(np.argwhere(condition.data))
    if not 1 <= condition.rank <= RANK or not condition.type.size:
        condition.constant("the size of the result of Where")
    for axis in range(condition.rank):
        condition = filled(condition, axis, 0)
    index, _ = condition.apply_all(non_zero.NonZero())
    return index.transpose(1, 0)
