"""TFLite_Detection_PostProcess, with which detectors of TensorFlow's Object Detection API end."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from edgekit.converters.semantics.movement import cast, expand, pad, part, where
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.tflite.layer import TfliteLayer, dequantized, labelled, raw
from edgekit.core import fixed
from edgekit.core.builder import MAX_ELEMENTS
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.logic import Less
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.quantize import Dequantize
from edgekit.core.ops.rank import TopK
from edgekit.core.types import DType, Quant

CUSTOM = "TensorFlow"
_COUNTS = ("max_detections", "max_classes_per_detection", "detections_per_class", "num_classes")
_SMALLEST = float(np.finfo(np.float32).tiny)  # number above 0
_WITHOUT_OPTION = 100  # detections of a class


def TFLite_Detection_PostProcess(
    layer: TfliteLayer, encodings: Tensor, predictions: Tensor, anchors: Tensor
) -> tuple[Tensor, ...]:
    """Boxes, classes and scores with room for the most detections, and how many there are; others are 0."""
    o = Options.of(layer)
    n, every = _sizes(encodings, predictions, anchors, o)
    predictions.builder.afford((o.most * o.each, 4))
    boxes, scores = _decoded(encodings, anchors, o), raw(predictions)
    quant = layer.quant_of(predictions) if predictions.dtype.is_integer else None
    least, least_counts = _least(predictions.dtype, quant, o.least)
    per_class = min(o.per_class if o.regular else o.most, n)
    total = min(o.most, o.classes * per_class) if o.regular else per_class
    op = NonMaxSuppression(
        per_class,
        total,
        ranked=o.regular,
        classes_last=True,
        background=every - o.classes,
        agnostic=not o.regular,
        least_counts=least_counts,
    )
    limit = boxes.like(o.limit)
    rows, best, count = boxes.reshape(1, n, 4).apply_all(op, scores, limit, scores.like(least))
    box = part(rows, 1, 2, 1).reshape(total)
    classes, values, each = part(rows, 1, 1, 1), best.reshape(total, 1), 1
    if not o.regular and o.each > 1:
        each = min(o.each, o.classes)
        of_classes = part(scores.reshape(n, every), 1, every - o.classes, o.classes)
        values, classes = indexing.Gather(of_classes, box).apply_all(TopK(1, each))
    chosen = expand(indexing.Gather(boxes, box).reshape(total, 1, 4), (total, each, 4))
    used = box.like(np.arange(total)).apply(Less(), count)
    outputs = []
    for x in (chosen, cast(classes, DType.F32), _real(values, quant)):
        there = where(used.reshape(total, *(1,) * (x.rank - 1)), x, 0)
        outputs.append(_with_room(there, o.most, 1 if o.regular else o.each, o.most * o.each))
    return *outputs, cast(count, DType.F32).reshape(1)


def _sizes(encodings: Tensor, predictions: Tensor, anchors: Tensor, o: Options) -> tuple[int, int]:
    """The boxes, and the classes with the background."""
    if encodings.rank == predictions.rank == 3:
        batch, n, every = predictions.shape
        fits = encodings.shape[:2] == (batch, n) == (1, n) and encodings.shape[2] >= 4
        if fits and n and anchors.shape == (n, 4) and every - o.classes in (0, 1):
            return n, every
    message = f"boxes {encodings.type}, scores {predictions.type} and anchors {anchors.type} do not fit"
    raise EdgeKitError("E0401", f"{message} {o.classes} classes")


def _with_room(x: Tensor, rows: int, each: int, room: int) -> Tensor:
    """[rows, each] detections as a line with room for some more, behind them."""
    inner = x.shape[2:]
    x = pad(x, [0] * x.rank, [rows - x.shape[0], each - x.shape[1], *(0 for _ in inner)], "constant")
    line = x.reshape(1, rows * each, *inner)
    return pad(line, [0] * line.rank, [0, room - rows * each, *(0 for _ in inner)], "constant")


@dataclass(frozen=True)
class Options:
    """The options of the operator; those that a file leaves out are 0, or as here."""

    most: int  # detections
    each: int  # classes of a detection
    per_class: int
    classes: int
    regular: bool  # classes apart from each other
    least: float
    limit: float
    scale: tuple[float, ...]  # of y, x, height, width

    @staticmethod
    def of(layer: TfliteLayer) -> Options:
        found = {"detections_per_class": _WITHOUT_OPTION, **layer.attributes}

        def option(name: str, low: float, high: float) -> float:
            value = found.get(name, 0)
            if not isinstance(value, int | float) or not low <= value <= high:
                raise EdgeKitError("E0401", f"the option {name} of TFLite_Detection_PostProcess is {value}")
            return float(value)

        most, each, per_class, classes = (int(option(name, 1, MAX_ELEMENTS)) for name in _COUNTS)
        return Options(
            most,
            each,
            per_class,
            classes,
            regular=bool(found.get("use_regular_nms", False)),
            least=option("nms_score_threshold", -math.inf, math.inf),
            limit=option("nms_iou_threshold", _SMALLEST, 1),
            scale=tuple(option(f"{side}_scale", _SMALLEST, math.inf) for side in "yxhw"),
        )


def _decoded(encodings: Tensor, anchors: Tensor, o: Options) -> Tensor:
    """Corners [N, 4] of boxes that are encoded relative to the centers and sizes of anchors."""
    n = anchors.shape[0]
    x = _floats(part(encodings, 2, 0, 4)).reshape(n, 4)
    anchors = _floats(anchors)
    (yx, hw), (at, size) = ([part(t, 1, i, 2) for i in (0, 2)] for t in (x, anchors))
    center = yx * (size / size.like(o.scale[:2])) + at
    half = (hw / hw.like(o.scale[2:])).apply(Exp()) * (size * 0.5)
    return concat([center - half, center + half], 1)


def _floats(x: Tensor) -> Tensor:
    """The reals that a tensor stands for."""
    if x.type.quant is None or x.data is not None:
        return dequantized(x)
    return x.apply(Dequantize())


def _real(x: Tensor, quant: Quant | None) -> Tensor:
    """The reals that integers stand for."""
    return x if quant is None else labelled(x, quant).apply(Dequantize())


def _least(dtype: DType, quant: Quant | None, least: float) -> tuple[float, bool]:
    """The least score in the numbers that are stored, and whether it is enough."""
    if quant is None:
        return float(np.float32(least)), True
    low, high = fixed.int_range(dtype)
    codes = np.arange(low, high + 1)
    reals = (codes - quant.zero[0]).astype(np.float32) * np.float32(quant.scale[0])
    enough = codes[reals >= np.float32(least)]
    return (int(enough[0]), True) if enough.size else (high, False)
