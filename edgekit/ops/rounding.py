"""Elementwise rounding of floats to whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.ir import Array
from edgekit.ops._map import Unary


@dataclass(frozen=True)
class Floor(Unary):
    corners = True
    c_float = "ek_floor_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.floor(*ins)


@dataclass(frozen=True)
class Ceil(Unary):
    corners = True
    c_float = "ek_ceil_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.ceil(*ins)


@dataclass(frozen=True)
class Round(Unary):
    """To the nearest, ties to even."""

    corners = True
    c_float = "ek_round_even_{d}(a)"

    def compute(self, *ins: Array) -> Array:
        return np.rint(*ins)
