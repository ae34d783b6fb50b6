"""The choice of boxes."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.selected_rows import filled
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import non_max_suppression


def NonMaxSuppression(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor | None = None,
    limit: Tensor | None = None,
    least: Tensor | None = None,
    *,
    center_point_box: int = 0,
) -> Tensor:
    """There is room for the most boxes that a model may select; those of constants are counted here."""
    if center_point_box not in (0, 1):
        raise EdgeKitError("E0203", f"center_point_box {center_point_box} is neither 0 nor 1")
    if limit is not None and limit.data is not None and not 0 <= scalar(limit, "iou_threshold") <= 1:
        raise EdgeKitError("E0401", "the iou_threshold of NonMaxSuppression is not between 0 and 1")
    if boxes.rank != 3 or scores.rank != 3:
        raise EdgeKitError("E0401", f"takes boxes[B,N,4] and scores[B,C,N], got {boxes.type}, {scores.type}")
    per_class = 0 if most is None else int(scalar(most, "max_output_boxes_per_class"))
    per_class = min(max(per_class, 0), scores.shape[2])
    total = scores.shape[0] * scores.shape[1] * per_class
    if not total:
        return boxes.new(np.zeros((0, 3), np.int64))
    given, scores = scores, filled(scores, 2, -np.inf)  # of rows that another operator selects
    op = non_max_suppression.NonMaxSuppression(
        per_class, total, centered=bool(center_point_box), least_counts=least is None and scores is given
    )
    limit = boxes.like(0) if limit is None else limit.reshape()
    least = scores.like(-np.inf) if least is None else least.reshape()
    rows, _, count = boxes.apply_all(op, scores, limit, least)
    if rows.data is None or count.data is None:
        return rows
    return boxes.new(rows.data[: int(count.data)])
