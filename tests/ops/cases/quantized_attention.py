"""Attention to a cache of int8: equal to the bit."""

from collections.abc import Sequence

import numpy as np
from support.op_cases import Case, case, uniform, whole

from edgekit.core.ops.quantized_attention import QuantizedCachedAttention
from edgekit.core.types import Array, DType


def _rows(*shape: int, spread: float) -> tuple[Array, Array]:
    """Integers, and the scale of each row: from 0.02 to that times 2^spread."""
    scales = 0.02 * 2 ** uniform(DType.F32, 0, spread, *shape[:3])
    return whole(DType.S8, *shape), scales.astype(np.float32)


def _attention(
    *at: int,
    index: DType = DType.S64,
    heads: Sequence[int] = (4, 2),
    keys: int = 150,
    size: int = 8,
    values: int = 8,
    spread: float = 1.0,
    scale: float = 0.1,
    window: int = 0,
    last: Sequence[float] = (),
) -> Case:
    """`last`: scales of the last keys, and of their values."""
    q, q_scale = _rows(2, heads[0], len(at), size, spread=1)
    (k, k_scale), (v, v_scale) = (_rows(2, heads[1], keys, n, spread=spread) for n in (size, values))
    v, v_scale = v[:, ::-1].copy(), v_scale[:, ::-1].copy()
    for scales in (k_scale, v_scale):
        scales[..., keys - len(last) :] = last
    rows = (q, q_scale, k, k_scale[..., None], v, v_scale[..., None])
    return case(QuantizedCachedAttention(scale, window), *rows, np.array(at, index.numpy))


CASES = (
    *(_attention(at) for at in (0, 1, 62, 63, 64, 127, 128, 149)),
    _attention(3, 70, 0, 140, index=DType.S32),
    _attention(-5, 999),  # clamped
    _attention(33, 1, heads=(3, 3), keys=40, size=7, values=5),
    _attention(0, heads=(6, 1), keys=1, size=1, values=1),
    # Scores far apart, where most weights are 0, and beyond all limits; and scales of values far apart.
    *(_attention(149, 20, scale=s, spread=spread) for s, spread in ((5, 4), (0.1, 30), (1e9, 1), (1e-9, 1))),
    *(_attention(149, last=last) for last in ([0, 0], [1e-40, 3e38], [np.inf, 1], [np.nan, 1])),
    # windows of whole blocks and others, in rings that are longer, and begin anew once and often
    *(_attention(at, window=128) for at in (0, 127, 128, 149, 150, 213, 277, 9999)),
    _attention(33, 34, 35, keys=40, window=37, size=7, values=5),
    _attention(-5, 2**31 - 1, (1 << 40) + 3, window=70),
    _attention(66, keys=67, last=[0, 1e-38, 0]),  # all that a block has
)
