"""y[.., j, ..] = sum over k of w[j, k] x[.., index[j, k], ..] along an axis: resizing, filtering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.ir import Array, DType, Type
from edgekit.ops import Arg, Call, Op, Step, require
from edgekit.ops._known import Pairs, channels, together
from edgekit.ops._layout import Layout, Moved, plain, stored
from edgekit.ops._map import compute_type, real_type


@dataclass(frozen=True)
class Resample(Op):
    """Operands: x, the index and the weights w, both [size of the result, taps]; the index is a constant."""

    axis: int

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, index, w = ins
        require(0 <= self.axis < x.rank and x.shape[self.axis] > 0, f"no axis {self.axis} in {x}")
        require(
            real_type(x.dtype) and w.dtype is x.dtype, f"{x} and weights {w} should be floats of one type"
        )
        require(
            index.dtype is DType.S32 and index.rank == 2 and index.shape == w.shape,
            f"index {index} and weights {w} should be tables of one shape",
        )
        return (replace(x, shape=(*x.shape[: self.axis], index.shape[0], *x.shape[self.axis + 1 :])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, index, w = ins
        wide = compute_type(DType.of(x.dtype)).numpy
        column = [-1 if i == self.axis else 1 for i in range(x.ndim)]
        y = np.zeros((*x.shape[: self.axis], index.shape[0], *x.shape[self.axis + 1 :]), wide)
        for k in range(index.shape[1]):
            y += x.take(index[:, k], self.axis).astype(wide) * w[:, k].astype(wide).reshape(column)
        return (y.astype(x.dtype),)

    def macs(self, *ins: Type) -> int:
        x, index, _ = ins
        return x.size // x.shape[self.axis] * index.size

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x, index, w), (y,) = ins, outs
        table, n = index.value.data, x.type.shape[self.axis]
        require(table is not None, "the index of a filter should be a constant")
        assert table is not None
        if y.type.size == 0:
            return []
        require(
            0 <= table.min() <= table.max() < n if table.size else True, f"an index is outside of {n} cells"
        )
        return [
            Call(
                kernel="resample",
                types={"T": x.type.dtype},
                args=(x, index, w, y),
                params={
                    "outer": prod(x.type.shape[: self.axis]),
                    "in_n": n,
                    "out_n": index.type.shape[0],
                    "inner": prod(x.type.shape[self.axis + 1 :]),
                    "taps": index.type.shape[1],
                },
                macs=self.macs(x.type, index.type, w.type),
            )
        ]

    def channels(self, ins: Sequence[Type], out: Type) -> Sequence[Pairs | None] | None:
        return None if self.axis == out.rank - 1 else [together(channels(out)), None, None]

    def moved(self, at: int, ins: Sequence[Layout]) -> Moved | None:
        x, index, w = ins
        axis = x.axis(self.axis)
        if at != 0 or axis is None:
            return None
        tables = (plain(index.value_shape), plain(w.value_shape))
        return stored(Resample(axis), [x, *tables], [x.with_size(self.axis, index.value_shape[0])])
