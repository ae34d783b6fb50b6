"""y[i] = x[starts + i steps]: a box of x; steps may be negative, not 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.layouts import Layout
from edgekit.core.ops import Arg, Op, OpInLayout, Step, View, require
from edgekit.core.ops._bounds import rising
from edgekit.core.ops._copy import copy
from edgekit.core.ops._layout import stored
from edgekit.core.ops._strided import contiguous, fold
from edgekit.core.types import Array, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels


@dataclass(frozen=True)
class Slice(Op):
    is_data_movement = True
    starts: tuple[int, ...]
    steps: tuple[int, ...]
    shape: tuple[int, ...]  # of the result

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(
            len(self.starts) == len(self.steps) == len(self.shape) == x.rank,
            f"takes a start, a step and a size for each of the {x.rank} dimensions of {x}",
        )
        for n, start, step, size in zip(x.shape, self.starts, self.steps, self.shape, strict=True):
            last = start + (size - 1) * step
            require(size >= 0 and step != 0, f"size {size} or step {step} is absurd")
            require(
                size == 0 or (0 <= start < n and 0 <= last < n),
                f"{start} to {last} is outside of 0 to {n - 1}",
            )
        return (replace(x, shape=self.shape),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        y = ins[0]
        for axis, (start, step, size) in enumerate(zip(self.starts, self.steps, self.shape, strict=True)):
            y = y.take(start + step * np.arange(size), axis)
        return (y,)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        dense = contiguous(x.type.shape)
        strides = tuple(s * step for s, step in zip(dense, self.steps, strict=True))
        start = sum(s * first for s, first in zip(dense, self.starts, strict=True))
        if fold(self.shape, strides) in (((), ((),)), ((y.type.size,), ((1,),))):
            return [View(y, x, start * x.type.dtype.bytes)]
        return copy(x, y, self.shape, strides, contiguous(self.shape), x_start=start)

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        """What is cut must be single dimensions in memory."""
        (x,) = ins
        starts, steps = [0] * len(x.shape), [1] * len(x.shape)
        y = x
        for i, (n, start, step, size) in enumerate(
            zip(x.value_shape, self.starts, self.steps, self.shape, strict=True)
        ):
            if (start, step, size) != (0, 1, n):
                axis = x.axis(i)
                if axis is None:
                    return None
                starts[axis], steps[axis], y = start, step, y.with_size(i, size)
        return stored(Slice(tuple(starts), tuple(steps), y.shape), ins, [y])

    def changes_nothing(self, *ins: Type) -> bool:
        return all(step > 0 or n == 1 for step, n in zip(self.steps, self.shape, strict=True))

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        n = channels(out)
        if not out.shape or self.steps[-1] != 1:
            return None
        return [(np.arange(n) + self.starts[-1], np.arange(n))]

    def narrowed(self, ins: Sequence[Array], out: Array) -> Op:
        start = int(ins[0][: self.starts[-1]].sum())
        return replace(self, starts=(*self.starts[:-1], start), shape=(*self.shape[:-1], int(out.sum())))
