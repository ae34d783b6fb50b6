"""Elementwise arithmetic: sums, products, quotients, remainders, powers, extremes, signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgekit.core.ops import Arg, Step
from edgekit.core.ops._integer_maps import product_calls, product_integers, sum_calls, sum_integers
from edgekit.core.ops._map import Map, Unary
from edgekit.core.types import Array, Type, Value


@dataclass(frozen=True)
class Add(Map):
    corners = True
    tabled = False
    c = "a + b"
    c_int = "({T})(({U})a + ({U})b)"  # integers wrap, as in numpy; signed overflow is undefined in C

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return (sum_integers(args, ins, outs[0], 1),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return super().lower(ins, outs) if outs[0].type.quant is None else sum_calls(ins, outs[0], 1)


@dataclass(frozen=True)
class Sub(Map):
    corners = True
    tabled = False
    c = "a - b"
    c_int = "({T})(({U})a - ({U})b)"

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return (sum_integers(args, ins, outs[0], -1),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return super().lower(ins, outs) if outs[0].type.quant is None else sum_calls(ins, outs[0], -1)


@dataclass(frozen=True)
class Mul(Map):
    corners = True
    tabled = False
    c = "a * b"
    c_int = "({T})(({U})a * ({U})b)"

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return (product_integers(args, ins, outs[0]),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return super().lower(ins, outs) if outs[0].type.quant is None else product_calls(ins, outs[0])


@dataclass(frozen=True)
class Div(Map):
    """Integers are divided towards zero, as ONNX has it; what is divided by 0 gives 0."""

    c = "a / b"
    c_int = "ek_div_{d}(a, b)"


@dataclass(frozen=True)
class Mod(Map):
    """The remainder of division towards minus infinity: it has the sign of b. Integers modulo 0 give 0."""

    c = "ek_mod_{d}(a, b)"


@dataclass(frozen=True)
class Remainder(Map):
    """The remainder of division towards zero: it has the sign of a. Integers modulo 0 give 0."""

    c = "ek_fmod_{d}(a, b)"
    c_int = "ek_rem_{d}(a, b)"


class _Extreme(Map):
    """Quantized operands have the scale of the result, or are one tensor and numbers."""

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        alike = all(t.dtype is outs[0].dtype for t in ins)
        return self.eval(*args) if alike else super().integer(args, ins, outs)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return any(v.data is None for v in ins)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        alike = all(x.type.dtype is outs[0].type.dtype for x in ins)
        return self.strided(ins, outs[0]) if alike else super().lower(ins, outs)


@dataclass(frozen=True)
class Max(_Extreme):
    """NaN if either is NaN."""

    corners = True
    c = "a > b ? a : b"
    c_float = "a > b || a != a ? a : b"

    def compute(self, *ins: Array) -> Array:
        return np.maximum(*ins)


@dataclass(frozen=True)
class Min(_Extreme):
    """NaN if either is NaN."""

    corners = True
    c = "a < b ? a : b"
    c_float = "a < b || a != a ? a : b"

    def compute(self, *ins: Array) -> Array:
        return np.minimum(*ins)


@dataclass(frozen=True)
class Clip(Map):
    """y = min(max(a, b), c) for b <= c; NaN stays NaN. Relu is Clip(x, 0, inf)."""

    corners = True
    arity = 3
    is_data_movement: ClassVar[bool] = True  # quantized bounds have the scale of the operand
    c = "a < b ? b : a > c ? c : a"


@dataclass(frozen=True)
class Neg(Unary):
    corners = True
    c = "-a"
    c_int = "({T})(0u - ({U})a)"


@dataclass(frozen=True)
class Abs(Unary):
    """The magnitude; that of the least integer is itself, as in numpy."""

    c_float = "ek_fabs_{d}(a)"
    c_int = "a < 0 ? ({T})(0u - ({U})a) : a"


@dataclass(frozen=True)
class Sign(Unary):
    """1, -1, or a itself where it is 0 or NaN."""

    c = "a > 0 ? 1 : a < 0 ? -1 : a"


@dataclass(frozen=True)
class Sqrt(Unary):
    corners = True
    c_float = "ek_sqrt_{d}(a)"


@dataclass(frozen=True)
class Pow(Map):
    """a to the power of b. Integers wrap; a negative power of one is its reciprocal, rounded towards zero."""

    c = "ek_pow_{d}(a, b)"
