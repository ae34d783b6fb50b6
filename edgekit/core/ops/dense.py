"""y = clamp(x w' + b, lo, hi): a fully connected layer over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

import numpy as np

from edgekit.core.layouts import Layout, Want, plain
from edgekit.core.ops import Arg, Call, OpInLayout, Step, require
from edgekit.core.ops._integer import acc_bits, centred, exact_float, requantization
from edgekit.core.ops._linear import Linear, clamped, float_call, letters, limits, wide_type
from edgekit.core.ops._order import is_narrow, term_by_term
from edgekit.core.types import Array, DType, Type


@dataclass(frozen=True)
class Dense(Linear):
    """Operands: x [..., I], w [O, I], b [O]."""

    lo: float = -inf
    hi: float = inf
    dtype: DType | None = None

    linear_axis = 0
    computed_once: ClassVar[bool] = True

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        x, w, b = ins
        require(
            x.rank >= 1 and w.rank == 2 and b.rank == 1, f"takes x[..., I], w[O, I], b[O], got {x}, {w}, {b}"
        )
        require(
            x.shape[-1] == w.shape[1],
            f"input {x} has {x.shape[-1]} features, weights {w} expect {w.shape[1]}",
        )
        require(
            x.dtype.is_float or x.quant is not None or (self.lo, self.hi) == (-inf, inf),
            "limits are for floats",
        )
        require(b.shape[0] == w.shape[0], f"weights {w} and bias {b} differ in outputs")
        return (replace(x, dtype=self.result_dtype(x, w), shape=(*x.shape[:-1], w.shape[0])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        x, w, b = ins
        wide = wide_type(x.dtype)
        if is_narrow(x, w):
            y = _sums_in_order(x.astype(wide), w.astype(wide), b.astype(wide))
        else:
            y = np.matmul(x.astype(wide), w.astype(wide).T) + b.astype(wide)
        return ((y if wide is np.int64 else clamped(y, self.lo, self.hi)).astype(x.dtype),)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        if ins[0].quant is None:
            return self.on_reals(args, ins[1])
        x, w, b = args
        wide = exact_float(ins[0], w, b)
        weights: Array = w.astype(wide)
        sums: Array = np.matmul(centred(x, ins[0], wide), weights.T) + b.astype(wide)
        return (self.finished(sums, ins, outs[0], acc_bits(ins[0], w, b)),)

    def macs(self, *ins: Type) -> int:
        x, w, _ = ins
        return x.size * w.shape[0]

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs) + term_by_term(ins[0], ins[1].shape[1])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        x, w, b = ins
        outputs, inputs = w.type.shape
        rows = x.type.size // inputs
        if x.type.quant is not None:
            rule = requantization(ins, outs[0], self.lo, self.hi, dense=True)
            return [
                Call(
                    kernel="dense_int",
                    types=rule.types,
                    args=(x, w, *rule.args, outs[0]),
                    params={"rows": rows, "inputs": inputs, "outputs": outputs, **rule.params},
                    rule=rule.rule,
                    facts=rule.facts,
                    expr=rule.expr,
                    macs=self.macs(x.type, w.type, b.type),
                )
            ]
        return [
            float_call(
                Call(
                    kernel="dense",
                    types=letters(x.type, w.type, b.type),
                    args=(x, w, b, outs[0]),
                    params={"rows": rows, "inputs": inputs, "outputs": outputs}
                    | limits(x.type.dtype, self.lo, self.hi),
                    macs=self.macs(x.type, w.type, b.type),
                )
            )
        ]

    def in_layout(self, at: int, ins: Sequence[Layout]) -> OpInLayout | None:
        """Rows may come in any order, and so may the elements of a row: the columns of w follow."""
        x, w, b = ins
        *rows, row = x.dims
        first = min(row)
        if at != 0 or any(d > first for group in rows for d in group):
            return None
        outputs, inputs = w.value_shape
        columns = Layout((outputs, *x.shape[first:]), ((0,), tuple(1 + d - first for d in row)))
        y = Layout((*x.shape[:first], outputs), (*rows, (first,)))
        wants = (
            Want(x, (*y.shape[:-1], inputs)),
            Want(columns, w.value_shape),
            Want(plain(b.shape), b.shape),
        )
        return OpInLayout(self, wants, (y,))


def _sums_in_order(x: Array, w: Array, b: Array) -> Array:
    """b + x w', with every sum in the order of the inputs."""
    sums: Array = np.broadcast_to(b, (*x.shape[:-1], len(w))).copy()
    for i in range(x.shape[-1]):
        sums += x[..., i, None] * w[:, i]
    return sums
