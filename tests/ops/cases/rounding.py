"""Rounding to whole numbers."""

from support.op_cases import case, normal, special

from edgekit.core.ops.rounding import Ceil, Floor, Round
from edgekit.core.types import DType

_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)

CASES = tuple(
    case(op, x)
    for op in (Floor(), Ceil(), Round())
    for d in _FLOATS
    for x in (special(d), normal(d, 50, scale=10))
)
