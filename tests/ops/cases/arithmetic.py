"""Sums, products, quotients, remainders, powers, extremes, signs."""

import numpy as np
from support.op_cases import case, limits, normal, special, uniform, whole

from edgekit.core.ops.arithmetic import (
    Abs,
    Add,
    Clip,
    Div,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Pow,
    Remainder,
    Sign,
    Sqrt,
    Sub,
)
from edgekit.core.types import DType

_INTEGERS = (DType.S8, DType.U8, DType.S16, DType.U16, DType.S32, DType.U32, DType.S64, DType.U64)
_SIGNED = tuple(d for d in _INTEGERS if d.is_signed)
_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)


_WIDE = (DType.F32, DType.F64)
_UNITS = np.arange(-2, 3)
_NEAR_ONE = np.array([1.01, 0.99, 1.0001, 1.5])
_EXPONENTS = np.array([3.0, 1000.5, 2.0**25, -(2.0**40)])


def _subnormal_remainders(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    least = np.finfo(dtype.numpy).smallest_normal
    factors = np.array([1.3, 1.5, 2.75, -1.9]), np.array([1.2, 1.0, 2.5, 1.7])
    return (factors[0] * least).astype(dtype.numpy), (factors[1] * least).astype(dtype.numpy)


def _divisors(dtype: DType) -> np.ndarray:
    """Numerators against denominators, with all the corners of division."""
    low, high = limits(dtype)
    return np.array([low, high, 0, 1, 7, 100] + [-1, -7, -100] * dtype.is_signed, object).astype(dtype.numpy)


CASES = (
    *(case(op, whole(d, 4, 5), whole(d, 5)) for op in (Add(), Sub(), Mul(), Max(), Min()) for d in _INTEGERS),
    *(
        case(op, special(d)[:, None], special(d))
        for op in (Add(), Sub(), Mul(), Div(), Max(), Min())
        for d in _FLOATS
    ),
    *(case(op, _divisors(d)[:, None], _divisors(d)) for op in (Div(), Mod(), Remainder()) for d in _INTEGERS),
    *(case(op, special(d)[:, None], special(d)) for op in (Mod(), Remainder()) for d in _FLOATS),
    # How operands are walked: flat, by a scalar, by rows, by columns, over more dimensions than kernels have.
    case(Add(), normal(DType.F32, 2, 3, 4), normal(DType.F32)),
    case(Add(), normal(DType.F32, 1), normal(DType.F32, 2, 3)),
    case(Sub(), normal(DType.F32, 2, 1, 4), normal(DType.F32, 3, 1)),
    case(Sub(), normal(DType.F32, 3, 1, 4, 1), normal(DType.F32, 1, 2, 1, 5)),
    case(Mul(), normal(DType.F32, 2, 1, 2, 1, 2, 1, 2, 1), normal(DType.F32, 1, 2, 1, 2, 1, 2, 1, 2)),
    case(Mul(), normal(DType.F32, 0, 3), normal(DType.F32, 3)),
    case(Add(), normal(DType.F32, 2, 3), normal(DType.F32, 3), constant=[1]),
    *(case(op, special(d)) for op in (Neg(), Abs(), Sign()) for d in _FLOATS),
    *(case(op, whole(d, 9)) for op in (Neg(), Abs(), Sign()) for d in _SIGNED),
    *(case(Sqrt(), special(d), ulps=0 if d is not DType.F64 else 1) for d in _FLOATS),
    *(case(Clip(), special(d), -1, 2) for d in _FLOATS),
    *(case(Clip(), whole(d, 20), 3, 100) for d in _INTEGERS),
    case(Clip(), normal(DType.F32, 3, 4), normal(DType.F32, 4) - 1, normal(DType.F32, 4) + 1),
    *(case(Pow(), special(d)[:, None], special(d), ulps=2) for d in (DType.F32, DType.F64)),
    *(case(Pow(), uniform(d, 0, 4, 20), uniform(d, -3, 3, 20), ulps=2) for d in _FLOATS),
    *(case(Pow(), whole(d, 9)[:, None], whole(d, 7, low=0, high=9)) for d in _INTEGERS),
    *(case(Pow(), whole(d, 9, low=-3, high=3)[:, None], whole(d, 7, low=-5, high=5)) for d in _SIGNED),
    *(case(Pow(), _UNITS.astype(d.numpy)[:, None], np.arange(-3, 4).astype(d.numpy)) for d in _SIGNED),
    *(case(Pow(), _NEAR_ONE.astype(d.numpy)[:, None], _EXPONENTS.astype(d.numpy), ulps=2) for d in _WIDE),
    # Remainders that are subnormal.
    *(case(Mod(), *_subnormal_remainders(d)) for d in _WIDE),
    *(case(Remainder(), *_subnormal_remainders(d)) for d in _WIDE),
)
