"""Operators of Caffe that no exported net has."""

import numpy as np
from support.handler_cases import IMAGE, POSITIVE, X, Y, case, slid

from edgekit.converters.caffe import ops

PACKAGE = ops
CASES = (
    case("Log", POSITIVE, expected=np.log(POSITIVE)),
    case("Log", POSITIVE, base=2.0, scale=3.0, shift=0.5, expected=np.log2(3 * POSITIVE + 0.5)),
    case("Exp", X, base=2.0, scale=0.5, shift=0.25, expected=2 ** (0.25 + 0.5 * X)),
    case("Slice", IMAGE, tops=2, expected=[IMAGE[:, :2], IMAGE[:, 2:]]),
    case("Slice", X, tops=2, axis=2, slice_point=1, expected=[X[..., :1], X[..., 1:]]),
    case("Split", X, tops=2, expected=[X, X]),
    case(
        "LRN",
        IMAGE,
        local_size=3,
        alpha=0.3,
        beta=0.6,
        k=1.5,
        expected=IMAGE * (1.5 + 0.1 * slid(IMAGE, 3)) ** -0.6,
    ),
    case("Eltwise", X, Y, coeff=(2.0, -1.0), expected=2 * X - Y),
    case("Eltwise", X, Y, operation="PROD", expected=X * Y),
    case("Eltwise", X, Y, operation="MAX", expected=np.maximum(X, Y)),
    case("Flatten", IMAGE, axis=1, end_axis=2, expected=IMAGE.reshape(2, 12, 6)),
    case("Reshape", IMAGE, shape=(0, -1), expected=IMAGE.reshape(2, 72)),
    case("Reshape", IMAGE, shape=(6, -1), axis=1, num_axes=2, expected=IMAGE.reshape(2, 6, 2, 6)),
    case("Reshape", IMAGE, shape=(0, 2, -1), axis=1, expected=IMAGE.reshape(2, 4, 2, 9)),
    case("Reshape", IMAGE, shape=(1,), axis=-1, expected=IMAGE.reshape(2, 4, 3, 6, 1)),
    case("Reshape", IMAGE, shape=1, axis=1, num_axes=0, expected=IMAGE.reshape(2, 1, 4, 3, 6)),
)
