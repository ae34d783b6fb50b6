"""y = softmax(scale q k' of the keys that a query sees) v, for heads that may share keys and values.

Keys and values are those of a cache, [batch, shared heads, positions, size], and the query of row i sees the
positions 0 .. at[i]: work grows with what the cache holds, not with its room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgekit.core.math_f32.exponentials import exp_below
from edgekit.core.ops import Arg, Call, Op, Step, require
from edgekit.core.ops._indexed import check_index
from edgekit.core.types import Array, DType, Type

_BLOCK, _LANES = 16, 4  # keys that share a largest score, and sums of a dot product


@dataclass(frozen=True)
class CachedAttention(Op):
    """Operands: q [B, H, N, D], k [B, G, S, D], v [B, G, S, E], at [N]; H is a multiple of G."""

    scale: float

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        q, k, v, at = ins
        check_index(at)
        require(all(t.rank == 4 for t in (q, k, v)), f"takes four dimensions, got {q}, {k} and {v}")
        require(q.dtype in (DType.F32, DType.F64), f"is not defined on {q.dtype.value}")
        require(q.dtype is k.dtype is v.dtype, f"{q}, {k} and {v} differ in type")
        batch, heads, queries, size = q.shape
        shared, keys = k.shape[1:3]
        require(k.shape == (batch, shared, keys, size), f"queries {q} and keys {k} do not fit")
        require(v.shape[:3] == k.shape[:3], f"keys {k} and values {v} do not fit")
        require(shared > 0 and heads % shared == 0, f"{heads} heads do not share {shared} of keys")
        require(keys > 0 and at.shape == (queries,), f"positions {at} do not fit {queries} queries of {k}")
        return (replace(q, shape=(batch, heads, queries, v.shape[3])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        q, k, v, at = ins
        keys = k.shape[2]
        k, v = (np.repeat(t, q.shape[1] // k.shape[1], axis=1) for t in (k, v))
        seen = np.arange(keys) <= np.clip(at, 0, keys - 1)[:, None]
        with np.errstate(all="ignore"):
            scores = np.matmul(q, k.swapaxes(2, 3)) * q.dtype.type(self.scale)
            scores = np.where(seen, scores, -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            y = np.matmul(weights, v) / weights.sum(-1, keepdims=True)
        return (y.astype(q.dtype),)

    def in_c(self, *ins: Array) -> tuple[Array, ...]:
        """Sixteen keys at a time (online softmax), dot products in four lanes, everything else in order."""
        q, k, v, at = ins
        if q.dtype != np.float32:
            return self.eval(*ins)
        keys = k.shape[2]
        k, v = (np.repeat(t, q.shape[1] // k.shape[1], axis=1)[:, :, None] for t in (k, v))
        seen = np.clip(at, 0, keys - 1)[:, None] + 1
        y = np.zeros((*q.shape[:3], v.shape[4]), np.float32)
        total, most = np.zeros((2, *q.shape[:3], 1), np.float32)
        for first in range(0, int(seen.max(initial=0)), _BLOCK):
            block = slice(first, first + _BLOCK)
            scores = _dots(q[:, :, :, None], k[:, :, :, block]) * np.float32(self.scale)
            is_seen = first + np.arange(scores.shape[3]) < seen
            above = most if first else scores[..., :1]
            for j in range(scores.shape[3]):
                score = scores[..., j, None]
                above = np.where(is_seen[:, j, None] & (score > above), score, above)
            shrink = np.where(above == most, np.float32(1), exp_below(most - above)) if first else 1
            most, total, y = above, total * shrink, y * shrink
            weights = exp_below(scores - most)
            for j in range(scores.shape[3]):
                seeing, weight = is_seen[:, j, None], weights[..., j, None]
                total = np.where(seeing, total + weight, total)
                y = np.where(seeing, y + weight * v[:, :, :, first + j], y)
        return (y / total,)

    def macs(self, *ins: Type) -> int:
        """With a full cache."""
        q, k, v, _ = ins
        return q.size // q.shape[3] * k.shape[2] * (q.shape[3] + v.shape[3])

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (q, k, v, at), (y,) = ins, outs
        if y.type.size == 0:
            return []
        batch, heads, queries, size = q.type.shape
        params = {
            "heads": batch * heads,
            "repeat": heads // k.type.shape[1],
            "queries": queries,
            "keys": k.type.shape[2],
            "size": size,
            "values": v.type.shape[3],
            "scale": self.scale,
        }
        return [
            Call(
                kernel="cached_attention",
                types={"T": q.type.dtype, "I": at.type.dtype},
                args=(q, k, v, at, y),
                params=params,
                macs=self.macs(*(arg.type for arg in ins)),
            )
        ]


def _dots(a: Array, b: Array) -> Array:
    """Over the last dimension, where lane l adds up elements l, l + 4, ..."""
    products = a * b
    lanes = np.zeros((*products.shape[:-1], _LANES), np.float32)
    for i in range(0, products.shape[-1], _LANES):
        part = products[..., i : i + _LANES]
        lanes[..., : part.shape[-1]] += part
    result: Array = (lanes[..., 0] + lanes[..., 1]) + (lanes[..., 2] + lanes[..., 3])
    return result
