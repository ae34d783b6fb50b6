"""Derivatives of formulas, as formulas: the rules of calculus, sign by sign and function by function."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from edgekit.core.formula import Cast, Formula, Function, Number, Operand, Operation, parse

_ZERO, _ONE = Number("0"), Number("1")
# Of functions, by the name between ek_ and the type: with respect to a, and to b. Those of steps are 0.
_DERIVATIVES: Mapping[str, tuple[str, ...]] = {
    "acos": ("-1 / ek_sqrt_{d}(1 - a * a)",),
    "acosh": ("1 / ek_sqrt_{d}(a * a - 1)",),
    "asin": ("1 / ek_sqrt_{d}(1 - a * a)",),
    "asinh": ("1 / ek_sqrt_{d}(a * a + 1)",),
    "atan": ("1 / (1 + a * a)",),
    "atanh": ("1 / (1 - a * a)",),
    "ceil": ("0",),
    "cos": ("-ek_sin_{d}(a)",),
    "cosh": ("ek_sinh_{d}(a)",),
    "erf": ("1.1283791670955126 * ek_exp_{d}(-a * a)",),
    "exp": ("ek_exp_{d}(a)",),
    "expm1": ("ek_exp_{d}(a)",),
    "fabs": ("a > 0 ? 1 : -1",),  # so the slopes of Softplus and Mish are right at 0, too
    "floor": ("0",),
    "fmod": ("1", "(ek_fmod_{d}(a, b) - a) / b"),
    "gate": ("ek_gate_{d}(a) * ek_gate_{d}(-a)",),
    "log": ("1 / a",),
    "log1p": ("1 / (1 + a)",),
    "mod": ("1", "(ek_mod_{d}(a, b) - a) / b"),
    "pow": ("b * ek_pow_{d}(a, b - 1)", "a > 0 ? ek_pow_{d}(a, b) * ek_log_{d}(a) : 0"),
    "round_even": ("0",),
    "sigmoid": ("ek_sigmoid_{d}(a) * ek_sigmoid_{d}(-a)",),
    "sin": ("ek_cos_{d}(a)",),
    "sinh": ("ek_cosh_{d}(a)",),
    "sqrt": ("1 / (2 * ek_sqrt_{d}(a))",),
    "tan": ("1 / (ek_cos_{d}(a) * ek_cos_{d}(a))",),
    "tanh": ("1 - ek_tanh_{d}(a) * ek_tanh_{d}(a)",),
}


@cache
def derivative(formula: Formula, name: str) -> Formula:
    """How the value of a formula changes with one of its operands. Conditions do not: where one is about to
    turn, the derivative is that of the side that is taken."""
    match formula:
        case Number():
            return _ZERO
        case Operand(own):
            return _ONE if own == name else _ZERO
        case Cast(ctype, inner):
            return Cast(ctype, derivative(inner, name))
        case Operation("?:", (condition, yes, no)):
            ways = derivative(yes, name), derivative(no, name)
            return ways[0] if ways[0] == ways[1] else Operation("?:", (condition, *ways))
        case Operation("-", (inner,)):
            return _minus(_ZERO, derivative(inner, name))
        case Operation("+" | "-" as sign, (left, right)):
            parts = derivative(left, name), derivative(right, name)
            return _plus(*parts) if sign == "+" else _minus(*parts)
        case Operation("*", (left, right)):
            return _plus(_times(derivative(left, name), right), _times(left, derivative(right, name)))
        case Operation("/", (left, right)):
            change = _minus(derivative(left, name), _times(formula, derivative(right, name)))
            return change if change == _ZERO else Operation("/", (change, right))
        case Operation():  # tests and bits: steps
            return _ZERO
        case Function(called, operands):
            return _of_function(called, operands, name)


def _of_function(called: str, operands: tuple[Formula, ...], name: str) -> Formula:
    stem, _, suffix = called.removeprefix("ek_").rpartition("_")
    if stem not in _DERIVATIVES:
        raise NotImplementedError(f"{called} has no derivative")
    total: Formula = _ZERO
    for text, operand in zip(_DERIVATIVES[stem], operands, strict=True):
        inner = derivative(operand, name)
        if inner != _ZERO:
            outer = _put(parse(text.format(d=suffix)), dict(zip("ab", operands, strict=False)))
            total = _plus(total, _times(outer, inner))
    return total


def _put(formula: Formula, operands: Mapping[str, Formula]) -> Formula:
    """The formula with these for its operands."""
    match formula:
        case Operand(name):
            return operands[name]
        case Operation(sign, inner):
            return Operation(sign, tuple(_put(x, operands) for x in inner))
        case Function(called, inner):
            return Function(called, tuple(_put(x, operands) for x in inner))
    return formula


def _plus(a: Formula, b: Formula) -> Formula:
    return b if a == _ZERO else a if b == _ZERO else Operation("+", (a, b))


def _minus(a: Formula, b: Formula) -> Formula:
    if b == _ZERO:
        return a
    return Operation("-", (b,)) if a == _ZERO else Operation("-", (a, b))


def _times(a: Formula, b: Formula) -> Formula:
    if _ZERO in (a, b):
        return _ZERO
    return b if a == _ONE else a if b == _ONE else Operation("*", (a, b))
