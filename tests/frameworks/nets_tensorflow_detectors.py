"""What follows the network in detectors of TensorFlow: a suppression for each class, and the best of all."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from nets_tensorflow import RNG, Net, net
from nets_tensorflow_ops import function

Rows = Sequence[Any]  # boxes, scores and classes, a row each
Select = Callable[[Any, Any], tuple[Any, Any]]  # of boxes and scores of a class: those that are selected


def detector(classes: int, select: Select, finish: Callable[[Rows], Rows], boxes: int = 20) -> Net:
    """Boxes of whole numbers, some of no area, and scores of which many are equal."""

    def body(given: Any, scores: Any) -> Any:
        found = []
        for c in range(classes):
            chosen, best = select(given, tf.reshape(scores[:, c : c + 1], [-1]))
            found.append((chosen, best, tf.zeros_like(best) + c))
        return finish(by_score([tf.concat(parts, 0) for parts in zip(*found, strict=True)]))

    first = RNG.integers(0, 9, (boxes, 2))
    corners = np.concatenate([first, first + RNG.integers(0, 6, first.shape)], 1)
    scores = RNG.integers(0, 9, (boxes, classes)) / 8
    return function(body, corners.astype(np.float32), scores.astype(np.float32))


def by_score(rows: Rows) -> Rows:
    scores = rows[1]
    order = tf.nn.top_k(scores, tf.shape(scores)[0]).indices
    return taken(rows, order)


def taken(rows: Rows, index: Any) -> Rows:
    return [tf.gather(x, index) for x in rows]


def kept(rows: Rows, condition: Any) -> Rows:
    return taken(rows, tf.cast(tf.reshape(tf.where(condition), [-1]), tf.int32))


def area(boxes: Any) -> Any:
    top, left, bottom, right = tf.split(boxes, 4, 1)
    return tf.squeeze((bottom - top) * (right - left), [1])


def first(rows: Rows, most: int) -> Rows:
    return taken(rows, tf.range(tf.minimum(most, tf.shape(rows[1])[0])))


def filled(rows: Rows, total: int) -> Rows:
    """Cut or padded to a fixed number of rows, which the number of those there are follows."""

    def fixed(x: Any, *sizes: int) -> Any:
        beyond = tf.shape(x) - np.int32(sizes)
        x = tf.slice(x, tf.zeros_like(beyond), tf.where(beyond > 0, np.int32(sizes), -1))
        missing = np.int32(sizes) - tf.shape(x)
        return tf.reshape(tf.pad(x, tf.stack([tf.zeros_like(missing), missing], 1)), sizes)

    boxes, scores, numbers = rows
    count = tf.cast(tf.shape(scores)[0], tf.float32)
    return [fixed(boxes, total, 4), fixed(scores, total), fixed(numbers, total), count]


def clipped(rows: Rows, total: int) -> Rows:
    """Boxes within a window, those of no area left out, and of these the best."""
    boxes, scores, numbers = rows
    rows = [tf.clip_by_value(boxes, 1.0, 8.0), scores, numbers]
    rows = kept(rows, area(rows[0]) > 0)
    boxes, scores, numbers = rows
    scores = tf.where(tf.cast(area(boxes), tf.bool), scores, -tf.ones_like(scores))
    good = tf.reduce_sum(tf.cast(scores >= 0, tf.int32))
    rows = first(by_score([boxes, scores, numbers]), total)
    there = tf.shape(rows[1])[0]
    return filled(taken(rows, tf.range(tf.where(there > good, good, there))), total)


def padded_rows(most: int, least: float, sigma: float = 0.0) -> Select:
    """As many rows for each class: the score of those beyond the selected ones is -1."""

    def select(boxes: Any, scores: Any) -> tuple[Any, Any]:
        size = tf.minimum(most, tf.shape(boxes)[0])
        index, best = tf.image.non_max_suppression_with_scores(boxes, scores, size, 0.5, least, sigma)
        there = tf.shape(index)[0]
        index = tf.concat([index, tf.zeros(size - there, tf.int32)], 0)
        best = tf.concat([best, tf.zeros(size - there)], -1)
        return tf.gather(boxes, index), tf.where(tf.range(size) < there, best, -tf.ones(size))

    return select


def selected_rows(index_of: Callable[[Any, Any], Any]) -> Select:
    def select(boxes: Any, scores: Any) -> tuple[Any, Any]:
        index = index_of(boxes, scores)
        return tf.gather(boxes, index), tf.gather(scores, index)

    return select


@net()
def detections() -> Net:
    return detector(3, padded_rows(7, 0.3), lambda rows: clipped(rows, 8))


@net()
def detections_of_seven_classes() -> Net:
    return detector(7, padded_rows(30, 0.0), lambda rows: clipped(rows, 100), boxes=12)


@net()
def detections_of_soft_suppression() -> Net:
    return detector(2, padded_rows(9, 0.2, 0.5), lambda rows: clipped(rows, 6))


@net()
def detections_of_nothing() -> Net:
    return detector(2, padded_rows(5, 2.0), lambda rows: clipped(rows, 4))


@net()
def detections_one_by_one() -> Net:
    """As many rows for each class as there are."""

    def index_of(boxes: Any, scores: Any) -> Any:
        return tf.image.non_max_suppression(boxes, scores, 6, 0.4, 0.5)

    return detector(3, selected_rows(index_of), lambda rows: filled(first(rows, 11), 11))


@net()
def detections_by_threshold() -> Net:
    """Of those that the suppression selects, the ones with a good score."""

    def index_of(boxes: Any, scores: Any) -> Any:
        return tf.raw_ops.NonMaxSuppressionV2(
            boxes=boxes, scores=scores, max_output_size=8, iou_threshold=0.3
        )

    def finish(rows: Rows) -> Rows:
        return filled(kept(rows, rows[1] > 0.5), 20)

    return detector(2, selected_rows(index_of), finish)


@net()
def suppressions() -> Net:
    """Padded results, and those of candidates that a condition has chosen."""

    def body(boxes: Any, scores: Any) -> Any:
        index, there = tf.raw_ops.NonMaxSuppressionV4(
            boxes=boxes,
            scores=scores,
            max_output_size=25,
            iou_threshold=0.5,
            score_threshold=0.3,
            pad_to_max_output_size=True,
        )
        some, some_scores = kept([boxes, scores], scores < 0.8)
        size = tf.minimum(6, tf.shape(some)[0])
        few = tf.raw_ops.NonMaxSuppression(boxes=some, scores=some_scores, max_output_size=size)
        few = tf.gather(some, few)
        pairs = tf.where(tf.reshape(scores, [4, 5]) > 0.7)
        return index, there, tf.reduce_sum(few, 0), tf.size(few), tf.reduce_sum(pairs, 0), tf.shape(pairs)

    _, (boxes, scores) = detector(1, padded_rows(1, 0.0), by_score)
    return function(body, boxes, scores[:, 0])


def combined(per_class: bool, images: int, classes: int, most: int, total: int) -> Net:
    """All classes by one operator, for several images; each class may have boxes of its own."""

    def body(boxes: Any, scores: Any) -> Any:
        return tf.image.combined_non_max_suppression(
            boxes, scores, most, total, 0.4, 0.3, pad_per_class=not per_class, clip_boxes=per_class
        )

    first = RNG.integers(0, 9, (images, 12, classes if per_class else 1, 2))
    corners = np.concatenate([first, first + RNG.integers(0, 6, first.shape)], -1) / 8
    scores = RNG.permutation(images * 12 * classes).reshape(images, 12, classes) / (images * 12 * classes)
    return function(body, corners.astype(np.float32), scores.astype(np.float32))


@net()
def combined_suppression() -> Net:
    return combined(False, 2, 3, 2, 50)


@net()
def combined_suppression_of_each_class() -> Net:
    return combined(True, 1, 4, 5, 9)
