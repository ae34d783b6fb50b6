"""Conversions between all element types."""

import numpy as np
from support.op_cases import case, special, uniform, whole

from edgekit.core.ops.cast import ROUND_MODES, BitCast, Cast
from edgekit.core.types import DType

_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_INTEGERS = tuple(d for d in DType if d.is_integer)
_FLOAT8 = (DType.F8E4M3FN, DType.F8E4M3FNUZ, DType.F8E5M2, DType.F8E5M2FNUZ)
_CODES = {
    **{d: np.arange(256).astype(np.uint8).view(d.numpy) for d in (*_FLOAT8, DType.F8E8M0)},
    DType.F4E2M1: np.arange(16).astype(np.uint8).view(DType.F4E2M1.numpy),
}
_NUMBERS = np.concatenate(
    [special(DType.F32), uniform(DType.F32, -600, 600, 300), uniform(DType.F32, -2, 2, 100)]
)
# Powers of two with their neighbours, from where the exponent of f8e8m0 begins to where it ends.
_POWERS = np.ldexp(np.array([1, 1.0001, 1.25, 1.5, 1.75, 1.9999]), np.arange(-150, 128)[:, None]).astype(
    np.float32
)
_LARGE = np.array(
    [0, 2.0**31, 2.0**31 - 1, 2.0**32, 2.0**63, 2.0**64, 1e30, -(2.0**31), -(2.0**63), -1.5, -1e30]
)


def _inputs(d: DType) -> np.ndarray:
    """What shows every corner of the conversion from a type."""
    if d in _CODES:
        return _CODES[d]
    if d.is_float:
        with np.errstate(all="ignore"):
            return np.concatenate([_NUMBERS, _LARGE]).astype(d.numpy)
    return whole(d, 40)


CASES = (
    *(
        case(Cast(to), _inputs(d))
        for d in DType
        for to in DType
        if d is not to and DType.F8E8M0 not in (d, to)
    ),
    *(case(Cast(to), _CODES[DType.F8E8M0]) for to in (DType.F32, DType.F64, DType.F16, DType.BF16)),
    *(case(Cast(to, saturate=False), _inputs(d)) for to in _FLOAT8 for d in (DType.F16, DType.F32)),
    *(
        case(
            Cast(DType.F8E8M0, saturate, mode),
            np.concatenate([_POWERS.reshape(-1), _LARGE.astype(np.float32), special(DType.F32)]),
        )
        for saturate in (True, False)
        for mode in ROUND_MODES
    ),
    case(BitCast(DType.S32), special(DType.F32)),
    case(BitCast(DType.F32), whole(DType.U32, 9)),
    case(BitCast(DType.U16), special(DType.BF16)),
    case(BitCast(DType.F64), whole(DType.S64, 3, 3)),
    case(BitCast(DType.F4E2M1), whole(DType.U4, 16)),
)
