"""Elementwise non-linear functions of neural networks that are not compositions of cheaper ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erf

import numpy as np

from edgekit.core.ops import Arg, Step, require
from edgekit.core.ops._integer_maps import prelu_calls, prelu_integers
from edgekit.core.ops._map import Map, Unary
from edgekit.core.types import Array, DType, Type, Value

_ERF = np.vectorize(erf, otypes=[np.float64])


@dataclass(frozen=True)
class Sigmoid(Unary):
    """y = 1 / (1 + exp(-a))"""

    corners = True
    c_float = "ek_sigmoid_{d}(a)"


@dataclass(frozen=True)
class Tanh(Unary):
    corners = True
    c_float = "ek_tanh_{d}(a)"


@dataclass(frozen=True)
class Exp(Unary):
    corners = True
    c_float = "ek_exp_{d}(a)"


@dataclass(frozen=True)
class Log(Unary):
    corners = True
    c_float = "ek_log_{d}(a)"


@dataclass(frozen=True)
class Erf(Unary):
    corners = True
    c_float = "ek_erf_{d}(a)"


@dataclass(frozen=True)
class Gelu(Unary):
    """y = a (1 + erf(a / sqrt(2))) / 2"""

    c_float = "({T})0.5 * a * (1 + ek_erf_{d}(a * ({T})0.70710678118654752))"


@dataclass(frozen=True)
class GeluTanh(Unary):
    """y = a sigmoid(2 z), which is a (1 + tanh(z)) / 2, with z = sqrt(2 / pi) (a + 0.044715 a^3)"""

    c_float = "a * ek_sigmoid_{d}(a * (({T})1.5957691216057308 + ({T})0.0713548162726009 * a * a))"


@dataclass(frozen=True)
class Swish(Map):
    """y = a sigmoid(b a)"""

    c_float = "a * ek_gate_{d}(a * b)"


@dataclass(frozen=True)
class HardSwish(Unary):
    """y = a clamp(a + 3, 0, 6) / 6"""

    # In this order, the compiler finds no product that it could leave out in a branch, and vectorises.
    c_float = "a * (a + 3 < 0 ? 0 : a + 3 > 6 ? 6 : a + 3) * ({T})0.16666666666666667"


@dataclass(frozen=True)
class HardSigmoid(Map):
    """y = clamp(a b + c, 0, 1)"""

    corners = True
    arity = 3
    c_float = "a * b + c < 0 ? 0 : a * b + c > 1 ? 1 : a * b + c"


@dataclass(frozen=True)
class Elu(Map):
    """y = a for a >= 0, else b (exp(c a) - 1)"""

    arity = 3
    c_float = "(a < 0 ? 0 : a) + b * ek_expm1_{d}((a < 0 ? a : 0) * c)"


@dataclass(frozen=True)
class Softplus(Unary):
    """y = log(1 + exp(a))"""

    corners = True
    c_float = "(a > 0 ? a : 0) + ek_log1p_{d}(ek_exp_{d}(-ek_fabs_{d}(a)))"


@dataclass(frozen=True)
class Mish(Unary):
    """y = a tanh(log(1 + exp(a)))"""

    c_float = "a * ek_tanh_{d}((a > 0 ? a : 0) + ek_log1p_{d}(ek_exp_{d}(-ek_fabs_{d}(a))))"


@dataclass(frozen=True)
class PRelu(Map):
    """y = a for a >= 0, else b a"""

    c_float = "(a < 0 ? 0 : a) + b * (a < 0 ? a : 0)"  # no product in a branch: that is not vectorised
    c_int = "a < 0 ? ({T})(({U})a * ({U})b) : a"

    def compute(self, *ins: Array) -> Array:
        x, slope = ins
        return np.where(x < 0, x * slope, x)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        if len(ins) != 2 or ins[0].quant is None or ins[1].dtype is not DType.F32:
            return super().infer(*ins)
        x, slope = ins
        require(_spreads(slope, x), f"slopes {slope} do not broadcast to {x}")
        return (x.real,)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        if args[1].size == 1:
            return super().integer(args, ins, outs)
        return (prelu_integers(args[0], args[1], ins, outs[0]),)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        """Slopes become integers once and for all."""
        x, slope = ins
        return x.data is None and slope.data is not None and _spreads(slope.type, x.type)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        if outs[0].type.quant is None or ins[1].type.size == 1:
            return super().lower(ins, outs)
        return prelu_calls(ins[0], ins[1], outs[0])


def _spreads(small: Type, large: Type) -> bool:
    """Does the one broadcast to the other?"""
    pairs = zip(reversed(small.shape), reversed(large.shape), strict=False)
    return small.rank <= large.rank and all(a in (1, b) for a, b in pairs)
