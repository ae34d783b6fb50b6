"""The functions of float32 that formulas use, as in math_exp_f32.h: those of languages are far off at times.

Polynomials are read from the headers of the C runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.core.math_f32.numbers import LN2_HIGH, LN2_LOW, LOG2_E, coefficients

Function = Callable[..., Expr]


def exp(k: KernelBuilder, x: Expr) -> Expr:
    n, high, low = _parts(k, _within(k, x, -104, 89))
    return _scale(k, high + low, n)


def sigmoid(k: KernelBuilder, x: Expr) -> Expr:
    """1 / (1 + e), or e / (1 + e) below zero, from e = exp(-|x|)."""
    is_low = k.let("is_low", x < 0)
    n, high, low = _parts(k, function("max", -function("abs", x), -104))
    e = k.let("e", _scale(k, high + low, n))
    return select(is_low, e, number(1, F32)) / (e + 1)


def tanh(k: KernelBuilder, x: Expr) -> Expr:
    """1 - 2 / (exp(2 x) + 1), near 0 a polynomial."""
    a = k.let("magnitude", function("abs", x))
    large = 1 - 2 / (_normal(k, 2 * function("min", a, 10)) + 1)
    small = a + a * (a * a) * _poly(k, "tanh", k.let("square", a * a))
    return _with_sign(k.let("y", select(a >= 0.9, large, small)), x)


def erf(k: KernelBuilder, x: Expr) -> Expr:
    a = k.let("magnitude", function("abs", x))
    large = 1 - _normal(k, _poly(k, "log_erfc", k.let("bounded", function("min", a, 4))))
    small = a + a * _poly(k, "erf", k.let("square", a * a))
    return _with_sign(k.let("y", select(a >= 1, large, small)), x)


def _plain(name: str) -> Function:
    return lambda k, *args: function(name, *args)


FUNCTIONS: Mapping[str, Function] = {
    "exp": exp,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "erf": erf,
    "sqrt": _plain("sqrt"),
    "floor": _plain("floor"),
    "round_even": _plain("round"),
    "fabs": _plain("abs"),
    "fmax": lambda k, a, b: select(a > b, a, b),
    "fmin": lambda k, a, b: select(a < b, a, b),
    "rsqrt": lambda k, a: 1 / function("sqrt", a),
}


def _within(k: KernelBuilder, x: Expr, low: float, high: float) -> Expr:
    return k.let("bounded", function("max", function("min", x, high), low))


def _parts(k: KernelBuilder, x: Expr) -> tuple[Expr, Expr, Expr]:
    """exp(x) = 2^n (high + low)."""
    count = k.let("count", function("round", x * float(LOG2_E)))
    a = k.let("a", x - count * float(LN2_HIGH))
    b = k.let("b", count * float(LN2_LOW))
    r = k.let("r", a - b)
    high = k.let("high", 1 + r)
    low = ((1 - high) + r) + (((a - r) - b) + r * r * _poly(k, "exp", r))
    return k.let("n", count.to(I32)), high, k.let("low", low)


def _normal(k: KernelBuilder, x: Expr) -> Expr:
    n, high, low = _parts(k, k.let("x", x))
    return (high + low) * _pow2(n)


def _pow2(n: Expr) -> Expr:
    return ((n + 127) << 23).bits(F32)


def _scale(k: KernelBuilder, x: Expr, n: Expr) -> Expr:
    """x 2^n, also where 2^n is no number of normal size."""
    first = k.let("first", n >> 1)
    return x * _pow2(first) * _pow2(n - first)


def _with_sign(y: Expr, x: Expr) -> Expr:
    return ((y.bits(U32) & 0x7FFFFFFF) | (x.bits(U32) & 0x80000000)).bits(F32)


def _poly(k: KernelBuilder, name: str, x: Expr) -> Expr:
    """The polynomial of that name, by Horner's rule."""
    first, *rest = coefficients(name)
    p = number(first, F32)
    for c in rest:
        p = k.let("p", p * x + c)
    return p
