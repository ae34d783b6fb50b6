"""y = x with another shape: the same elements in the same order, no code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from edgekit.ir import Array, Type
from edgekit.ops import Arg, Op, Step, View, require


@dataclass(frozen=True)
class Reshape(Op):
    moves = True
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
