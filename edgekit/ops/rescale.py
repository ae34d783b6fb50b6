"""y = a b / 2^31 2^c over int32: how TFLite multiplies an integer by a real factor, element by element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit import fixed
from edgekit.ir import Array
from edgekit.ops._map import Map


@dataclass(frozen=True)
class Rescale(Map):
    """Rounded twice. The factor is b / 2^31 2^c with 0 <= b < 2^31, -31 <= c <= 30."""

    arity = 3
    c_int = "ek_requantize_tfl(a, b, c)"

    def compute(self, *ins: Array) -> Array:
        a, b, c = (x.astype(np.int64) for x in ins)
        return fixed.mbqm(a, b, c)


@dataclass(frozen=True)
class RescaleOnce(Map):
    """Rounded once, half up; the factor as that of Rescale."""

    arity = 3
    c_int = "ek_requantize_once(a, b, c)"

    def compute(self, *ins: Array) -> Array:
        a, b, c = (x.astype(np.int64) for x in ins)
        return fixed.mbqm_once(a, b, c)
