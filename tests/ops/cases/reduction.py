"""Sums, means, products and extremes over dimensions, and what is computed of rows."""

import numpy as np
from support.op_cases import case, limits, normal, special, uniform, whole

from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.softmax import Softmax
from edgekit.core.types import DType

_INTEGERS = (DType.S8, DType.U8, DType.S16, DType.U16, DType.S32, DType.U32, DType.S64, DType.U64)
_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_WIDE = (DType.F32, DType.F64)
_KINDS = ("sum", "mean", "prod", "max", "min")
_F32 = DType.F32
_ROW = np.array([[1.0, np.inf], [np.nan, 1.0], [-np.inf, 2.0]], np.float32)


def _over(shape, *axes, kind="sum", dtype=_F32):
    return case(Reduce(kind, axes), normal(dtype, *shape), ulps=4, summed=True)


CASES = (
    *(case(Reduce(k, (1,)), normal(d, 3, 20), ulps=4, summed=True) for k in _KINDS for d in _FLOATS),
    *(case(Reduce(k, (0,)), normal(d, 3, 20), ulps=4, summed=True) for k in _KINDS for d in _FLOATS),
    *(case(Reduce(k, (i,)), whole(d, 3, 20)) for k in _KINDS for d in _INTEGERS for i in (0, 1)),
    *(case(Reduce(k, (i,)), whole(DType.BOOL, 2, 3)) for k in ("max", "min") for i in (0, 1)),
    *(
        case(Reduce(k, (i,)), _ROW.astype(d.numpy))
        for k in ("max", "min", "sum")
        for i in (0, 1)
        for d in _WIDE
    ),
    # What is reduced lies behind, before, between and around what stays.
    _over((4, 33), 1),
    _over((33, 4), 0),
    _over((5, 37), 0),
    _over((2, 3, 4, 17), 1, 2),
    _over((2, 3, 4, 17), 0, 3),
    _over((2, 3, 4, 5), 0, 2),
    _over((2, 3, 4, 5), 1, 3),
    _over((2, 3, 2, 3, 2, 3, 2, 3, 2), 0, 2, 4, 6, 8),
    _over((2, 3, 2, 3, 2, 3, 2, 3, 2), 1, 3, 5, 7),
    _over((7,), 0),
    _over((), kind="max"),
    _over((2, 3)),
    case(Reduce("mean", (0, 2), keepdims=False), normal(_F32, 3, 4, 5), ulps=4, summed=True),
    *(case(Reduce("sum", (i,), narrow=True), normal(DType.BF16, 3, 40)) for i in (0, 1)),
    # Nothing to reduce, and nothing that stays.
    *(case(Reduce(k, (1,)), normal(_F32, 2, 0, 3)) for k in _KINDS),
    *(case(Reduce(k, (1,)), whole(DType.S8, 2, 0)) for k in _KINDS if k != "mean"),
    case(Reduce("sum", (1,)), normal(_F32, 0, 3)),
    case(Reduce("mean", (0,)), np.array([limits(DType.S32)[1], 1], np.int32)),
    *(case(Softmax(), normal(d, 3, n, scale=5), ulps=8) for d in _WIDE for n in (1, 7, 16, 40)),
    *(case(Softmax(), np.array([[1e4, 1e4 - 1, -1e4], [-np.inf, 0, 1]], d.numpy), ulps=4) for d in _WIDE),
    *(case(Softmax(), special(d)[None]) for d in _WIDE),
    *(case(Softmax(), normal(d, 3, n, scale=5), ulps=1) for d in (DType.F16, DType.BF16) for n in (7, 40)),
    case(Softmax(), normal(_F32, 2, 0)),
    *(
        case(LayerNorm(1e-5), normal(d, 2, 3, n), normal(d, n), normal(d, n), ulps=8, summed=True)
        for d in _WIDE
        for n in (1, 7, 16, 40)
    ),
    # Far from 0 the variance must come from differences, not from squares.
    case(
        LayerNorm(1e-5),
        uniform(_F32, 1000, 1001, 2, 40),
        normal(_F32, 40),
        normal(_F32, 40),
        ulps=4000,
        summed=True,
    ),
    case(LayerNorm(0.5), np.zeros((2, 5), np.float32), normal(_F32, 5), normal(_F32, 5)),
    *(case(RmsNorm(1e-5), normal(d, 3, n), normal(d, n), ulps=8) for d in _WIDE for n in (1, 7, 16, 40)),
)
