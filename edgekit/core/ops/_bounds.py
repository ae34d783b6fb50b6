"""Bounds of results from those of operands, for operators that only need a few evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from edgekit.core.ops import Op
from edgekit.core.types import Array, Type
from edgekit.core.value_ranges import Known, Range, anything, channels


def evaluated(op: Op, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
    """As the simulator computes it."""
    with np.errstate(all="ignore"):
        quantized = any(t.quant is not None for t in (*ins, *outs))
        return op.integer(args, ins, outs) if quantized else op.eval(*args)


def at_corners(op: Op, ins: Sequence[Known], outs: Sequence[Type]) -> list[Range]:
    """Ranges of an elementwise operator whose extremes are where its operands are extreme."""
    types = [replace(x.type, shape=x.lo.shape) for x in ins]
    results = [replace(t, shape=(channels(t),)) for t in outs]
    # By their bits: 0 and -0 are equal, and 1 / 0 is another end than 1 / -0.
    ends = [(x.lo,) if x.lo.tobytes() == x.hi.tobytes() else (x.lo, x.hi) for x in ins]
    corners = [evaluated(op, corner, types, results) for corner in product(*ends)]
    return [_hull([np.broadcast_to(c[i], t.shape) for c in corners]) for i, t in enumerate(results)]


def rising(op: Op, ins: Sequence[Known], outs: Sequence[Type]) -> list[Range]:
    """Ranges of an operator whose results grow, or stay, where any operand grows."""
    if all(x.is_anything for x in ins):
        return [anything(t) for t in outs]
    types = [x.type for x in ins]
    extremes = [
        evaluated(op, [_spread(end, x.type.shape) for x, end in zip(ins, ends, strict=True)], types, outs)
        for ends in ([x.lo for x in ins], [x.hi for x in ins])
    ]
    return [_hull([e[i].reshape(-1, channels(t)) for e in extremes]) for i, t in enumerate(outs)]


def _spread(end: Array, shape: Sequence[int]) -> Array:
    return np.broadcast_to(end, shape) if shape else end.reshape(())


def _hull(parts: Sequence[Array]) -> Range:
    stacked = np.concatenate([np.atleast_2d(part) for part in parts])
    return stacked.min(axis=0), stacked.max(axis=0)
