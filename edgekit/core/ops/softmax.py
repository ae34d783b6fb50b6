"""y = exp(x - max x) / sum of exp(x - max x), over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core import fixed, fixed_tfl, math_f32
from edgekit.core.errors import EdgeKitError
from edgekit.core.layouts import Layout
from edgekit.core.ops import ELEMENT, Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._integer import constant, quant_of
from edgekit.core.ops._layout import stored
from edgekit.core.ops._map import real_type
from edgekit.core.ops._order import is_narrow, row_sums, term_by_term
from edgekit.core.types import Array, DType, Type, Value

_EXP = "exponentials of all inputs"


@dataclass(frozen=True)
class Softmax(Op):
    wide: bool = False  # int8 becomes int16, by TFLite's rule: what comes after it needs more than 256 steps

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.rank >= 1, f"takes rows, got {x}")
        require(real_type(x.dtype) or x.quant is not None, f"is not defined on {x.dtype.value}")
        require(not self.wide or x.dtype is DType.S8, f"widens int8, not {x.dtype.value}")
        return (replace(x, dtype=DType.S16, quant=None) if self.wide else x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return (self._evaluated(ins[0], as_in_c=is_narrow(ins[0])),)

    def in_c(self, *ins: Array) -> tuple[Array, ...]:
        return (self._evaluated(ins[0], as_in_c=ins[0].dtype.itemsize <= 4),)

    def _evaluated(self, x: Array, *, as_in_c: bool) -> Array:
        wide = x.astype(np.float32) if as_in_c else x
        with np.errstate(all="ignore"):
            d = wide - wide.max(axis=-1, keepdims=True, initial=-np.inf)
            e = math_f32.exp(d) if as_in_c else np.exp(d)
            y: Array = e / (row_sums(e) if as_in_c else e.sum(axis=-1, keepdims=True))
            return y.astype(x.dtype)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        (x,) = args
        if quant_of(outs[0]).rounding == "E":
            return (fixed.softmax(x.astype(np.int64), quant_of(ins[0]).scale[0]).astype(x.dtype),)
        y = fixed_tfl.softmax(x.astype(np.int64), quant_of(ins[0]).scale[0], outs[0].dtype.bits)
        return (y.astype(outs[0].dtype.numpy),)

    def has_integers(self, ins: Sequence[Value]) -> bool:
        return ins[0].type.shape[-1] <= fixed.LONGEST_SOFTMAX

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs) + 8 * ELEMENT * ins[0].size + term_by_term(ins[0], ins[0].shape[-1])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        n = x.type.shape[-1]
        if x.type.quant is not None:
            self._check(n, quant_of(y.type).rounding)
        if x.type.quant is not None and quant_of(y.type).rounding == "E":
            table = fixed.softmax_table(x.type.quant.scale[0]).astype(np.uint16)
            args = (x, constant(f"{x.name}#exp", table, _EXP), y)
            params = {"rows": x.type.size // n, "n": n}
            return [Call("softmax_s8", {}, args, params, label="softmax_s8", inplace=(0,))]
        if x.type.quant is not None:
            table = fixed_tfl.softmax_table(x.type.quant.scale[0])
            kernel = "softmax_s8_s16_tfl" if self.wide else "softmax_s8_tfl"
            return [
                Call(
                    kernel=kernel,
                    types={},
                    args=(x, constant(f"{x.name}#exp", table, _EXP), y),
                    params={"rows": x.type.size // n, "n": n},
                    label=kernel,
                    inplace=() if self.wide else (0,),
                )
            ]
        return [
            Call(
                kernel="softmax",
                types={"T": x.type.dtype},
                args=(x, y),
                params={"rows": x.type.size // n, "n": n},
                inplace=(0,),
            )
        ]

    def _check(self, n: int, rounding: str) -> None:
        if n > (fixed if rounding == "E" else fixed_tfl).LONGEST_SOFTMAX:
            hint = "compute the softmax in floats, behind a Dequantize"
            raise EdgeKitError("E0208", f"sums of {n:,} exponentials may leave 32 bits", "", hint)

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        x = ins[0]
        return stored(self, [x], [x]) if x.ends_alike else None
