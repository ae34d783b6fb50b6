"""Elementwise rounding of floats to whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.core.ops._map import Unary


@dataclass(frozen=True)
class Floor(Unary):
    corners = True
    c_float = "ek_floor_{d}(a)"


@dataclass(frozen=True)
class Ceil(Unary):
    corners = True
    c_float = "ek_ceil_{d}(a)"


@dataclass(frozen=True)
class Round(Unary):
    """To the nearest, ties to even."""

    corners = True
    c_float = "ek_round_even_{d}(a)"
