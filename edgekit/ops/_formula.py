"""The C formulas of elementwise operators, evaluated in numpy on float32: the same steps, the same bits."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgekit import math_f32
from edgekit.formula import Cast, Formula, Function, Number, Operand, Operation
from edgekit.ir import Array

_SIGNS: Mapping[str, Callable[..., Any]] = {
    "||": lambda a, b: _truth(a) | _truth(b),
    "&&": lambda a, b: _truth(a) & _truth(b),
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "*": operator.mul,
    "/": operator.truediv,
    "-": lambda a, *b: operator.sub(a, *b) if b else -a,
    "?:": lambda condition, yes, no: np.where(_truth(condition), yes, no),
}


def evaluate(formula: Formula, ins: Mapping[str, Array]) -> Array:
    """The result of a formula over a, b and c of float32, or of truth values."""
    match formula:
        case Number(text):
            return np.asarray(text, np.float32)
        case Operand(name):
            return ins[name]
        case Cast("float", inner):
            return evaluate(inner, ins)
        case Operation(sign, operands) if sign in _SIGNS:
            found: Array = _SIGNS[sign](*(evaluate(x, ins) for x in operands))
            return found
        case Function(name, operands):
            function = getattr(math_f32, name.removeprefix("ek_").removesuffix("_f32"))
            result: Array = function(*(evaluate(x, ins) for x in operands))
            return result
    raise AssertionError(f"{formula} is none of float32")


def _truth(x: Array) -> Array:
    return np.asarray(x, np.bool_)
