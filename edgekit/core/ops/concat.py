"""y = the operands one behind the other along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Join, Op, OpInLayout, Step, require
from edgekit.core.ops._bounds import rising
from edgekit.core.ops._copy import copy
from edgekit.core.ops._layout import stored
from edgekit.core.ops._strided import contiguous
from edgekit.core.types import Array, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together


@dataclass(frozen=True)
class Concat(Op):
    is_data_movement = True
    axis: int  # 0 <= axis < rank

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        first = ins[0]
        for x in ins:
            require(x.dtype == first.dtype, f"operands differ in type: {first} and {x}")
            require(
                x.rank == first.rank
                and all(
                    a == b
                    for i, (a, b) in enumerate(zip(x.shape, first.shape, strict=True))
                    if i != self.axis
                ),
                f"{first} and {x} differ outside axis {self.axis}",
            )
        shape = list(first.shape)
        shape[self.axis] = sum(x.shape[self.axis] for x in ins)
        return (replace(first, shape=tuple(shape)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return (np.concatenate(ins, self.axis),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (y,) = outs
        if prod(y.type.shape[: self.axis]) == 1:
            return [Join(y, tuple(ins))]
        strides = contiguous(y.type.shape)
        steps: list[Step] = []
        start = 0
        for x in ins:
            steps += copy(x, y, x.type.shape, contiguous(x.type.shape), strides, y_start=start)
            start += x.type.shape[self.axis] * strides[self.axis]
        return steps

    def changes_nothing(self, *ins: Type) -> bool:
        return len(ins) == 1

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        axis = ins[at].axis(self.axis)
        if axis is None:
            return None
        sizes = [x.value_shape[self.axis] for x in ins]
        wanted = (ins[at].with_size(self.axis, n) for n in sizes)
        return stored(Concat(axis), wanted, [ins[at].with_size(self.axis, sum(sizes))])

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        if self.axis != out.rank - 1:
            return [together(channels(out))] * len(ins)
        ends = np.cumsum([channels(x) for x in ins])
        return [
            (np.arange(n), np.arange(end - n, end)) for n, end in zip(map(channels, ins), ends, strict=True)
        ]
