"""Pooling over windows and over boxes of images."""

import numpy as np
from support.op_cases import case, normal, whole

from edgekit.core.ops.max_roi_pool import MaxRoiPool
from edgekit.core.ops.pool2d import ArgMaxPool2d, Pool2d
from edgekit.core.ops.roi_align import RoiAlign
from edgekit.core.types import DType

_INTEGERS = (DType.S8, DType.U8, DType.S32, DType.S64)
_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_F32 = DType.F32
_BOXES = np.array([[0, 0, 3, 4], [1.5, -2, 2, 9], [2, 2, 2, 2], [-9, -9, -3, -3]], np.float32)
_WILD = np.array([[np.nan, 0, 1, 1], [0, 0, np.inf, 1], [-1e30, 0, 1e30, 1], [3, 3, 1, 1]], np.float32)


def _pool(shape, *window, kind="mean", counted=(0, 0, 0, 0)):
    return case(Pool2d(kind, *window, counted=counted), normal(_F32, *shape), ulps=4, summed=True)


def _boxes(boxes, images, channels=3, ulps=16, **fields):
    attributes = {"size": (2, 3), "samples": 2, "scale": 0.5, "shift": 0.5, "kind": "mean"} | fields
    x = normal(_F32, 2, 5, 6, channels)
    return case(RoiAlign(**attributes), x, boxes, np.array(images, np.int64), ulps=ulps, summed=True)


# Of an image each; halves, a side without length, a box outside.
_ROIS = np.array(
    [[0, 0, 0, 3, 4], [1, 1.5, -2.5, 2, 9], [1, 2, 2, 2, 2], [0, -9, -9, -3, -3], [0, 4, 3, 1, 1]], np.float32
)
_WILD_ROIS = np.concatenate([[[-5], [7], [np.nan], [0.9]], _WILD], axis=1).astype(np.float32)


def _rois(boxes, channels=3, size=(2, 3), scale=1.0, dtype=_F32):
    return case(MaxRoiPool(size, scale), normal(dtype, 2, 5, 6, channels), boxes.astype(dtype.numpy))


CASES = (
    *(
        case(Pool2d(k, (3, 2)), normal(d, 1, 5, 4, 3), ulps=4, summed=True)
        for k in ("max", "sum", "mean")
        for d in _FLOATS
    ),
    *(
        case(Pool2d(k, (3, 2), pads=(2, 1, 0, 0)), whole(d, 1, 5, 4, 3))
        for k in ("max", "sum")
        for d in _INTEGERS
    ),
    case(Pool2d("max", (2, 2)), np.full((1, 2, 2, 1), np.nan, np.float32)),
    *(_pool((2, 7, 8, 33), (3, 3), (2, 1), (1, 2, 0, 1), (1, 2), kind=k) for k in ("max", "sum", "mean")),
    # A window that sees nothing of the image: padding all around.
    *(_pool((1, 2, 2, 3), (2, 2), (2, 2), (2, 2, 2, 2), kind=k) for k in ("max", "sum")),
    _pool((1, 5, 5, 3), (3, 3), (2, 2), (1, 1, 1, 1), counted=(1, 1, 1, 1)),
    # Padding of which a part counts, as where the last window does not fit.
    _pool((1, 4, 6, 17), (3, 2), (2, 2), (1, 1, 2, 1), counted=(1, 0, 1, 1)),
    _pool((0, 4, 4, 2), (2, 2)),
    *(case(ArgMaxPool2d((2, 2), (100, 10, 1, 30)), whole(d, 2, 4, 5, 3, low=0, high=3)) for d in _INTEGERS),
    *(case(ArgMaxPool2d((2, 2), (100, 10, 1, 30)), normal(d, 2, 4, 5, 3)) for d in _FLOATS),
    case(ArgMaxPool2d((3, 3), (60, 1, 4, 20), (2, 1), (1, 2, 1, 0), (1, 2)), normal(_F32, 2, 4, 5, 3)),
    case(ArgMaxPool2d((2, 2), (4, 2, 1, 4), pads=(1, 1, 0, 0)), -(normal(_F32, 1, 2, 2, 1) ** 2)),
    # Windows that reach over the last row and the last column.
    case(ArgMaxPool2d((2, 2), (60, 1, 12, 3), pads=(0, 0, 1, 1)), normal(_F32, 2, 5, 4, 3)),
    *(_boxes(_BOXES, [0, 1, 1, 0], samples=n, kind=k) for n in (0, 1, 3) for k in ("mean", "max")),
    *(_boxes(_BOXES, [0, 1, 1, 0], samples=0, shift=0.0, kind=k) for k in ("mean", "max")),
    _boxes(_BOXES, [0, 1, 1, 0], channels=20),
    _boxes(_BOXES, [0, 1, 1, 0], channels=16),
    # Wider than there are samples for.
    _boxes(np.array([[0, 0, 1e6, 1]], np.float32), [0], samples=0),
    # Boxes from anywhere, of images that do not exist.
    _boxes(_WILD, [-5, 7, 1, 0], samples=2),
    case(
        RoiAlign((2, 2), 2, 1, 0.5),
        normal(DType.F16, 1, 4, 4, 3),
        _BOXES.astype(np.float16),
        np.zeros(4, np.int64),
        ulps=4,
        summed=True,
    ),
    *(_rois(_ROIS, dtype=d) for d in _FLOATS),
    *(_rois(_ROIS, channels=n, size=s) for n, s in ((1, (1, 1)), (20, (7, 7)))),
    _rois(_ROIS, scale=0.5),
    _rois(_WILD_ROIS),
    case(MaxRoiPool((2, 2), 1.0), np.full((1, 2, 2, 1), np.nan, np.float32), np.zeros((1, 5), np.float32)),
    case(MaxRoiPool((2, 2), 1.0), normal(_F32, 1, 2, 2, 1), np.zeros((0, 5), np.float32)),
)
