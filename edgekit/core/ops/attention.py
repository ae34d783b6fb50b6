"""y = softmax(scale q k' + bias of the keys that a query sees) v, for heads that may share keys and values.

Keys and values are those of a cache, [batch, shared heads, positions, size], and the query of row i sees the
positions 0 .. at[i], or the last ones of them: work grows with what it sees, not with the room of the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import e, log2

import numpy as np

from edgekit.core.math_f32.exponentials import exp2_below, tanh
from edgekit.core.ops import ITERATION, Arg, Call, Op, Param, Step, require
from edgekit.core.ops._indexed import check_index
from edgekit.core.ops._integer import constant
from edgekit.core.types import Array, DType, Type

_BLOCK, _LANES = 64, 4  # keys that share a largest score, and sums of a dot product
LAST = (1 << 31) - 1  # position of windows


@dataclass(frozen=True)
class CachedAttention(Op):
    """Operands: q [B, H, N, D], k [B, G, S, D], v [B, G, S, E], at [N]; H is a multiple of G. A fifth, bias
    [H, n] with a batch of one, is added to scores by the distance between query and key. Distances from n
    on go on in a line through the last two biases: ALiBi has two, 0 and a slope.

    With a cap, a score x is cap tanh(x / cap) before its bias is added (soft-capping). With a window, a query
    sees so many positions, the last ones up to its own (sliding window attention), and the cache is a ring
    buffer: position p is in row p % S. Without one, positions are rows.
    """

    scale: float
    window: int = 0
    cap: float = 0.0

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        q, k, v, at, *biases = ins
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
        require(0 <= self.window <= keys, f"a window of {self.window} positions does not fit keys {k}")
        for bias in biases:
            fits = bias.rank == 2 and bias.shape[0] == heads and bias.shape[1] > 0 and batch == 1
            require(fits and bias.dtype is q.dtype, f"biases {bias} do not fit queries {q}")
        require(0 <= self.cap < np.inf, f"a cap of {self.cap} is no limit of scores")
        return (replace(q, shape=(batch, heads, queries, v.shape[3])),)

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        return self._each(ins, self._query)

    def in_c(self, *ins: Array) -> tuple[Array, ...]:
        """64 keys at a time (online softmax), dot products in four lanes, weights as powers of 2."""
        return self._each(ins, self._query if ins[0].dtype != np.float32 else self._query_in_c)

    def _each(self, ins: Sequence[Array], query: Callable[..., Array]) -> tuple[Array, ...]:
        """One query after the other, with the keys and values that it sees."""
        q, k, v, at, *biases = ins
        keys = k.shape[2]
        k, v = (np.repeat(t, q.shape[1] // k.shape[1], axis=1) for t in (k, v))
        y = np.empty((*q.shape[:3], v.shape[3]), q.dtype)
        for i, last in enumerate(at):
            rows = self.rows(int(last), keys)
            added = [_by_distance(bias, rows.size) for bias in biases]
            y[:, :, i] = query(q[:, :, i], k[:, :, rows], v[:, :, rows], rows, *added)
        return (y,)

    def rows(self, at: int, keys: int) -> Array:
        """Those that a query sees, the oldest position first."""
        if not self.window:
            return np.arange(min(max(at, 0), keys - 1) + 1)
        last = min(max(at, 0), LAST)
        return np.arange(max(0, last + 1 - self.window), last + 1) % keys

    def _query(self, q: Array, k: Array, v: Array, _: Array, *biases: Array) -> Array:
        with np.errstate(all="ignore"):
            scores = (k @ q[..., None])[..., 0] * q.dtype.type(self.scale)
            if self.cap:
                cap = q.dtype.type(self.cap)
                scores = np.tanh(scores / cap) * cap
            scores = sum(biases, scores)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            y: Array = (weights[:, :, None] @ v)[:, :, 0] / weights.sum(-1, keepdims=True)
        return y

    def _query_in_c(self, q: Array, k: Array, v: Array, rows: Array, *biases: Array) -> Array:
        scores = _dots(q[:, :, None], k)
        if biases or self.cap:
            scores = scores * np.float32(self._inner)
            scores = sum(biases, tanh(scores) * np.float32(self.cap) if self.cap else scores)
            scores = scores * np.float32(log2(e))
        else:
            scores = scores * np.float32(self._factor)
        most, total = scores[..., :1], np.zeros((*q.shape[:2], 1), np.float32)
        y = np.zeros((*q.shape[:2], v.shape[3]), np.float32)
        for block in blocks(rows, _BLOCK):
            above = most
            for j in block:
                above = np.where(scores[..., j, None] > above, scores[..., j, None], above)
            shrink = np.where(above == most, np.float32(1), exp2_below(most - above))
            most, total, y = above, total * shrink, y * shrink
            weights = exp2_below(scores - most)
            for j in block:
                total = total + weights[..., j, None]
                y = y + weights[..., j, None] * v[:, :, j]
        found: Array = y / total
        return found

    @property
    def _factor(self) -> float:
        """Of scores as exponents of 2."""
        return self.scale * log2(e)

    @property
    def _inner(self) -> float:
        """Of products, before the cap."""
        return self.scale / (self.cap or 1)

    def macs(self, *ins: Type) -> int:
        """With a full cache."""
        q, k, v, *_ = ins
        return q.size // q.shape[3] * (self.window or k.shape[2]) * (q.shape[3] + v.shape[3])

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """One query after the other."""
        return super().work(ins, outs) + 8 * ITERATION * ins[3].size

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        (q, k, v, at, *biases), (y,) = ins, outs
        batch, heads, queries, size = q.type.shape
        params: dict[str, Param] = {
            "heads": batch * heads,
            "repeat": heads // k.type.shape[1],
            "queries": queries,
            "keys": k.type.shape[2],
            "size": size,
            "values": v.type.shape[3],
            "window": self.window,
            "scale": self._factor,
        }
        kernel = "cached_attention"
        if biases or self.cap:
            if not biases:
                none = np.zeros((batch * heads, 1), q.type.dtype.numpy)
                biases = [constant(f"{y.name}#bias", none, "biases of scores by head and distance: none")]
            kernel += "_bias"
            distances = biases[0].type.shape[1]
            params |= {"distances": distances, "inner": self._inner, "cap": self.cap, "scale": log2(e)}
        return [
            Call(
                kernel=kernel,
                types={"T": q.type.dtype, "I": at.type.dtype},
                args=(q, k, v, at, *biases, y),
                params=params,
                macs=self.macs(*(arg.type for arg in ins)),
            )
        ]


def blocks(rows: Array, most: int) -> Iterator[Array]:
    """Which of these rows are looked at together: so many, and none on both sides of the end of a ring."""
    again = np.flatnonzero(np.diff(rows) < 0) + 1
    for part in np.split(np.arange(rows.size), again):
        yield from np.split(part, range(most, part.size, most))


def _by_distance(bias: Array, seen: int) -> Array:
    """Those of the keys that a query sees, [heads, seen], the oldest first."""
    distances, last = np.arange(seen)[::-1], bias.shape[1] - 1
    slope = bias[:, last:] - bias[:, last - 1 : last] if last else np.zeros_like(bias)
    beyond = np.maximum(distances - last, 0).astype(bias.dtype)
    found: Array = bias[:, np.minimum(distances, last)] + slope * beyond
    return found


def _dots(a: Array, b: Array) -> Array:
    """Over the last dimension, where lane l adds up elements l, l + 4, ..."""
    products = a * b
    lanes = np.zeros((*products.shape[:-1], _LANES), np.float32)
    for i in range(0, products.shape[-1], _LANES):
        part = products[..., i : i + _LANES]
        lanes[..., : part.shape[-1]] += part
    result: Array = (lanes[..., 0] + lanes[..., 1]) + (lanes[..., 2] + lanes[..., 3])
    return result
