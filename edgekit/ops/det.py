"""y = the determinant of the matrices in the last two dimensions of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.ir import Array, DType, Type
from edgekit.ops import Arg, Call, Op, Step, require
from edgekit.ops._map import compute_type, real_type


@dataclass(frozen=True)
class Det(Op):
    def infer(self, *ins: Type) -> tuple[Type, ...]:
        (x,) = ins
        square = x.rank >= 2 and x.shape[-1] == x.shape[-2] > 0
        require(real_type(x.dtype) and square, f"takes square matrices, got {x}")
        return (replace(x, shape=x.shape[:-2]),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        (x,) = ins
        wide = compute_type(DType.of(x.dtype)).numpy
        return (np.asarray(np.linalg.det(x.astype(wide))).astype(x.dtype),)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (x,), (y,) = ins, outs
        n, dtype = x.type.shape[-1], x.type.dtype
        return [
            Call(
                kernel="det",
                types={"T": dtype},
                args=(x, y),
                params={"batch": y.type.size, "n": n},
                scratch=n * n * compute_type(dtype).bytes,
                macs=y.type.size * n**3 // 3,
            )
        ]
