"""Moving elements: shapes, orders, parts, borders, repetition."""

import numpy as np
from support.op_cases import case, normal, whole

from edgekit.core.ops.concat import Concat
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType

_TYPES = (
    DType.BOOL,
    DType.S4,
    DType.U8,
    DType.F8E4M3FN,
    DType.F16,
    DType.BF16,
    DType.S32,
    DType.S64,
    DType.F64,
)


def _any(d: DType, *shape: int) -> np.ndarray:
    return normal(d, *shape) if d.is_float else whole(d, *shape)


CASES = (
    case(Reshape((6, 4)), normal(DType.F32, 2, 3, 4)),
    *(case(Transpose((1, 0)), _any(d, 3, 4)) for d in _TYPES),
    case(Transpose((0, 3, 1, 2)), normal(DType.F32, 2, 3, 4, 5)),
    case(Transpose((0, 2, 1, 3)), normal(DType.F32, 1, 3, 1, 5)),
    case(Transpose((7, 5, 3, 1, 6, 4, 2, 0)), normal(DType.F32, 2, 3, 2, 2, 3, 2, 2, 2)),
    *(case(Slice((1, 0), (1, 2), (2, 2)), _any(d, 4, 4)) for d in _TYPES),
    case(Slice((3, 4), (-1, -2), (4, 3)), normal(DType.F32, 4, 5)),
    case(Slice((1, 0, 0), (1, 1, 1), (1, 3, 4)), normal(DType.F32, 2, 3, 4)),
    case(Slice((0, 0), (1, 1), (0, 3)), normal(DType.F32, 2, 3)),
    *(case(Pad((1, 2), (0, 3)), _any(d, 2, 3), _any(d)) for d in _TYPES),
    case(Pad((0, 1, 2, 0), (3, 0, 1, 0)), normal(DType.F32, 2, 3, 4, 5), 7),
    case(Pad((0, 0), (0, 0)), normal(DType.F32, 2, 3), 7),
    case(Pad((1, 1), (1, 1)), normal(DType.F32, 0, 3), 7),
    *(case(Expand((2, 3, 4)), _any(d, 3, 1)) for d in _TYPES),
    case(Expand((5,)), normal(DType.F32)),
    case(Expand((1, 1, 3)), normal(DType.F32, 3)),
    *(case(Concat(axis), normal(DType.F32, 2, 3, 4), normal(DType.F32, 2, 3, 4)) for axis in range(3)),
    *(case(Concat(1), _any(d, 2, 1), _any(d, 2, 3), _any(d, 2, 2)) for d in _TYPES),
)
