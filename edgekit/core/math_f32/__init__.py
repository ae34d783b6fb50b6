"""The float32 math of the C runtime in numpy: the same steps, and so the same bits, under IEEE arithmetic.

Each function has its twin in include/edgekit/math/math_*_f32.h; polynomials are read from there. What
the simulator says of 16-bit floats is computed with these, and so are float32 models that quantize rows in
each run, where the last bit decides on codes. Others do without: numpy's own functions are the independent
witness of what C computes.
"""

from edgekit.core.math_f32.exact import (
    ceil,
    fabs,
    floor,
    fmax,
    fmin,
    fmod,
    mod,
    round_even,
    rsqrt,
    sqrt,
    trunc,
)
from edgekit.core.math_f32.exponentials import cosh, erf, exp, exp2, expm1, gate, sigmoid, sinh, tanh
from edgekit.core.math_f32.logarithms import acosh, asinh, atanh, log, log1p, log2
from edgekit.core.math_f32.powers import pow
from edgekit.core.math_f32.trigonometry import acos, asin, atan, cos, sin, tan

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "gate",
    "log",
    "log1p",
    "log2",
    "mod",
    "pow",
    "round_even",
    "rsqrt",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
