"""Comparisons, logic, shifts and selection."""

import numpy as np
from support.op_cases import case, normal, special, whole

from edgekit.core.ops.logic import (
    And,
    Equal,
    IsNaN,
    Less,
    LessOrEqual,
    Not,
    Or,
    ShiftLeft,
    ShiftRight,
    Where,
    Xor,
)
from edgekit.core.types import DType

_INTEGERS = (DType.S8, DType.U8, DType.S16, DType.U16, DType.S32, DType.U32, DType.S64, DType.U64)
_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_BOOL = whole(DType.BOOL, 2, 1)

CASES = (
    *(case(op, special(d)[:, None], special(d)) for op in (Equal(), Less(), LessOrEqual()) for d in _FLOATS),
    *(case(op, whole(d, 5, 1), whole(d, 5)) for op in (Equal(), Less(), LessOrEqual()) for d in _INTEGERS),
    case(Equal(), _BOOL, _BOOL.T),
    *(case(IsNaN(), special(d)) for d in _FLOATS),
    *(case(op, whole(d, 4, 5), whole(d, 5)) for op in (And(), Or(), Xor()) for d in _INTEGERS),
    *(case(op, _BOOL, _BOOL.T) for op in (And(), Or(), Xor())),
    *(case(Not(), whole(d, 7)) for d in (*_INTEGERS, DType.BOOL)),
    *(
        case(op, whole(d, 9)[:, None], np.array([0, 1, 3, 7, 8, 31, 32, 63, 64, 127], d.numpy))
        for op in (ShiftLeft(), ShiftRight())
        for d in _INTEGERS
    ),
    *(
        case(op, whole(d, 9)[:, None], np.array([-1, -128], d.numpy))
        for op in (ShiftLeft(), ShiftRight())
        for d in _INTEGERS
        if d.is_signed
    ),
    *(case(Where(), whole(DType.BOOL, 20), special(d), normal(d, 20)) for d in _FLOATS),
    *(
        case(Where(), whole(DType.BOOL, 4, 1), whole(d, 5), whole(d, 4, 5))
        for d in (*_INTEGERS, DType.S4, DType.BOOL)
    ),
    case(Where(), whole(DType.BOOL, 3, 4), normal(DType.F32, 3, 4), normal(DType.F32)),
    case(
        Where(), whole(DType.BOOL, 2, 1, 3, 1), normal(DType.F32, 1, 4, 1, 5), normal(DType.F32, 2, 4, 3, 5)
    ),
    case(Where(), whole(DType.BOOL, 20), normal(DType.F8E5M2, 20), normal(DType.F8E5M2, 20)),
)
