"""What integers of an input or output stand for, as the constants and functions beside a model have it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.codegen.printing.literal import number
from edgekit.core import fixed
from edgekit.core.escape import Code
from edgekit.core.types import Type

_MOST_BITS = 16  # whose integers float32 holds exactly, with room for a zero point


@dataclass(frozen=True)
class IntegerPort:
    """A number is scale * (integer - zero)."""

    scale: float  # a float32
    zero: int
    low: int
    high: int
    away: bool  # do ties go away from zero, as in models of TensorFlow Lite? Else to the even integer

    @property
    def header(self) -> str:
        """What brings the function that makes its integers."""
        return f"integer_port_{'away' if self.away else 'even'}.h"

    @property
    def c_scale(self) -> Code:
        return Code(number(self.scale, "float"))

    @property
    def c_zero(self) -> Code:
        return Code(f"({self.zero})" if self.zero < 0 else str(self.zero))

    @property
    def digits(self) -> Code:
        """The scale in every other language: the shortest digits of this float32."""
        return Code(str(np.float32(self.scale)))


def integer_port(type: Type) -> IntegerPort | None:
    """None where numbers are themselves, have a scale for each channel, or take more than 16 bits."""
    dtype, quant = type.dtype, type.quant
    if not quant or len(quant.scale) > 1 or not dtype.is_integer or dtype.bits > _MOST_BITS:
        return None
    low, high = fixed.int_range(dtype)
    return IntegerPort(
        float(np.float32(quant.scale[0])), int(quant.zero[0]), low, high, quant.rounding != "E"
    )
