"""Order along an axis: where the largest or smallest element is, and which are the k largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.core.layouts import Layout
from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._layout import stored
from edgekit.core.types import Array, DType, Type


@dataclass(frozen=True)
class ArgExtreme(Op):
    """y = the index of the largest (or smallest) element along an axis, which has size 1 in the result. Of
    equal ones the first, or the `last`. NaN is never chosen, unless it comes first."""

    axis: int
    largest: bool = True
    last: bool = False

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(0 <= self.axis < x.rank, f"no axis {self.axis} in {x}")
        require(x.shape[self.axis] > 0, f"{x} is empty along axis {self.axis}")
        return (Type(DType.S64, (*x.shape[: self.axis], 1, *x.shape[self.axis + 1 :])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        best = x.take([0], self.axis)
        at = np.zeros(best.shape, np.int64)
        for i in range(1, x.shape[self.axis]):
            here = x.take([i], self.axis)
            better = here > best if self.largest else here < best
            better |= (here == best) & self.last
            best, at = np.where(better, here, best), np.where(better, i, at)
        return (at,)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Python goes along the axis."""
        return super().work(ins, outs) + ITERATION * ins[0].shape[self.axis]

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        name = "argmax" if self.largest else "argmin"
        return [
            Call(
                kernel="arg_extreme",
                types={"T": x.type.dtype},
                args=(x, y),
                params=_lines(x.type, self.axis),
                label=f"{name}_last" if self.last else name,
                expr=f"a {'>' if self.largest else '<'}{'=' * self.last} b",
            )
        ]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        (x,) = ins
        axis = x.axis(self.axis)
        return None if axis is None else stored(replace(self, axis=axis), ins, [x.with_size(self.axis, 1)])


@dataclass(frozen=True)
class TopK(Op):
    """The k largest (or smallest) elements along an axis, best first, and their indices; ties in order."""

    axis: int
    k: int
    largest: bool = True

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(0 <= self.axis < x.rank, f"no axis {self.axis} in {x}")
        require(
            0 <= self.k <= x.shape[self.axis], f"there are no {self.k} elements along axis {self.axis} of {x}"
        )
        shape = (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :])
        return replace(x, shape=shape), Type(DType.S64, shape)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        if self.largest:  # a stable sort, backwards: ties keep their order
            n = x.shape[self.axis]
            order = n - 1 - np.flip(np.argsort(np.flip(x, self.axis), self.axis, kind="stable"), self.axis)
        else:
            order = np.argsort(x, self.axis, kind="stable")
        at = order.take(range(self.k), self.axis)
        return np.take_along_axis(x, at, self.axis), at.astype(np.int64)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Everything is sorted."""
        (x,) = ins
        return super().work(ins, outs) + ELEMENT * x.size * max(x.shape[self.axis], 1).bit_length()

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y, at) = ins, outs
        return [
            Call(
                kernel="topk",
                types={"T": x.type.dtype},
                args=(x, y, at),
                params={**_lines(x.type, self.axis), "k": self.k},
                label="topk" if self.largest else "bottomk",
                expr="a > b" if self.largest else "a < b",
                results=2,
            )
        ]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        (x,) = ins
        axis = x.axis(self.axis)
        return (
            None
            if axis is None
            else stored(replace(self, axis=axis), ins, [x.with_size(self.axis, self.k)] * 2)
        )


def _lines(x: Type, axis: int) -> dict[str, int]:
    return {"outer": prod(x.shape[:axis]), "n": x.shape[axis], "inner": prod(x.shape[axis + 1 :])}
