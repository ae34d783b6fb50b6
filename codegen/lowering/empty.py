"""Layers that meet dimensions of 0, so that no kernel has to count to zero: see ADR 0152.

Results without elements take no call. A contraction over an empty dimension adds up a single zero instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgekit.core.ops import Arg, Op, Step
from edgekit.core.ops._integer import constant
from edgekit.core.ops._linear import Linear
from edgekit.core.types import Type


def steps_of(op: Op, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
    """What an operator is lowered to."""
    if not any(y.type.size for y in outs):
        return []
    return op.lower(_over_zeros(op, ins, outs) if any(0 in x.type.shape for x in ins) else ins, outs)


def _over_zeros(op: Op, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Arg]:
    """The operands, with constant zeros for those that are empty and not absent: where results keep their
    shapes, these are along the dimension that is added up."""
    groups = op.groups if isinstance(op, Linear) else 1
    filled = [
        x.type if i in op.may_be_absent else _filled(x.type, 1 if i else groups) for i, x in enumerate(ins)
    ]
    try:
        results = op.infer(*filled)
    except TypeError:
        return ins
    if [t.shape for t in results] != [y.type.shape for y in outs] or not op.macs(*filled):
        return ins
    return [x if x.type == type else _zeros(x, type) for x, type in zip(ins, filled, strict=True)]


def _filled(type: Type, length: int) -> Type:
    return replace(type, shape=tuple(n or length for n in type.shape))


def _zeros(x: Arg, type: Type) -> Arg:
    zero = type.quant.zero[0] if type.quant else 0
    found = constant(f"{x.name}#zeros", np.full(type.shape, zero, type.dtype.numpy), "a sum of nothing")
    return replace(found, value=replace(found.value, type=type))
