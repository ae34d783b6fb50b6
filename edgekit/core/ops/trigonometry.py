"""Elementwise trigonometric and hyperbolic functions, and their inverses."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.core.ops._map import Unary


@dataclass(frozen=True)
class Sin(Unary):
    c_float = "ek_sin_{d}(a)"


@dataclass(frozen=True)
class Cos(Unary):
    c_float = "ek_cos_{d}(a)"


@dataclass(frozen=True)
class Tan(Unary):
    c_float = "ek_tan_{d}(a)"


@dataclass(frozen=True)
class Asin(Unary):
    c_float = "ek_asin_{d}(a)"


@dataclass(frozen=True)
class Acos(Unary):
    c_float = "ek_acos_{d}(a)"


@dataclass(frozen=True)
class Atan(Unary):
    c_float = "ek_atan_{d}(a)"


@dataclass(frozen=True)
class Sinh(Unary):
    c_float = "ek_sinh_{d}(a)"


@dataclass(frozen=True)
class Cosh(Unary):
    c_float = "ek_cosh_{d}(a)"


@dataclass(frozen=True)
class Asinh(Unary):
    c_float = "ek_asinh_{d}(a)"


@dataclass(frozen=True)
class Acosh(Unary):
    c_float = "ek_acosh_{d}(a)"


@dataclass(frozen=True)
class Atanh(Unary):
    c_float = "ek_atanh_{d}(a)"
