"""How operators compute on operands that are stored in other layouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from edgekit.core.layouts import Layout, Shape, Want, plain
from edgekit.core.ops import Op, OpInLayout


def stored(op: Op, ins: Iterable[Layout], outs: Iterable[Layout]) -> OpInLayout:
    """`OpInLayout` where operands have the shapes in which they are stored."""
    return OpInLayout(op, tuple(Want(x, x.shape) for x in ins), tuple(outs))


def elementwise(op: Op, at: int, ins: Sequence[Layout], shape: Shape) -> OpInLayout:
    """`OpInLayout` where any order will do if all operands have it; `shape` is what they broadcast to."""
    y = ins[at].extended(len(shape)).resized(shape)
    wants = []
    for x in ins:
        own = x.value_shape
        if prod(own) == 1:
            wants.append(Want(plain(own), own))
            continue
        extra = len(shape) - len(own)
        like_y = y.resized((1,) * extra + own)
        wants.append(Want(like_y.without(range(extra)), like_y.shape))
    return OpInLayout(op, tuple(wants), (y,))
