"""Activation functions."""

from support.op_cases import case, normal, special

from edgekit.core.ops import activations as a
from edgekit.core.types import DType

_FLOATS = (DType.F16, DType.BF16, DType.F32, DType.F64)
_UNARY = (a.Sigmoid(), a.Tanh(), a.Exp(), a.Log(), a.Erf(), a.Softplus(), a.HardSwish())
# Beside a zero of the function the error is that of its largest part.
_CANCELLING = (a.Gelu(), a.GeluTanh(), a.Mish())

CASES = (
    *(case(op, x, ulps=4) for op in _UNARY for d in _FLOATS for x in (special(d), normal(d, 50, scale=3))),
    *(case(op, normal(d, 50, scale=3), ulps=4, summed=True) for op in _CANCELLING for d in _FLOATS),
    *(case(a.Swish(), normal(d, 5, 10, scale=3), 1.5, ulps=4) for d in _FLOATS),
    *(case(a.HardSigmoid(), x, 0.2, 0.5) for d in _FLOATS for x in (special(d), normal(d, 50, scale=3))),
    *(case(a.Elu(), x, 1.5, 0.5, ulps=4) for d in _FLOATS for x in (special(d), normal(d, 50, scale=3))),
    *(case(a.Elu(), normal(d, 9), 1.5, -2000.0, ulps=4) for d in (DType.F32, DType.F64)),
    *(case(a.PRelu(), special(d), 0.25) for d in _FLOATS),
    case(a.PRelu(), normal(DType.F32, 4, 6), normal(DType.F32, 6)),
    case(a.PRelu(), normal(DType.S32, 4, 6, scale=100), normal(DType.S32, 6, scale=9)),
)
