"""What the functions mean that formulas of elementwise operators call, in numpy; by names behind ek_."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf

import numpy as np

from edgekit.core.types import Array, DType

_ERF = np.vectorize(erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))  # never overflows
    return np.where(x < 0, e / (1 + e), 1 / (1 + e)).astype(x.dtype)


def _erf(x: Array) -> Array:
    return _ERF(x).astype(x.dtype) if x.size else x


def _divide(a: Array, b: Array) -> Array:
    """Of integers, towards zero; what is divided by 0 gives 0."""
    a, b = np.broadcast_arrays(a, b)
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    quotient = a // safe
    quotient += ((quotient < 0) & (quotient * safe != a)).astype(a.dtype)
    return np.where(b == 0, 0, quotient)


def _pow(a: Array, b: Array) -> Array:
    """Integers wrap; a negative power of one is its reciprocal, rounded towards zero."""
    if DType.of(a.dtype).is_float:
        found: Array = np.power(a, b)
        return found
    power = np.power(a, np.maximum(b, 0).astype(b.dtype))
    own = np.where(np.abs(a) == 1, np.where(b % 2 == 0, 1, a), 0)  # only 1 and -1 have a whole reciprocal
    return np.where(b < 0, own, power)


FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "div": _divide,
    "erf": _erf,
    "exp": np.exp,
    "expm1": np.expm1,
    "fabs": np.abs,
    "floor": np.floor,
    "fmod": np.fmod,
    "gate": _sigmoid,
    "log": np.log,
    "log1p": np.log1p,
    "mod": np.mod,
    "pow": _pow,
    "rem": np.fmod,
    "round_even": np.rint,
    "sigmoid": _sigmoid,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
