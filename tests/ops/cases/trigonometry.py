"""Trigonometric and hyperbolic functions; their accuracy over all floats is a matter of tests/runtime."""

import numpy as np
from support.op_cases import case, uniform

from edgekit.core.ops import trigonometry as t
from edgekit.core.types import DType

_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_DOMAINS = (
    (t.Sin(), -10, 10),
    (t.Cos(), -10, 10),
    (t.Tan(), -10, 10),
    (t.Asin(), -1, 1),
    (t.Acos(), -1, 1),
    (t.Atan(), -10, 10),
    (t.Sinh(), -5, 5),
    (t.Cosh(), -5, 5),
    (t.Asinh(), -10, 10),
    (t.Acosh(), 1, 10),
    (t.Atanh(), -1, 1),
)
_CORNERS = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])

CASES = tuple(
    case(op, x, ulps=3)
    for op, low, high in _DOMAINS
    for d in _FLOATS
    for x in (_CORNERS.astype(d.numpy), uniform(d, low, high, 50))
) + tuple(case(t.Asinh(), np.array([1e25, -1e30]).astype(d.numpy), ulps=3) for d in (DType.F32, DType.F64))
