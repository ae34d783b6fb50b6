"""Scaled dot-product attention over heads [batch, heads, positions, size], and rotary position embeddings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgekit.converters.semantics.compose import matmul, softmax
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.logic import And, Less
from edgekit.core.types import DType


@dataclass(frozen=True)
class Mask:
    """What scores get: `bias` is added to them, and where `allowed` is false they count for nothing. Both
    broadcast to [batch, heads, queries, keys]."""

    allowed: Tensor | None = None
    bias: Tensor | None = None
    softcap: float = 0.0


def attend(q: Tensor, k: Tensor, v: Tensor, scale: float, mask: Mask) -> Tensor:
    """softmax(scale q k' + mask) v. Several heads of q may share one of k and v."""
    batch, heads, queries, size = q.shape
    shared, keys = k.shape[1:3]
    rows = q.reshape(batch, shared, heads // shared * queries, size)
    scores = matmul(rows * scale, k.transpose(0, 1, 3, 2)).reshape(batch, heads, queries, keys)
    if mask.softcap:
        scores = (scores * (1 / mask.softcap)).apply(Tanh()) * mask.softcap
    if mask.bias is not None:
        scores = scores + mask.bias
    if mask.allowed is not None:
        scores = where(
            mask.allowed, scores, float(np.finfo(np.float16 if q.dtype is DType.F16 else np.float32).min)
        )
    weights = softmax(scores, -1).reshape(batch, shared, heads // shared * queries, keys)
    return matmul(weights, v).reshape(batch, heads, queries, v.shape[-1])


def causal(queries: Tensor, keys: Tensor, window: int = -1) -> Tensor | None:
    """Which keys a query sees: those at its position and before, or the last `window` of them. Positions of
    queries [batch or 1, n] and of keys [m]; None where every query sees every key."""
    at = queries.reshape(queries.shape[0], 1, queries.shape[1], 1)
    seen = keys.apply(Less(), at + 1)
    if window > 0:
        far = (at - window).apply(Less(), keys)
        seen = seen.apply(And(), far)
    return None if seen.data is not None and seen.data.all() else seen


def rotary(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """The first numbers of each head turned, in pairs: neighbours, or those of both halves. cos and sin
    [batch or 1, positions, pairs] are of the positions of x [batch, heads, positions, size]."""
    pairs, size = cos.shape[-1], x.shape[-1]
    cos, sin = (t.reshape(t.shape[0], 1, *t.shape[1:]) for t in (cos, sin))
    turning = part(x, x.rank - 1, 0, 2 * pairs)
    if interleaved:
        a, b = part(turning, x.rank - 1, 0, pairs, 2), part(turning, x.rank - 1, 1, pairs, 2)
    else:
        a, b = part(turning, x.rank - 1, 0, pairs), part(turning, x.rank - 1, pairs, pairs)
    turned = a * cos - b * sin, b * cos + a * sin
    if interleaved:
        columns = [t.reshape(*t.shape, 1) for t in turned]
        y = concat(columns, -1).reshape(*x.shape[:-1], 2 * pairs)
    else:
        y = concat(turned, -1)
    rest = size - 2 * pairs
    return concat([y, part(x, x.rank - 1, 2 * pairs, rest)], -1) if rest else y


def heads_of(x: Tensor, count: int) -> Tensor:
    """[batch, positions, heads * size] as [batch, heads, positions, size]."""
    batch, length, width = x.shape
    return x.reshape(batch, length, count, width // count).transpose(0, 2, 1, 3)


def rows_of_heads(x: Tensor) -> Tensor:
    """The way back."""
    batch, heads, length, size = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)
