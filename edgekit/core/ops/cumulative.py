"""y[j] = x[0] o x[1] o ... o x[j] along an axis, where o is a sum or a product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._layout import stored
from edgekit.core.ops._map import compute_type
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.types import Array, DType, Type


@dataclass(frozen=True)
class Cumulative(Op):
    """`reverse` starts from the end; `exclusive` leaves x[j] itself out. Small floats add up in f32."""

    kind: str  # sum or prod
    axis: int
    exclusive: bool = False
    reverse: bool = False

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(self.kind in ("sum", "prod"), f"kind {self.kind} is unknown")
        require(0 <= self.axis < x.rank, f"no axis {self.axis} in {x}")
        Add().infer(x, x)  # is it defined?
        return (x,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        accumulate = np.cumsum if self.kind == "sum" else np.cumprod
        terms = np.flip(x, self.axis) if self.reverse else x
        dtype = np.dtype(np.float32) if compute_type(DType.of(x.dtype)) is DType.F32 else x.dtype
        with np.errstate(all="ignore"):
            y = accumulate(terms, self.axis, dtype=dtype)
            y = y + dtype.type(0) if self.kind == "sum" else y  # sums begin with 0, and 0 + -0 is 0
            if self.exclusive:
                y = np.insert(y, 0, self.kind == "prod", self.axis).take(range(x.shape[self.axis]), self.axis)
            return ((np.flip(y, self.axis) if self.reverse else y).astype(x.dtype),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        shape = x.type.shape
        formula = Add() if self.kind == "sum" else Mul()
        return [
            Call(
                kernel="cumulative",
                types={"T": x.type.dtype},
                args=(x, y),
                params={
                    "outer": prod(shape[: self.axis]),
                    "n": shape[self.axis],
                    "inner": prod(shape[self.axis + 1 :]),
                    "first": int(self.kind == "prod"),
                    "exclusive": int(self.exclusive),
                    "reverse": int(self.reverse),
                },
                label=f"cum{self.kind}",
                expr=formula.formula(x.type.dtype),
                inplace=(0,),
            )
        ]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        (x,) = ins
        axis = x.axis(self.axis)
        return None if axis is None else stored(replace(self, axis=axis), ins, [x])
