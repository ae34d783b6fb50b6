"""y = table[x + 128]: an int8 function of one tensor whose 256 results were computed at import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.layouts import Layout, plain
from edgekit.core.ops import Arg, Call, Op, OpInLayout, Step, require
from edgekit.core.ops._layout import stored
from edgekit.core.types import Array, DType, Type
from edgekit.core.value_ranges import Known, Pairs, Range, channels, together


@dataclass(frozen=True)
class Lookup(Op):
    """Operands: x, and the table [256]."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, table = ins
        require(x.dtype is DType.S8, f"takes int8, got {x}")
        require(table.dtype is DType.S8 and table.shape == (256,), f"the table {table} should be 256 of int8")
        return (x.real,)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, table = ins
        return (table[x.astype(np.int64) + 128],)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        return self.eval(*args)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, table), (y,) = ins, outs
        return [Call("table_s8", {}, (x, table, y), {"n": x.type.size}, label="table_s8", inplace=(0,))]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        x, table = ins
        return stored(self, [x, plain(table.value_shape)], [x]) if at == 0 else None

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return [together(channels(out)), None]

    def bounds(self, ins: Sequence[Known], outs: Sequence[Type]) -> Sequence[Range] | None:
        x, table = ins
        if table.data is None:
            return None
        ends = zip(x.lo.astype(np.int64) + 128, x.hi.astype(np.int64) + 129, strict=True)
        reached = [table.data[first:last] for first, last in ends]
        return [(np.array([r.min() for r in reached]), np.array([r.max() for r in reached]))]
