"""Elementwise non-linear functions of neural networks that are not compositions of cheaper ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.ir import Array
from edgekit.ops._map import Map, Unary


@dataclass(frozen=True)
class Sigmoid(Unary):
    """y = 1 / (1 + exp(-a))"""

    c = "ek_sigmoid_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        (x,) = ins
        e = np.exp(-np.abs(x))  # never overflows
        return np.where(x < 0, e / (1 + e), 1 / (1 + e)).astype(x.dtype)


@dataclass(frozen=True)
class Tanh(Unary):
    c = "ek_tanh_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.tanh(*ins)


@dataclass(frozen=True)
class Exp(Unary):
    c = "ek_exp_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.exp(*ins)


@dataclass(frozen=True)
class Log(Unary):
    c = "ek_log_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.log(*ins)


@dataclass(frozen=True)
class PRelu(Map):
    """y = a for a >= 0, else b a"""

    c = "a < 0 ? a * b : a"

    def compute(self, *ins: Array) -> Array:
        x, slope = ins
        return np.where(x < 0, x * slope, x)
