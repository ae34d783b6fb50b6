"""The C formulas of elementwise operators, evaluated in numpy.

Of float64 and float32 by numpy's functions: that is what operators mean. In float32 by the runtime's own, the
same steps and the same bits as in C, for floats that are narrower.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from edgekit.core import math_f32
from edgekit.core.formula import ARITHMETIC, Cast, Formula, Function, Number, Operand, Operation
from edgekit.core.ops._functions import FUNCTIONS
from edgekit.core.types import Array

_NAME = re.compile(r"ek_(\w+)_[fsu]\d+")
_C_TYPES = {"float": np.float32, "double": np.float64} | {
    f"{sign}int{bits}_t": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_SIGNS: Mapping[str, Callable[..., Array]] = {
    **ARITHMETIC,
    "||": lambda a, b: _truth(a) | _truth(b),
    "&&": lambda a, b: _truth(a) & _truth(b),
    "|": operator.or_,
    "^": operator.xor,
    "&": operator.and_,
    "==": operator.eq,
    "!=": operator.ne,
    "!": lambda a: ~_truth(a),
    "~": operator.invert,
    "?:": lambda condition, yes, no: _choice(_truth(condition), yes, no),
}


def evaluate(formula: Formula, ins: Mapping[str, Array], dtype: np.dtype, *, as_in_c: bool = False) -> Array:
    """The result of a formula over a, b and c, with numbers of this type. `as_in_c` takes the functions of
    the runtime, which are of float32."""
    value = partial(evaluate, ins=ins, dtype=dtype, as_in_c=as_in_c)
    match formula:
        case Number(text, is_unsigned):
            kind = np.dtype(f"u{dtype}") if is_unsigned and dtype.kind == "i" else dtype
            return np.asarray(float(text) if dtype.kind == "f" else int(text), kind)
        case Operand(name):
            return ins[name]
        case Cast(ctype, inner):
            return value(inner).astype(_C_TYPES[ctype])
        case Operation(sign, operands):
            return _SIGNS[sign](*map(value, operands))
        case Function(name, operands):
            return _function(name, as_in_c=as_in_c)(*map(value, operands))
    raise AssertionError(formula)


@cache
def _function(name: str, *, as_in_c: bool) -> Callable[..., Array]:
    found = _NAME.fullmatch(name)
    assert found, f"{name} names no type"
    if as_in_c:
        function: Callable[..., Array] = getattr(math_f32, found[1])
        return function
    return FUNCTIONS[found[1]]


def _choice(condition: Array, yes: Array, no: Array) -> Array:
    return np.where(condition, yes, no)


def _truth(x: Array) -> Array:
    return np.asarray(x, np.bool_)
