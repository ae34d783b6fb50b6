"""Layers of Keras that no exported net has."""

import numpy as np
from support.handler_cases import IMAGE, ROWS, X, Y, case, rand

from edgekit.converters.keras import ops

PACKAGE = ops
CASES = (
    case("ThresholdedReLU", X, theta=0.4, expected=np.where(X > 0.4, X, 0)),
    case("ThresholdedReLU", X, expected=np.where(X > 1, X, 0)),
    case("LeakyReLU", X, expected=np.where(X > 0, X, 0.3 * X)),
    case(
        "ReLU",
        3 * X,
        max_value=2.0,
        negative_slope=0.1,
        expected=np.where(X > 0, 3 * X, 0.3 * X).clip(None, 2),
    ),
    case("Dot", X, Y, axes=2, expected=X @ Y.swapaxes(1, 2)),
    case("Dot", X, Y, axes=1, expected=X.swapaxes(1, 2) @ Y),
    case("Dot", X, Y[:, :, 0], axes=1, expected=np.einsum("bij,bi->bj", X, Y[:, :, 0])),
    case("Dot", Y[:, :, 0], X, axes=1, expected=np.einsum("bi,bij->bj", Y[:, :, 0], X)),
    case("Dot", X, rand(2, 4), axes=(2, 1), expected=np.einsum("bij,bj->bi", X, rand(2, 4))),
    case("Dot", ROWS, ROWS, axes=1, expected=(ROWS * ROWS).sum(1, keepdims=True)),
    case("Cropping2D", IMAGE, cropping=((1, 0), (1, 1)), expected=IMAGE[:, 1:, 1:-1]),
    case("Cropping2D", IMAGE, cropping=1, data_format="channels_first", expected=IMAGE[:, :, 1:-1, 1:-1]),
    case("ActivityRegularization", X, l1=0.1, expected=X),
    case("Identity", X, expected=X),
)
