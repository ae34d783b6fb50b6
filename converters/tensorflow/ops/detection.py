"""The choice of boxes, and of elements by conditions: so many as there are, with room for the most."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, pad, part
from edgekit.converters.semantics.open_rows import first_rows, open_sizes, whole
from edgekit.converters.semantics.selected_rows import filled
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import non_max_suppression, non_zero
from edgekit.core.ops._strided import RANK
from edgekit.core.ops.gather import GatherND
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


def CombinedNonMaxSuppression(
    boxes: Tensor,
    scores: Tensor,
    per_class: Tensor,
    total: Tensor,
    limit: Tensor,
    least: Tensor,
    *,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
) -> dict[str, Tensor]:
    """The best boxes of all classes of each image, 0 for missing ones. A class may have its own boxes."""
    fits = boxes.rank == 4 and scores.rank == 3 and boxes.shape[:2] == scores.shape[:2]
    if not fits or boxes.shape[2] not in (1, scores.shape[2]) or boxes.shape[3] != 4:
        raise EdgeKitError("E0401", f"a suppression of {boxes.type} by {scores.type}")
    if limit.data is not None and not 0 <= scalar(limit, "the iou_threshold") <= 1:
        raise EdgeKitError("E0401", "the iou_threshold of a suppression is not between 0 and 1")
    most, size = (int(scalar(x, "a size of CombinedNonMaxSuppression")) for x in (per_class, total))
    images, n, classes = scores.shape
    if most < 1 or size < 1 or not images * n * classes:
        raise EdgeKitError("E0401", f"a suppression of {scores.type} to {most} boxes a class, {size} in all")
    size = min(size, most * classes) if pad_per_class else size
    boxes.builder.afford((images, size, 4))
    most = min(most, n)
    op = non_max_suppression.NonMaxSuppression(most, min(size, most * classes), ranked=True)
    limit, least = limit.reshape(), least.reshape()
    found = []
    for i in range(images):
        own, by_box = (part(x, 0, i, 1).reshape(*x.shape[1:]) for x in (boxes, scores))
        found.append(_of_image(own, by_box, limit, least, op, size))
    names = ("nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections")
    made = {
        name: concat([x.reshape(1, *x.shape) for x in parts], 0)
        for name, parts in zip(names, zip(*found, strict=True), strict=True)
    }
    return made | ({"nmsed_boxes": made["nmsed_boxes"].clip(0, 1)} if clip_boxes else {})


def _of_image(
    boxes: Tensor,
    scores: Tensor,
    limit: Tensor,
    least: Tensor,
    op: non_max_suppression.NonMaxSuppression,
    size: int,
) -> list[Tensor]:
    """Boxes [size, 4], scores, classes and their number; a class with boxes of its own is as an image."""
    n, kinds, _ = boxes.shape
    scores = scores.transpose(1, 0)
    own = boxes.transpose(1, 0, 2)
    by_class = filled(scores.reshape(kinds, scores.shape[0] // kinds, n), 2, -np.inf)
    rows, best, count = own.apply_all(op, by_class, limit, least)
    label, index = (part(rows, 1, i, 1) for i in (0 if kinds > 1 else 1, 2))
    at = concat([label if kinds > 1 else label * 0, index], 1)
    found = [own.apply(GatherND(0), at), best, cast(label.reshape(op.total), DType.F32)]
    found = [filled(x, 0, 0) for x in found]
    return [
        *(whole(pad(x, [0] * x.rank, [size - op.total, *[0] * (x.rank - 1)], "constant")) for x in found),
        cast(count, DType.S32),
    ]


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
