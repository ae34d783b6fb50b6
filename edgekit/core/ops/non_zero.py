"""Where the elements are that are not 0: room for all, and how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.ops import Arg, Call, Op, Param, Step, require
from edgekit.core.ops._strided import RANK
from edgekit.core.types import Array, DType, Type


@dataclass(frozen=True)
class NonZero(Op):
    """Results: an index [rank, size] whose columns are the places of elements that are not 0, in order, and
    how many there are. Columns from there on are 0."""

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        require(1 <= x.rank <= RANK and x.size > 0, f"takes 1 to {RANK} dimensions with elements, got {x}")
        require(not x.dtype.is_float or x.dtype.bytes > 1, f"is not defined on {x.dtype.value}")
        return Type(DType.S64, (x.rank, x.size)), Type(DType.S64, ())

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        found = np.nonzero(x)
        index = np.zeros((x.ndim, x.size), np.int64)
        index[:, : len(found[0])] = found
        return index, np.asarray(len(found[0]), np.int64)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,) = ins
        shape = x.type.shape
        size = (*shape, *(1,) * (RANK - len(shape)))
        params: dict[str, Param] = {"n": x.type.size, "rank": len(shape), "size": size}
        return [Call("non_zero", {"T": x.type.dtype}, (*ins, *outs), params, results=2)]
