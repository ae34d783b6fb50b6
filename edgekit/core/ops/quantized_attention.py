"""Attention to a cache of int8: y = softmax(scale q k' of the keys that a query sees) v, in sums of integers.

Queries, keys and values are int8 with a scale for each row. Scores are exponents of 2, whole numbers in units
of 2^-15. Weights are integers beside the largest one of 64 keys, and times values they add up in 32 bits.
Sums of 64 keys are joined by powers of 2, which are exact. So neither an order of additions nor a fused
product changes a bit: results are the same on every target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import e, log2

import numpy as np

from edgekit.core.ops import ITERATION, Arg, Call, Op, Step, require
from edgekit.core.ops.attention import CachedAttention, blocks
from edgekit.core.types import Array, DType, Type

BLOCK = 64  # keys whose weights stand beside one another's largest
FRACTION = 15  # bits of scores behind the point
LARGEST = 32512  # of weights: 127 times 256
POWERS = (45224, 29426, 20352)  # LARGEST 2^x is LARGEST + x (a + x (b + x c)), x in units of 2^-16
_INFINITE = 255
MAX_SCORE = 1 << 29
MAX_SIZE = 1024  # dot products are whole numbers of float32


@dataclass(frozen=True)
class QuantizedCachedAttention(Op):
    """Operands: q [B, H, N, D] as s8 and its scales [B, H, N]; k [B, G, S, D] as s8, scales [B, G, S, 1]; v
    [B, G, S, E] as s8, scales [B, G, S, 1]; at [N]. H is a multiple of G. A query sees what it does in
    CachedAttention."""

    scale: float
    window: int = 0

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        q, q_scale, k, k_scale, v, v_scale, at = ins
        real = (replace(x, dtype=DType.F32) for x in (q, k, v))
        outs = self._real.infer(*real, at)
        for x, scale in ((q, q_scale), (k, k_scale), (v, v_scale)):
            require(x.dtype is DType.S8 and x.quant is None, f"takes plain s8, got {x}")
            shape = x.shape[:3] if x is q else (*x.shape[:3], 1)
            require(scale == Type(DType.F32, shape), f"rows {x} need a scale each, got {scale}")
        require(q.shape[3] <= MAX_SIZE, f"heads of {q.shape[3]} are larger than {MAX_SIZE}")
        return outs

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        q, q_scale, k, k_scale, v, v_scale, at = ins
        repeat = q.shape[1] // k.shape[1]
        k, k_scale, v, v_scale = (np.repeat(t, repeat, axis=1) for t in (k, k_scale, v, v_scale))
        factor = q_scale[..., None] * self._factor
        y = np.empty((*q.shape[:3], v.shape[3]), np.float32)
        for i, last in enumerate(at):
            rows = self._real.rows(int(last), k.shape[2])
            seen = (k[:, :, rows], k_scale[:, :, rows, 0], v[:, :, rows], v_scale[:, :, rows, 0])
            y[:, :, i] = _query(q[:, :, i], factor[:, :, i], *seen, blocks(rows, BLOCK))
        return (y,)

    @property
    def _factor(self) -> np.float32:
        """Of scores, to have them in units of 2^-15, as exponents of 2."""
        return np.float32(self.scale * log2(e) * (1 << FRACTION))

    @property
    def _real(self) -> CachedAttention:
        """The same of what the integers stand for."""
        return CachedAttention(self.scale, self.window)

    def macs(self, *ins: Type) -> int:
        """With a full cache."""
        return self._real.macs(*ins[:6:2], ins[6])

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """One query after the other."""
        return super().work(ins, outs) + 8 * ITERATION * ins[-1].size

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        calls = self._real.lower((*ins[:6:2], ins[6]), outs)
        types = {"I": ins[6].type.dtype}
        return [
            replace(
                call,
                kernel="cached_attention_s8",
                types=types,
                args=(*ins, *outs),
                params={**call.params, "scale": float(self._factor)},
            )
            for call in calls
            if isinstance(call, Call)
        ]


def _query(
    q: Array, factor: Array, k: Array, k_scale: Array, v: Array, v_scale: Array, parts: Iterable[Array]
) -> Array:
    """One query of each head, and the keys that it sees."""
    most = np.full(factor.shape, -MAX_SCORE)
    total, y = np.zeros(factor.shape, np.float32), np.zeros((*q.shape[:2], v.shape[3]), np.float32)
    with np.errstate(all="ignore"):
        for part in parts:
            dots = _products(k[:, :, part], q[..., None])[..., 0].astype(np.float32)
            scores = _whole(dots * k_scale[:, :, part] * factor)
            exponents = scores >> FRACTION
            top = exponents.max(-1, keepdims=True)
            weights = (powers(scores) >> np.minimum(top - exponents, 31)) + 1 >> 1
            ratios, up = _ratios(v_scale[:, :, part])
            factors = weights * ratios + (1 << 14) >> 15
            sums = _products(factors[:, :, None], v[:, :, part])[:, :, 0].astype(np.float32)
            above = np.maximum(most, top)
            shrink, grow = _power(most - above), _power(up + top - above)
            y = y * shrink + sums * np.where(up == _INFINITE, np.float32(np.inf), grow)
            sums = weights.sum(-1, keepdims=True).astype(np.float32)
            total, most = total * shrink + sums * _power(top - above - FRACTION), above
        found: Array = y * (np.float32(1) / total)
    return found


def powers(scores: Array) -> Array:
    """2 LARGEST to 4 LARGEST: 2^x of the fractions."""
    fraction = scores & ((1 << FRACTION) - 1)
    p: Array = np.full_like(fraction, POWERS[-1])
    for c in (*POWERS[-2::-1], LARGEST):
        p = (p * fraction >> 16) + c
    return p


def _products(a: Array, b: Array) -> Array:
    """Of integers: exact in float64."""
    result: Array = np.matmul(a.astype(np.float64), b.astype(np.float64))
    return result


def _whole(scores: Array) -> Array:
    """Without fractions, within limits; NaN is 0."""
    limited = np.clip(np.where(np.isnan(scores), 0, scores), -MAX_SCORE, MAX_SCORE)
    result: Array = np.minimum(limited.astype(np.int64), MAX_SCORE - 1)
    return result


def _ratios(scales: Array) -> tuple[Array, Array]:
    """Scales as numbers of 15 bits beside the largest one of a block, and the exponent of 2 of their unit."""
    bits = np.ascontiguousarray(scales, np.float32).view(np.int32) & 0x7FFFFFFF
    exponents = bits >> 23
    largest = exponents.max(-1, keepdims=True)
    digits = (bits & 0x7FFFFF) | 0x800000
    up = np.where(largest == 255, _INFINITE, largest - 126 - FRACTION)
    return digits >> np.minimum(9 + largest - exponents, 31), up


def _power(exponents: Array) -> Array:
    """Of 2, as floats; 0 where they are not normal."""
    bits = np.maximum(exponents + 127, 0).astype(np.int32) << 23
    result: Array = bits.view(np.float32)
    return result
