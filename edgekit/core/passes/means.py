"""The mean over neighbouring dimensions as a pooling whose window is the image."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from edgekit.core.ops import Op
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.types import Type


@dataclass(frozen=True)
class PooledMean:
    """The shape of an image of one column, and the pooling over it that is a mean."""

    image: tuple[int, int, int, int]
    op: Pool2d


def pooled_mean(op: Op, x: Type) -> PooledMean | None:
    """How a reduction of x is a pooling, if it is a mean over dimensions that follow each other."""
    match op:
        case Reduce("mean", axes) if axes and axes[-1] - axes[0] == len(axes) - 1:
            first, last = axes[0], axes[-1] + 1
            before, inside, after = (prod(s) for s in (x.shape[:first], x.shape[first:last], x.shape[last:]))
            if not x.dtype.is_float or inside == 0:
                return None
            return PooledMean((before, inside, 1, after), Pool2d("mean", (inside, 1)))
    return None
