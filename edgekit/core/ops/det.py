"""y = the determinant of the matrices in the last two dimensions of x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.ops import Arg, Call, Op, Step, require
from edgekit.core.ops._map import compute_type, real_type
from edgekit.core.ops._order import is_narrow, term_by_term
from edgekit.core.types import Array, DType, Type


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
        determinants = _by_elimination if is_narrow(x) else np.linalg.det
        with np.errstate(all="ignore"):
            return (np.asarray(determinants(x.astype(wide))).astype(x.dtype),)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Elimination, which goes through small floats in Python."""
        (x,) = ins
        return super().work(ins, outs) + x.size * x.shape[-1] + term_by_term(x, x.size)

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


def _by_elimination(x: Array) -> Array:
    """In the steps of the kernel: the largest pivot of each column, the first among equals."""
    results = [_of_matrix(m.copy()) for m in x.reshape(-1, *x.shape[-2:])]
    return np.array(results, x.dtype).reshape(x.shape[:-2])


def _of_matrix(m: Array) -> np.floating:
    product: np.floating = m.dtype.type(1)
    for k in range(len(m)):
        pivot = k
        for i in range(k + 1, len(m)):
            pivot = i if abs(m[i, k]) > abs(m[pivot, k]) else pivot
        product = -product if pivot != k else product
        m[[k, pivot]] = m[[pivot, k]]
        product *= m[k, k]
        if m[k, k] == 0:
            break
        factors = m[k + 1 :, k] / m[k, k]
        m[k + 1 :, k + 1 :] -= factors[:, None] * m[k, k + 1 :]
    return product
