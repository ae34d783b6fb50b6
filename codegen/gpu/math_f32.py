"""The functions of float32 that formulas use, as in math_exp_f32.h: those of languages are far off at times.

Polynomials are read from the headers of the C runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from edgekit.codegen.gpu.ast import F32, I32, U32, Expr, function, number, select
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.polynomial import polynomial
from edgekit.codegen.gpu.quotient import divided
from edgekit.codegen.gpu.trigonometry import cos, sin
from edgekit.core.math_f32.numbers import LN2_HIGH, LN2_LOW, LOG2_E

Function = Callable[..., Expr]
_MIN_NORMAL, _MAX_FLOAT = 1.17549435e-38, 3.40282347e38  # of normal floats
_ROOT_HALF = 0x3F3504F3  # the bits of sqrt(1/2)


def exp(k: KernelBuilder, x: Expr) -> Expr:
    n, high, low = _parts(k, _within(k, x, -104, 89))
    return _scale(k, high + low, n)


def exp2_below(k: KernelBuilder, x: Expr) -> Expr:
    """2 to the power x for x <= 0, as weights of attention have it: at least 2^-126."""
    bounded = k.let("bounded", function("max", x, -126))
    count = k.let("count", function("round", bounded))
    r = k.let("r", bounded - count)
    return k.let("y", (1 + r * polynomial(k, "exp2", r)) * _pow2(count.to(I32)))


def sigmoid(k: KernelBuilder, x: Expr) -> Expr:
    n, e = _decay(k, x, 104)
    return _share(k, x, k.let("e", _scale(k, e, n)))


def gate(k: KernelBuilder, x: Expr) -> Expr:
    """The same for a factor of x, but 0 below -87."""
    n, e = _decay(k, x, 87)
    return select(x < -87, number(0, F32), _share(k, x, k.let("e", e * _pow2(n))))


def tanh(k: KernelBuilder, x: Expr) -> Expr:
    """1 - 2 / (exp(2 x) + 1), near 0 a polynomial."""
    a = k.let("magnitude", function("abs", x))
    large = 1 - 2 / (_normal(k, 2 * function("min", a, 10)) + 1)
    small = a + a * (a * a) * polynomial(k, "tanh", k.let("square", a * a))
    return _with_sign(k.let("y", select(a >= 0.9, large, small)), x)


def erf(k: KernelBuilder, x: Expr) -> Expr:
    a = k.let("magnitude", function("abs", x))
    large = 1 - _normal(k, polynomial(k, "log_erfc", k.let("bounded", function("min", a, 4))))
    small = a + a * polynomial(k, "erf", k.let("square", a * a))
    return _with_sign(k.let("y", select(a >= 1, large, small)), x)


def expm1(k: KernelBuilder, x: Expr) -> Expr:
    """Half of 2^n (1 + r + s) - 1 is added up, because 2^128 is no float."""
    bounded = k.let("bounded", _within(k, x, -25, 89))
    count = k.let("count", function("round", bounded * float(LOG2_E)))
    a = k.let("a", bounded - count * float(LN2_HIGH))
    b = k.let("b", count * float(LN2_LOW))
    r = k.let("r", a - b)
    s = k.let("s", r * r * polynomial(k, "exp", r) + ((a - r) - b))
    halved = k.let("halved", _pow2(count.to(I32) - 1))
    one = k.let("one", halved - 0.5)
    part = k.let("part", r * halved)
    total = k.let("total", one + part)
    rest = select(count > 0, (halved - one) - 0.5, number(0, F32))
    is_one = function("abs", one) > function("abs", part)
    rest = k.let("rest", rest + select(is_one, (one - total) + part, (part - total) + one))
    y = k.let("y", 2 * (total + (rest + halved * s)))
    return select(function("abs", x) < 1e-8, x, y)


def log(k: KernelBuilder, x: Expr) -> Expr:
    is_tiny = k.let("is_tiny", x < _MIN_NORMAL)
    n, f = _split(k, k.let("scaled", select(is_tiny, x * 8388608, x)))
    n = k.let("exponent", select(is_tiny, n - 23, n))
    return _ends(k, x, k.let("y", _joined(k, n, f, number(0, F32))))


def log1p(k: KernelBuilder, x: Expr) -> Expr:
    """log(1 + x) without cancellation."""
    inside = k.let("inside", select((x > -1) & (x <= _MAX_FLOAT), x, number(0, F32)))
    u = k.let("u", 1 + inside)
    lost = k.let("lost", select(inside > 1, (inside - u) + 1, (1 - u) + inside))
    n, f = _split(k, u)
    y = _ends(k, k.let("sum", 1 + x), k.let("y", _joined(k, n, f, lost / u)))
    return select(function("abs", x) < 5.9604645e-08, x, y)


def _split(k: KernelBuilder, x: Expr) -> tuple[Expr, Expr]:
    """x = 2^n (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), of a positive normal x."""
    u = k.let("u", x.bits(U32) + (0x3F800000 - _ROOT_HALF))
    f = ((u & 0x7FFFFF) + _ROOT_HALF).bits(F32) - 1
    return k.let("n", (u >> 23).to(I32) - 127), k.let("f", f)


def _joined(k: KernelBuilder, n: Expr, f: Expr, tail: Expr) -> Expr:
    """n ln 2 + log(1 + f) + tail."""
    count = k.let("count", n.to(F32))
    whole = k.let("whole", count * float(LN2_HIGH))
    square = k.let("square", f * f)
    high = k.let("high", whole + f)
    low = k.let("low", f - (high - whole))
    rest = square * f * polynomial(k, "log", f) - 0.5 * square
    return high + (low + (rest + (count * float(LN2_LOW) + tail)))


def _ends(k: KernelBuilder, u: Expr, y: Expr) -> Expr:
    """A logarithm of u at the ends of its domain, y elsewhere. Languages lack infinite constants: they are
    made of the bits of u."""
    bits = k.let("bits", u.bits(U32))
    y = select(u < 0, (bits | 0x7FC00000).bits(F32), y)
    y = select(u.eq(0), (bits | 0xFF800000).bits(F32), y)
    return select(u <= _MAX_FLOAT, y, u + u)


def _plain(name: str) -> Function:
    return lambda k, *args: function(name, *args)


FUNCTIONS: Mapping[str, Function] = {
    "exp": exp,
    "sigmoid": sigmoid,
    "gate": gate,
    "tanh": tanh,
    "erf": erf,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "sin": sin,
    "cos": cos,
    "sqrt": _plain("sqrt"),
    "floor": _plain("floor"),
    "ceil": lambda k, a: -function("floor", -a),
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
    low = ((1 - high) + r) + (((a - r) - b) + r * r * polynomial(k, "exp", r))
    return k.let("n", count.to(I32)), high, k.let("low", low)


def _decay(k: KernelBuilder, x: Expr, most: int) -> tuple[Expr, Expr]:
    """exp(-|x|) = 2^n y."""
    near = k.let("near", -function("min", function("abs", x), most))
    count = k.let("count", function("round", near * float(LOG2_E)))
    r = k.let("r", (near - count * float(LN2_HIGH)) - count * float(LN2_LOW))
    return k.let("n", count.to(I32)), k.let("power", 1 + r * (1 + r * polynomial(k, "exp", r)))


def _share(k: KernelBuilder, x: Expr, e: Expr) -> Expr:
    """1 / (1 + e), or e / (1 + e) where x is below zero."""
    total = k.let("total", select(x < 0, e, number(1, F32)))
    return k.let("share", total - total * divided(k, e, k.let("below", 1 + e)))


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
