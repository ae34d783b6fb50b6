"""y = x with a border of one value around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.layouts import Layout, plain
from edgekit.core.ops import Arg, Op, OpInLayout, Step, require
from edgekit.core.ops._bounds import rising
from edgekit.core.ops._copy import copy
from edgekit.core.ops._layout import stored
from edgekit.core.ops._strided import contiguous
from edgekit.core.types import Array, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together


@dataclass(frozen=True)
class Pad(Op):
    """Operands: x, and the value, of shape []. Cells of border before and after each dimension."""

    is_data_movement = True
    before: tuple[int, ...]
    after: tuple[int, ...]

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, value = ins
        require(
            len(self.before) == len(self.after) == x.rank
            and min((*self.before, *self.after), default=0) >= 0,
            f"border {list(self.before)} before, {list(self.after)} after does not fit {x}",
        )
        require(
            value.shape == () and value.dtype is x.dtype, f"the value {value} should be one {x.dtype.value}"
        )
        return (
            replace(
                x, shape=tuple(b + n + a for b, n, a in zip(self.before, x.shape, self.after, strict=True))
            ),
        )

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, value = ins
        shape = tuple(b + n + a for b, n, a in zip(self.before, x.shape, self.after, strict=True))
        y = np.broadcast_to(value, shape).copy()
        y[tuple(slice(b, b + n) for b, n in zip(self.before, x.shape, strict=True))] = x
        return (y,)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, value), (y,) = ins, outs
        strides = contiguous(y.type.shape)
        start = sum(b * s for b, s in zip(self.before, strides, strict=True))
        steps = copy(
            x, y, x.type.shape, contiguous(x.type.shape), strides, y_start=start if x.type.size else 0
        )
        # The border in slabs: those before and after a dimension span x in the dimensions already done.
        shape, first = list(y.type.shape), 0
        for axis, (before, after) in enumerate(zip(self.before, self.after, strict=True)):
            for size, at in ((before, 0), (after, y.type.shape[axis] - after)):
                slab = (*shape[:axis], size, *shape[axis + 1 :])
                steps += copy(value, y, slab, (0,) * y.type.rank, strides, y_start=first + at * strides[axis])
            shape[axis] -= before + after
            first += before * strides[axis]
        return steps

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        """What gets a border must be single dimensions in memory."""
        x, value = ins
        if at != 0:
            return None
        before, after = [0] * len(x.shape), [0] * len(x.shape)
        y = x
        for i, (n, first, last) in enumerate(zip(x.value_shape, self.before, self.after, strict=True)):
            if first or last:
                axis = x.axis(i)
                if axis is None:
                    return None
                before[axis], after[axis], y = first, last, y.with_size(i, first + n + last)
        return stored(Pad(tuple(before), tuple(after)), [x, plain(value.value_shape)], [y])

    def changes_nothing(self, *ins: Type) -> bool:
        return True  # where the sizes agree there is no border

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        return rising(self, ins, outs)

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        if not out.shape or self.before[-1] or self.after[-1]:
            return None
        return [together(channels(out)), None]
