"""y = x - 128 as int8 of uint8, or x + 128 the other way: the highest bit is flipped, nothing is lost.

So it is with 32768 and integers of 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._layout import stored
from edgekit.core.types import Array, DType, Type
from edgekit.core.value_ranges import Pairs, channels, together

_OTHER = {DType.U8: DType.S8, DType.S8: DType.U8, DType.U16: DType.S16, DType.S16: DType.U16}


@dataclass(frozen=True)
class FlipSign(Op):
    """Quantized operands keep their scale; the zero point goes along, which the types of both sides say."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.dtype in _OTHER, f"takes integers of 8 or 16 bits, got {x}")
        return (Type(_OTHER[x.dtype], x.shape),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        unsigned = np.dtype(f"u{x.itemsize}")
        flipped = np.bitwise_xor(x.view(unsigned), unsigned.type(_half(DType.of(x.dtype))))
        return (np.asarray(flipped).view(_OTHER[DType.of(x.dtype)].numpy),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return self.eval(*args)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        half = _half(x.type.dtype)
        expr = f"a + {half}" if x.type.dtype.is_signed else f"(int32_t)a - {half}"
        return [
            Call(
                kernel="map1",
                types={"A": x.type.dtype, "Y": y.type.dtype},
                args=(x, y),
                params={"n": x.type.size, "sa": 1, "a0": 0, "y0": 0},
                label="flip_sign",
                expr=expr,
                inplace=(0,),
            )
        ]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        return stored(self, [ins[0]], [ins[0]])

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out))]


def _half(dtype: DType) -> int:
    """Half of the numbers that a type holds."""
    return 1 << (dtype.bits - 1)
