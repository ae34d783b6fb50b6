"""Operators of Keras, as functions of keras.ops that no exported net has."""

import numpy as np
from support.handler_cases import X, Y, case, rand, softmax

from edgekit.converters.keras import function_ops

PACKAGE = function_ops
CASES = (
    case("LeakyRelu", X, expected=np.where(X > 0, X, 0.2 * X)),
    case("Elu", X, expected=np.where(X > 0, X, np.expm1(X))),
    case("Softmax", X, expected=softmax(X, -1)),
    case("Softmax", X, axis=1, expected=softmax(X, 1)),
    case("Cast", 3 * X, dtype="int32", expected=(3 * X).astype(np.int32)),
    case("Matmul", X, rand(4, 5), expected=X @ rand(4, 5)),
    case("Reshape", X, newshape=(None, 6, 2), expected=X.reshape(2, 6, 2)),
    case("Reshape", X, newshape=(None, -1), expected=X.reshape(2, 12)),
    case("Reshape", X, newshape=(-1, 2, 3), expected=X.reshape(4, 2, 3)),
    case("ExpandDims", X, axis=1, expected=X[:, None]),
    case("ExpandDims", X, axis=(0, -1), expected=X[None, ..., None]),
    case("Squeeze", X[:, :1], axis=1, expected=X[:, 0]),
    case("Stack", [X, Y], expected=np.stack([X, Y])),
    case("Stack", [X, Y], axis=-1, expected=np.stack([X, Y], -1)),
    case("Concatenate", [X, Y], expected=np.concatenate([X, Y])),
    case("Split", X, indices_or_sections=2, expected=[X[:1], X[1:]]),
    case("Split", X, indices_or_sections=(1, 3), axis=2, expected=[X[..., :1], X[..., 1:3], X[..., 3:]]),
    case("GetItem", X, (slice(1, None), None, -1), expected=X[1:, None, -1]),
    case("Any", X > 0.5, axis=-1, expected=(X > 0.5).any(-1)),
    case("All", X > -0.5, axis=(0, 2), keepdims=True, expected=(X > -0.5).all((0, 2), keepdims=True)),
    case("Any", X > 9, expected=np.array(False)),
    case("Less", X, 0.5, expected=X < 0.5),
    case("LessEqual", 0.5, X, expected=X >= 0.5),
    case("Greater", X, Y, expected=X > Y),
    case("GreaterEqual", X, Y, expected=X >= Y),
    case("Equal", X, float(X[0, 0, 0]), expected=X[0, 0, 0] == X),
    case("LogicalAnd", X > 0, Y > 0, expected=(X > 0) & (Y > 0)),
    case("LogicalOr", X > 0, Y > 0, expected=(X > 0) | (Y > 0)),
    case("LogicalNot", X > 0, expected=X <= 0),
    case("OnesLike", X, dtype="bool", expected=np.ones(X.shape, np.bool_)),
    case("ZerosLike", X, expected=np.zeros(X.shape, np.float32)),
    case("GetItem", X, (0, slice(None, None, 2)), expected=X[0, ::2]),
)
