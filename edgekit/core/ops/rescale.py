"""Over int32: y = a b / 2^31 2^c, as TFLite multiplies by real factors, and 1 / sqrt(a) as such a factor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.core import fixed
from edgekit.core.fixed_tfl import inverse_square_root
from edgekit.core.ops._map import Map, Unary
from edgekit.core.types import Array

# Exponents may come from a damaged file, or be inputs: no shift is left undefined.
_LEAST, _LARGEST = -31, 30
_C_EXPONENT = f"c < {_LEAST} ? {_LEAST} : c > {_LARGEST} ? {_LARGEST} : c"


@dataclass(frozen=True)
class Rescale(Map):
    """Rounded twice. The factor is b / 2^31 2^c with 0 <= b < 2^31, and c within -31 and 30 or taken for the
    nearer of them."""

    arity = 3
    c_int = f"ek_requantize_tfl(a, b, {_C_EXPONENT})"

    def compute(self, *ins: Array) -> Array:
        a, b, c = (x.astype(np.int64) for x in ins)
        return fixed.mbqm(a, b, c.clip(_LEAST, _LARGEST))


@dataclass(frozen=True)
class RescaleOnce(Map):
    """Rounded once, halves away from zero, and saturated at 30 bits; the factor as that of Rescale."""

    arity = 3
    c_int = f"ek_requantize_once(a, b, {_C_EXPONENT})"

    def compute(self, *ins: Array) -> Array:
        a, b, c = (x.astype(np.int64) for x in ins)
        return fixed.mbqm_once(a, b, c.clip(_LEAST, _LARGEST))


@dataclass(frozen=True)
class InverseSqrt(Unary):
    """The multiplier b of 1 / sqrt(a) = b / 2^31 2^c for a >= 0; that of 0 is that of 1."""

    c_int = "ek_inverse_sqrt(a)"

    def compute(self, *ins: Array) -> Array:
        return inverse_square_root(ins[0])[0]


@dataclass(frozen=True)
class InverseSqrtExponent(Unary):
    """The exponent c of 1 / sqrt(a) = b / 2^31 2^c for a >= 0."""

    c_int = "ek_inverse_sqrt_exponent(a)"

    def compute(self, *ins: Array) -> Array:
        return inverse_square_root(ins[0])[1]
