"""Attention to a cache."""

import numpy as np
from support.op_cases import Case, case, normal

from edgekit.core.ops.attention import CachedAttention
from edgekit.core.types import DType


def _attention(
    *at: int,
    d: DType = DType.F32,
    index: DType = DType.S64,
    heads: int = 4,
    shared: int = 2,
    keys: int = 20,
    size: int = 8,
    values: int = 8,
    window: int = 0,
    cap: float = 0,
    distances: int = 0,
    batch: int = 2,
) -> Case:
    """`distances`: of biases, which fall, as those of ALiBi: where they rise beyond the last one, scores are
    so large that float32 has few of their bits behind the point."""
    q = normal(d, batch, heads, len(at), size)
    k, v = normal(d, batch, shared, keys, size, scale=3), normal(d, batch, shared, keys, values)[:, :, ::-1]
    places = np.array(at, index.numpy)
    biases = [-abs(normal(d, heads, distances)).cumsum(axis=1) / 4] if distances else []
    op = CachedAttention(size**-0.5, window, cap)
    return case(op, q, k, v.copy(), places, *biases, ulps=16, summed=True)


CASES = (
    *(_attention(at) for at in (0, 1, 14, 15, 16, 19)),
    _attention(3, 17, 0, index=DType.S32),
    _attention(-5, 99),  # clamped
    _attention(18, 19, d=DType.F64),
    _attention(33, 1, heads=3, shared=3, keys=40, size=7, values=5),
    _attention(0, heads=6, shared=1, keys=1, size=1, values=1),
    # windows of whole blocks and others, in rings that are longer, and begin anew once and often
    *(_attention(at, window=12) for at in (0, 11, 12, 19, 20, 25, 26, 1000)),
    _attention(33, 34, 35, keys=40, window=37, size=7, values=5),
    _attention(50, 51, 52, keys=40, window=37, index=DType.S32),
    _attention(-5, 2**31 - 1, (1 << 40) + 3, window=16),
    _attention(2**31 - 1, window=20, index=DType.S32),
    _attention(77, window=1, d=DType.F64),
    # soft-capped scores, and biases for fewer distances than a query sees, for all of them, and for more
    *(_attention(at, cap=2, keys=150, size=7, values=5) for at in (0, 64, 149)),
    *(_attention(149, 3, 70, distances=n, keys=150, batch=1) for n in (1, 2, 3, 70, 150, 200)),
    _attention(50, 51, 52, 9999, keys=40, window=37, cap=3, distances=20, batch=1, index=DType.S32),
    _attention(9, 19, d=DType.F64, cap=3, distances=5, batch=1),
)
