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
) -> Case:
    batch = 2
    q = normal(d, batch, heads, len(at), size)
    k, v = normal(d, batch, shared, keys, size, scale=3), normal(d, batch, shared, keys, values)[:, :, ::-1]
    places = np.array(at, index.numpy)
    return case(CachedAttention(size**-0.5), q, k, v.copy(), places, ulps=16, summed=True)


CASES = (
    *(_attention(at) for at in (0, 1, 14, 15, 16, 19)),
    _attention(3, 17, 0, index=DType.S32),
    _attention(-5, 99),  # clamped
    _attention(18, 19, d=DType.F64),
    _attention(33, 1, heads=3, shared=3, keys=40, size=7, values=5),
    _attention(0, heads=6, shared=1, keys=1, size=1, values=1),
)
