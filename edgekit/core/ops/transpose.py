"""y = x with its dimensions in another order: dimension i of y is dimension perm[i] of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgekit.core.ops import Arg, Op, Step, View, require
from edgekit.core.ops._bounds import rising
from edgekit.core.ops._copy import copy
from edgekit.core.ops._strided import contiguous
from edgekit.core.types import Array, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together


@dataclass(frozen=True)
class Transpose(Op):
    is_data_movement = True
    perm: tuple[int, ...]

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(
            sorted(self.perm) == list(range(x.rank)),
            f"perm {list(self.perm)} is no order of {x.rank} dimensions",
        )
        return (replace(x, shape=tuple(x.shape[p] for p in self.perm)),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return (ins[0].transpose(self.perm).copy(),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        if moves_nothing(x.type.shape, self.perm):
            return [View(y, x)]
        strides = contiguous(x.type.shape)
        shape = y.type.shape
        return copy(x, y, shape, tuple(strides[p] for p in self.perm), contiguous(shape))

    def changes_nothing(self, *ins: Type) -> bool:
        return moves_nothing(ins[0].shape, self.perm)

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out))] if not self.perm or self.perm[-1] == len(self.perm) - 1 else None


def moves_nothing(shape: Sequence[int], perm: Sequence[int]) -> bool:
    """Does the order of the dimensions larger than 1 stay, so that the transpose is a reshape?"""
    kept = [p for p in perm if shape[p] != 1]
    return kept == sorted(kept)
