"""y = x repeated along dimensions of size 1, as numpy broadcasts; dimensions may be added in front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.layouts import Layout, Want
from edgekit.core.ops import Arg, Op, OpInLayout, Step, View, require
from edgekit.core.ops._bounds import rising
from edgekit.core.ops._copy import copy
from edgekit.core.ops._strided import broadcast, contiguous
from edgekit.core.types import Array, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together


@dataclass(frozen=True)
class Expand(Op):
    is_data_movement = True
    shape: tuple[int, ...]

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        tail = self.shape[len(self.shape) - x.rank :]
        require(
            len(tail) == x.rank and all(n in (1, m) for n, m in zip(x.shape, tail, strict=True)),
            f"{x} does not broadcast to {list(self.shape)}",
        )
        return (replace(x, shape=self.shape),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return (np.broadcast_to(ins[0], self.shape),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        if x.type.size == y.type.size:
            return [View(y, x)]
        return copy(x, y, self.shape, broadcast(x.type.shape, self.shape), contiguous(self.shape))

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        x = ins[0].extended(len(self.shape))
        y = x.resized(self.shape)
        return OpInLayout(Expand(y.shape), (Want(ins[0], x.shape),), (y,))

    def changes_nothing(self, *ins: Type) -> bool:
        return True

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out)) if channels(ins[0]) == channels(out) else None]

    def narrowed(self, ins: Sequence[Array], out: Array) -> Op:
        return Expand((*self.shape[:-1], int(out.sum())) if self.shape else ())
