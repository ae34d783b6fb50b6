"""Elementwise arithmetic: sums, products, quotients, powers, extremes, signs, rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.ir import Array, DType
from edgekit.ops._map import Map, Unary


@dataclass(frozen=True)
class Add(Map):
    c = "a + b"
    c_int = "({T})(({U})a + ({U})b)"  # integers wrap, as in numpy; signed overflow is undefined in C

    def compute(self, *ins: Array) -> Array:
        return np.add(*ins)


@dataclass(frozen=True)
class Sub(Map):
    c = "a - b"
    c_int = "({T})(({U})a - ({U})b)"

    def compute(self, *ins: Array) -> Array:
        return np.subtract(*ins)


@dataclass(frozen=True)
class Mul(Map):
    c = "a * b"
    c_int = "({T})(({U})a * ({U})b)"

    def compute(self, *ins: Array) -> Array:
        return np.multiply(*ins)


@dataclass(frozen=True)
class Div(Map):
    """Integers are divided towards zero, as ONNX has it; what is divided by 0 gives 0."""

    c = "a / b"
    c_int = "b == 0 ? 0 : ek_div_{d}(a, b)"

    def compute(self, *ins: Array) -> Array:
        a, b = ins
        if DType.of(a.dtype).is_float:
            return np.divide(a, b)
        a, b = np.broadcast_arrays(a, b)
        safe = np.where(b == 0, 1, b).astype(b.dtype)
        quotient = a // safe
        quotient += ((quotient < 0) & (quotient * safe != a)).astype(a.dtype)
        return np.where(b == 0, 0, quotient)


@dataclass(frozen=True)
class Max(Map):
    c = "ek_max_{d}(a, b)"

    def compute(self, *ins: Array) -> Array:
        return np.maximum(*ins)


@dataclass(frozen=True)
class Min(Map):
    c = "ek_min_{d}(a, b)"

    def compute(self, *ins: Array) -> Array:
        return np.minimum(*ins)


@dataclass(frozen=True)
class Clip(Map):
    """y = min(max(a, b), c); NaN stays NaN. Relu is Clip(x, 0, inf)."""

    arity = 3
    c = "a < b ? b : a > c ? c : a"

    def compute(self, *ins: Array) -> Array:
        x, lo, hi = ins
        return np.where(x < lo, lo, np.where(x > hi, hi, x))


@dataclass(frozen=True)
class Neg(Unary):
    c = "-a"
    c_int = "({T})(0u - ({U})a)"

    def compute(self, *ins: Array) -> Array:
        return np.negative(*ins)


@dataclass(frozen=True)
class Abs(Unary):
    c = "ek_fabs_{d}(a)"
    c_int = "ek_abs_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.abs(*ins)


@dataclass(frozen=True)
class Sqrt(Unary):
    c = "ek_sqrt_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.sqrt(*ins)


@dataclass(frozen=True)
class Pow(Map):
    c = "ek_pow_{d}(a, b)"

    def compute(self, *ins: Array) -> Array:
        return np.power(*ins)


@dataclass(frozen=True)
class Floor(Unary):
    c = "ek_floor_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.floor(*ins)
