"""y = x with another shape: the same elements in the same order, no code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.core.ops import Arg, Op, Step, View, require
from edgekit.core.ops._bounds import rising
from edgekit.core.types import Array, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels


@dataclass(frozen=True)
class Reshape(Op):
    is_data_movement = True
    shape: tuple[int, ...]

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(x.size == prod(self.shape), f"{x} has {x.size} elements, shape {list(self.shape)} other")
        return (replace(x, shape=self.shape),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return (ins[0].reshape(self.shape),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        return [View(outs[0], ins[0])]

    def changes_nothing(self, *ins: Type) -> bool:
        return True

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        """Several dimensions may become the last one, or the last one several."""
        few, many = sorted((channels(ins[0]), channels(out)))
        if few == 0 or many % few:
            return None
        pairs = np.arange(many) % few, np.arange(many)
        return [pairs if channels(out) == many else pairs[::-1]]

    def narrowed(self, ins: Sequence[Array], out: Array) -> Op:
        return Reshape((*self.shape[:-1], int(out.sum())) if self.shape else ())
